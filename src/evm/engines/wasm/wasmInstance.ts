import {
  ENV_HASH_SEED,
  ENV_LOOP,
  MESSAGE_CALLER,
  MESSAGE_RECIPIENT,
  MESSAGE_VALUE,
  RESULT_DETAIL,
  RESULT_FAILURE,
  RESULT_GAS,
  RESULT_NEED,
  RESULT_OUTPUT,
  RESULT_OUTPUT_LENGTH,
  RESULT_REFUND,
  RESULT_STATUS,
  START_BOUNDED,
  START_CREATION,
  START_DISCARDED,
} from '../../../../assembly/evm/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { type WasmMemory, type WasmModule, WebAssembly } from '../../../primitives/webAssembly.ts'
import type { BlockContext, Rules } from '../../blockContext.ts'
import type { ExecutionEnvironment } from '../../engine.ts'
import { EngineTrapError } from '../errorKinds.ts'
import type { EngineFailure } from './engineFailureMessage.ts'
import { writeBlock, writeTransaction } from './environment.ts'
import { precompileImports } from './hostPrecompiles.ts'
import { worldImports } from './hostWorld.ts'
import { LinearMemory } from './linearMemory.ts'
import { type EngineExports, type RunState, unwind } from './runState.ts'
import { createTracing, tracingImports } from './wasmTracing.ts'

interface Exports extends EngineExports {
  readonly memory: WasmMemory
  readonly environment: { readonly value: number }
  readonly message: { readonly value: number }
  readonly result: { readonly value: number }
}

/** Options with which an instance is created. */
export interface InstanceOptions {
  /** of its hash tables: it changes how long a run takes, never its result */
  readonly hashSeed: bigint
  /** a loop that tests force (LOOP_… of the engine's constants) */
  readonly loop?: number
}

/** The first frame of a run. */
interface FirstFrame {
  readonly caller: Address
  /** of a creation the new contract */
  readonly recipient: Address
  readonly value: bigint
  readonly data: Uint8Array
  readonly gas: bigint
  readonly isCreation: boolean
  /** a run that is dropped when it pauses, and pauses soon (assembly/evm/bounds.ts) */
  readonly isBounded: boolean
}

interface InstanceResult extends EngineFailure {
  /** SUCCESS, REVERTED or FAILED of the engine's constants */
  readonly status: number
  readonly gasLeft: bigint
  readonly gasRefund: bigint
  readonly output: Uint8Array
}

/** Between runs there is no state that could be read. */
const NO_ENVIRONMENT = Object.freeze({}) as unknown as ExecutionEnvironment

/** One machine: linear memory, the bytecode that it has cached, and at most one run at a time. */
export class WasmInstance {
  readonly #run: { -readonly [K in keyof RunState]: RunState[K] }
  readonly #exports: Exports
  readonly #hashSeed: bigint
  readonly #environmentAt: number
  readonly #messageAt: number
  readonly #resultAt: number
  #block: BlockContext | undefined
  #rules: Rules | undefined

  constructor(module: WasmModule, { hashSeed, loop = 0 }: InstanceOptions) {
    const run = {
      world: NO_ENVIRONMENT.world,
      environment: NO_ENVIRONMENT,
      tracing: undefined,
      openCheckpoints: 0,
      precompileFailure: '',
    } as unknown as RunState
    const { exports } = new WebAssembly.Instance(module, { host: hostImports(run) })
    this.#exports = exports as Exports
    const memory = new LinearMemory(this.#exports.memory)
    this.#run = Object.assign(run, { memory, engine: this.#exports })
    this.#hashSeed = hashSeed
    this.#environmentAt = this.#exports.environment.value
    this.#messageAt = this.#exports.message.value
    this.#resultAt = this.#exports.result.value
    memory.view.setBigUint64(this.#environmentAt + ENV_HASH_SEED, hashSeed, true)
    memory.view.setUint32(this.#environmentAt + ENV_LOOP, loop, true)
  }

  /** The run as the imports see it. */
  get run(): RunState {
    return this.#run
  }

  get memoryBytes(): number {
    return this.#run.memory.bytes.length
  }

  /** Sets up a run. */
  begin(environment: ExecutionEnvironment): void {
    const { world, tracer, block, rules } = environment
    const run = this.#run
    run.world = world
    run.environment = environment
    run.tracing = tracer === undefined ? undefined : createTracing(tracer, run.memory, this.#hashSeed)
    this.#guarded(() => this.#exports.reset())
    const base = this.#environmentAt
    if (block !== this.#block || rules !== this.#rules) {
      writeBlock(run, base, block, rules)
      this.#block = block
      this.#rules = rules
    }
    writeTransaction(run, base)
  }

  /** Ends a run, successful or not: leaves no checkpoint open and drops everything except the block's context. */
  end(): void {
    unwind(this.#run)
    this.#run.world = NO_ENVIRONMENT.world
    this.#run.environment = NO_ENVIRONMENT
    this.#run.tracing = undefined
  }

  start({ caller, recipient, value, data, gas, isCreation, isBounded }: FirstFrame): void {
    const { memory } = this.#run
    const base = this.#messageAt
    memory.write(base + MESSAGE_CALLER, caller)
    memory.write(base + MESSAGE_RECIPIENT, recipient)
    memory.writeWord(base + MESSAGE_VALUE, value)
    this.#guarded(() => {
      const input = this.#exports.reserveInput(data.length)
      memory.write(input, data)
      const isDiscarded = this.#run.environment.isDiscarded === true && this.#run.tracing === undefined
      const flags =
        (isCreation ? START_CREATION : 0) | (isBounded ? START_BOUNDED : 0) | (isDiscarded ? START_DISCARDED : 0)
      this.#exports.start(gas, flags, input, data.length)
    })
  }

  /** Continues for about `work` gas; returns RUN_DONE or RUN_PAUSED of the engine's constants. */
  proceed(work: bigint): number {
    return this.#guarded(() => this.#exports.run(work))
  }

  result(): InstanceResult {
    const { memory } = this.#run
    const { view } = memory
    const base = this.#resultAt
    const output = view.getUint32(base + RESULT_OUTPUT, true)
    return {
      status: view.getUint32(base + RESULT_STATUS, true),
      code: view.getUint32(base + RESULT_FAILURE, true),
      detail: view.getUint32(base + RESULT_DETAIL, true),
      need: view.getUint32(base + RESULT_NEED, true),
      gasLeft: view.getBigInt64(base + RESULT_GAS, true),
      gasRefund: view.getBigInt64(base + RESULT_REFUND, true),
      output: memory.copy(output, view.getUint32(base + RESULT_OUTPUT_LENGTH, true)),
    }
  }

  #guarded<T>(enter: () => T): T {
    try {
      return enter()
    } catch (error) {
      if (!(error instanceof WebAssembly.RuntimeError)) throw error
      throw new EngineTrapError(`the EVM broke: ${error.message} (${this.memoryBytes} bytes of memory)`, error)
    }
  }
}

function hostImports(run: RunState) {
  return {
    ...worldImports(run),
    ...precompileImports(run),
    ...tracingImports(run),
  }
}
