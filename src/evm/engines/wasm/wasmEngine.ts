import { FAILED, REVERTED, RUN_PAUSED, TRACE_STEPS } from '../../../../assembly/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { EMPTY_BYTES } from '../../../primitives/bytes.ts'
import { createAddress } from '../../contractAddress.ts'
import type { Engine, ExecutionEnvironment, ExecutionResult, Message } from '../../engine.ts'
import type { WasmModule } from '../../webAssembly.ts'
import { FAILURE_MESSAGES } from '../failureMessages.ts'
import { engineFailureMessage } from './engineFailureMessage.ts'
import { beginContract, isOccupied } from './hostWorld.ts'
import { commitCheckpoint, openCheckpoint, type RunState } from './runState.ts'
import { type InstanceOptions, WasmInstance } from './wasmInstance.ts'

/** Gas of work after which a run with a deadline lets other work of its thread go on: at most about 20 ms. */
const SLICE_GAS = 5_000_000n
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
      if (environment.world.getBalance(message.caller) < message.value) {
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

/** Runs the message in a checkpoint of its own. Unless the run succeeds it stays open, and {@link WasmInstance.end} reverts it. */
async function runMessage(
  instance: WasmInstance,
  message: Message,
  { world, yield: pause }: ExecutionEnvironment,
  sliceGas: bigint,
): Promise<ExecutionResult> {
  const { run } = instance
  const { caller, value, data, gasLimit } = message
  const isCreation = message.to === undefined
  const recipient = message.to ?? createAddress(caller, world.getNonce(caller) - 1n)
  if (isCreation) world.warmAddress(recipient)
  openCheckpoint(run)
  if (isCreation) {
    if (isOccupied(world, recipient)) return collision(run, message, recipient)
    beginContract(world, recipient, caller, value)
  }
  const gas = gasLimit < MOST_GAS ? gasLimit : MOST_GAS
  instance.start({ caller, recipient, value, data, gas, isCreation })
  const isStepping = ((run.tracing?.flags ?? 0) & TRACE_STEPS) !== 0
  const slice = pause === undefined ? UNLIMITED : isStepping ? TRACED_SLICE_GAS : sliceGas
  while (instance.proceed(slice) === RUN_PAUSED) await pause?.()

  const { status, gasLeft, gasRefund, output, ...failure } = instance.result()
  if (status === FAILED) {
    return failed(engineFailureMessage(failure, run.precompileFailure), gasLeft === 0n ? gasLimit : gas - gasLeft)
  }
  const gasUsed = gas - gasLeft
  if (status === REVERTED) return { status: 'revert', output, gasUsed, gasRefund: 0n }
  commitCheckpoint(run)
  return { status: 'success', output, gasUsed, gasRefund, ...(isCreation ? { createdAddress: recipient } : {}) }
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
