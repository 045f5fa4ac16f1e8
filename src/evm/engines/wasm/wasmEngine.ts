import { FAILED, REVERTED, RUN_PAUSED, TRACE_STEPS } from '../../../../assembly/evm/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { EMPTY_BYTES } from '../../../primitives/bytes.ts'
import type { WasmModule } from '../../../primitives/webAssembly.ts'
import { createAddress } from '../../contractAddress.ts'
import {
  type ExecutionEnvironment,
  type ExecutionResult,
  type ImmediateEngine,
  type Message,
  WorkLimitReached,
} from '../../engine.ts'
import { EngineTrapError } from '../errorKinds.ts'
import { FAILURE_MESSAGES } from '../failureMessages.ts'
import { engineFailureMessage } from './engineFailureMessage.ts'
import { beginContract, isOccupied } from './hostWorld.ts'
import { commitCheckpoint, openCheckpoint, type RunState } from './runState.ts'
import { type InstanceOptions, WasmInstance } from './wasmInstance.ts'

/** Gas of work after which a run with a deadline checks it, and lets its thread do other work: at most about 20 ms. */
const SLICE_GAS = 1_000_000n
/** The same while every step is reported to a tracer, which may take a thousand times as long as the step. */
const TRACED_SLICE_GAS = 10_000n
/** All work: the largest i64. */
const UNLIMITED = (1n << 63n) - 1n
/** Gas is an i64 in the engine, whose least value says that a precompile failed. No block has so much. */
const MOST_GAS = UNLIMITED - 1n

/** Which idle instances wait for their next run. */
interface RetainedInstances {
  readonly count: number
  /** one with more memory is dropped */
  readonly memoryBytes: number
}

/** Runs that interleave have an instance each. */
const DEFAULT_RETAINED: RetainedInstances = { count: 8, memoryBytes: 160 * 1024 * 1024 }

export interface WasmEngineOptions extends InstanceOptions {
  /** gas of a slice of a run with a deadline; tests take little, so that runs are cut everywhere */
  readonly sliceGas?: bigint
  readonly retained?: RetainedInstances
}

/**
 * Creates the engine of assembly/, compiled to WebAssembly. It knows the rules from Cancun on.
 * Instances that are not running wait in a pool. One whose run threw is in an unknown state and is never used again, except after
 * a run with a `workLimit`: that is made to be dropped in its midst, also by an error of its world, so only a trap breaks its instance.
 * @param module the same for all threads of the process
 */
export function createWasmEngine(module: WasmModule, options: WasmEngineOptions): ImmediateEngine {
  const { sliceGas = SLICE_GAS, retained = DEFAULT_RETAINED } = options
  const idle: WasmInstance[] = []

  const release = (instance: WasmInstance): void => {
    instance.end()
    if (instance.memoryBytes <= retained.memoryBytes && idle.length < retained.count) idle.push(instance)
  }
  const drop = (instance: WasmInstance, { workLimit }: ExecutionEnvironment, error: unknown): never => {
    if (workLimit !== undefined && !(error instanceof EngineTrapError)) release(instance)
    else instance.end()
    throw error
  }

  const run = (message: Message, environment: ExecutionEnvironment): ExecutionResult | Promise<ExecutionResult> => {
    if (environment.world.getSpendable(message.caller) < message.value) {
      return failed(FAILURE_MESSAGES.insufficientBalance, 0n)
    }
    const instance = idle.pop() ?? new WasmInstance(module, options)
    let result: ExecutionResult | Promise<ExecutionResult>
    try {
      instance.begin(environment)
      result = runMessage(instance, message, environment, sliceGas)
    } catch (error) {
      return drop(instance, environment, error)
    }
    if (!(result instanceof Promise)) {
      release(instance)
      return result
    }
    return result.then(
      (ended) => {
        release(instance)
        return ended
      },
      (error) => drop(instance, environment, error),
    )
  }
  return { name: 'wasm', run: run as ImmediateEngine['run'] }
}

/** Runs the message in a checkpoint of its own. Unless the run succeeds it stays open, and {@link WasmInstance.end} reverts it. */
function runMessage(
  instance: WasmInstance,
  message: Message,
  environment: ExecutionEnvironment,
  sliceGas: bigint,
): ExecutionResult | Promise<ExecutionResult> {
  const { yield: pause, workLimit } = environment
  const { recipient, result } = startMessage(instance, message, environment)
  if (result !== undefined) return result
  if (workLimit !== undefined) {
    if (instance.proceed(workLimit) === RUN_PAUSED) throw WorkLimitReached.instance
    return resultOf(instance, message, recipient)
  }
  if (pause === undefined) {
    while (instance.proceed(UNLIMITED) === RUN_PAUSED);
    return resultOf(instance, message, recipient)
  }
  return runInSlices(instance, message, recipient, { pause, sliceGas })
}

async function runInSlices(
  instance: WasmInstance,
  message: Message,
  recipient: Address,
  { pause, sliceGas }: { readonly pause: () => Promise<void>; readonly sliceGas: bigint },
): Promise<ExecutionResult> {
  const isStepping = ((instance.run.tracing?.flags ?? 0) & TRACE_STEPS) !== 0
  const slice = isStepping ? TRACED_SLICE_GAS : sliceGas
  while (instance.proceed(slice) === RUN_PAUSED) await pause()
  return resultOf(instance, message, recipient)
}

/** The message's recipient or new contract; a result where the message runs no code. */
interface StartedMessage {
  readonly recipient: Address
  readonly result?: ExecutionResult
}

function startMessage(
  instance: WasmInstance,
  message: Message,
  { world, workLimit }: ExecutionEnvironment,
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
  instance.start({
    caller,
    recipient,
    value,
    data,
    gas: gasOf(gasLimit),
    isCreation,
    isBounded: workLimit !== undefined,
  })
  return { recipient }
}

function gasOf(gasLimit: bigint): bigint {
  return gasLimit < MOST_GAS ? gasLimit : MOST_GAS
}

/** Returns the result of a run that is done. */
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

/**
 * Returns the result of a creation at an occupied address, which takes all gas (EIP-684). The
 * engine is not called for it, but a tracer is.
 */
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
