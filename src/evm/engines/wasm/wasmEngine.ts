import { FAILED, REVERTED, RUN_PAUSED, TRACE_STEPS } from '../../../../assembly/evm/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { EMPTY_BYTES } from '../../../primitives/bytes.ts'
import type { WasmModule } from '../../../primitives/webAssembly.ts'
import { createAddress } from '../../contractAddress.ts'
import type { Engine, ExecutionEnvironment, ExecutionResult, Message } from '../../engine.ts'
import { EngineTrapError } from '../errorKinds.ts'
import { FAILURE_MESSAGES } from '../failureMessages.ts'
import { engineFailureMessage } from './engineFailureMessage.ts'
import { beginContract, isOccupied } from './hostWorld.ts'
import { commitCheckpoint, openCheckpoint, type RunState } from './runState.ts'
import { type InstanceOptions, WasmInstance } from './wasmInstance.ts'

/** Gas of work after which a run with a deadline looks at it, and lets other work of its thread go on: at most about 20 ms. */
const SLICE_GAS = 1_000_000n
/** The same while every step is reported to a tracer, which may take a thousand times as long as the step. */
const TRACED_SLICE_GAS = 10_000n
/** All work: the largest i64. */
const UNLIMITED = (1n << 63n) - 1n
/** Gas is an i64 in the engine, whose least value says that a precompile failed. No block has so much. */
const MOST_GAS = UNLIMITED - 1n

/** Memory beyond which an instance is not kept for the next run. */
const KEPT_MEMORY = 160 * 1024 * 1024
/** Runs that interleave have an instance each; so many are kept. */
const KEPT_INSTANCES = 8

export interface WasmEngineOptions extends InstanceOptions {
  /** gas of a slice of a run with a deadline; tests take little, so that runs are cut everywhere */
  readonly sliceGas?: bigint
}

/**
 * The engine of assembly/, compiled to WebAssembly. It knows the rules from Cancun on. Instances that are not running wait in a
 * pool; one whose run threw is in an unknown state and is never used again.
 * @param module the same for all threads of the process
 */
export function createWasmEngine(module: WasmModule, options: WasmEngineOptions): Engine {
  const idle: WasmInstance[] = []
  return {
    name: 'wasm',
    async run(message, environment) {
      if (environment.world.getSpendable(message.caller) < message.value) {
        return failed(FAILURE_MESSAGES.insufficientBalance, 0n)
      }
      const instance = idle.pop() ?? new WasmInstance(module, options)
      let result: ExecutionResult
      try {
        instance.begin(environment)
        result = await runMessage(instance, message, environment, options.sliceGas ?? SLICE_GAS)
      } finally {
        instance.end()
      }
      // not reached when the run threw
      if (instance.memoryBytes <= KEPT_MEMORY && idle.length < KEPT_INSTANCES) idle.push(instance)
      return result
    },
  }
}

/** Memory beyond which the instance of short runs is not kept: about 34 MB of it are its stacks, which take none while they are not used. */
const KEPT_SHORT_MEMORY = 64 * 1024 * 1024

/**
 * Runs what is short at once: a run that uses more than `work` gas is dropped, and undefined is the answer. What the environment throws
 * ends a run too. Works by the rules from Cancun on, as {@link createWasmEngine}, which gives the same results. One instance serves all
 * runs, however they end.
 */
export function createShortRuns(module: WasmModule, options: InstanceOptions) {
  let kept: WasmInstance | undefined
  return (message: Message, environment: ExecutionEnvironment, work: bigint): ExecutionResult | undefined => {
    if (environment.world.getSpendable(message.caller) < message.value) {
      return failed(FAILURE_MESSAGES.insufficientBalance, 0n)
    }
    const instance = kept ?? new WasmInstance(module, options)
    // not kept when the engine breaks
    kept = undefined
    let isBroken = false
    try {
      instance.begin(environment)
      const { recipient, result } = startMessage(instance, message, environment, true)
      if (result !== undefined) return result
      if (instance.proceed(work) === RUN_PAUSED) return undefined
      return resultOf(instance, message, recipient)
    } catch (error) {
      isBroken = error instanceof EngineTrapError
      throw error
    } finally {
      instance.end()
      if (!isBroken && instance.memoryBytes <= KEPT_SHORT_MEMORY) kept = instance
    }
  }
}

/** Runs the message in a checkpoint of its own. Unless the run succeeds it stays open, and {@link WasmInstance.end} reverts it. */
async function runMessage(
  instance: WasmInstance,
  message: Message,
  environment: ExecutionEnvironment,
  sliceGas: bigint,
): Promise<ExecutionResult> {
  const begun = startMessage(instance, message, environment, false)
  if (begun.result !== undefined) return begun.result
  const { yield: pause } = environment
  const isStepping = ((instance.run.tracing?.flags ?? 0) & TRACE_STEPS) !== 0
  const slice = pause === undefined ? UNLIMITED : isStepping ? TRACED_SLICE_GAS : sliceGas
  while (instance.proceed(slice) === RUN_PAUSED) await pause?.()
  return resultOf(instance, message, begun.recipient)
}

/** The message's recipient or new contract; a result where the message runs no code. */
interface StartedMessage {
  readonly recipient: Address
  readonly result?: ExecutionResult
}

function startMessage(
  instance: WasmInstance,
  message: Message,
  { world }: ExecutionEnvironment,
  isBounded: boolean,
): StartedMessage {
  const { run } = instance
  const { caller, value, data, gasLimit } = message
  const isCreation = message.to === undefined
  const recipient = message.to ?? createAddress(caller, world.getNonce(caller) - 1n)
  if (isCreation) world.warmAddress(recipient)
  openCheckpoint(run)
  if (isCreation) {
    if (isOccupied(world, recipient)) return { recipient, result: collision(run, message, recipient) }
    beginContract(world, recipient, caller, value)
  }
  instance.start({ caller, recipient, value, data, gas: gasOf(gasLimit), isCreation, isBounded })
  return { recipient }
}

function gasOf(gasLimit: bigint): bigint {
  return gasLimit < MOST_GAS ? gasLimit : MOST_GAS
}

/** The result of a run that is done. */
function resultOf(instance: WasmInstance, { to, gasLimit }: Message, recipient: Address): ExecutionResult {
  const { run } = instance
  const { status, gasLeft, gasRefund, output, ...failure } = instance.result()
  const gasUsed = gasOf(gasLimit) - gasLeft
  if (status === FAILED) {
    return failed(engineFailureMessage(failure, run.precompileFailure), gasLeft === 0n ? gasLimit : gasUsed)
  }
  if (status === REVERTED) return { status: 'revert', output, gasUsed, gasRefund: 0n }
  commitCheckpoint(run)
  return { status: 'success', output, gasUsed, gasRefund, ...(to === undefined ? { createdAddress: recipient } : {}) }
}

/** EIP-684: such a creation takes all gas. The engine is not called for it, but a tracer is. */
function collision({ tracing, environment }: RunState, message: Message, to: Address): ExecutionResult {
  const { caller: from, data: input, gasLimit, value } = message
  for (const address of [from, to]) environment.tracer?.onParty?.(address)
  tracing?.enter({ depth: 0, type: 'CREATE', from, to, input, gas: gasLimit, value, precompile: false })
  const error = FAILURE_MESSAGES.addressCollision
  tracing?.exit({ depth: 0, output: EMPTY_BYTES, gasUsed: gasLimit, error, reverted: true })
  return failed(error, gasLimit)
}

function failed(message: string, gasUsed: bigint): ExecutionResult {
  return { status: 'failure', failure: { message }, output: EMPTY_BYTES, gasUsed, gasRefund: 0n }
}
