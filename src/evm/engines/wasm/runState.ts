import type { WorldState } from '../../../state/world.ts'
import type { ExecutionEnvironment } from '../../engine.ts'
import type { LinearMemory } from './linearMemory.ts'
import type { WasmTracing } from './wasmTracing.ts'

/** What the engine's binary exports to the host, but for its memory and addresses. */
export interface EngineExports {
  /** Forgets all of the last run but codes and environment. */
  reset(): void
  /** Room for the data of the message. */
  reserveInput(length: number): number
  /** Room for the output of a precompile. */
  reserveOutput(length: number): number
  /** An entry for a code of `length` bytes. */
  newCode(length: number): number
  /** Room until the next reset. */
  allocate(length: number): number
  start(gas: bigint, flags: number, input: number, length: number): void
  run(slice: bigint): number
}

/** What the host's functions work on: an instance, and the run that it is in. */
export interface RunState {
  readonly memory: LinearMemory
  readonly engine: EngineExports
  readonly world: WorldState
  readonly environment: ExecutionEnvironment
  /** set while the run is traced */
  readonly tracing: WasmTracing | undefined
  /** checkpoints of the world that the run has open */
  openCheckpoints: number
  /** words of the precompile that failed last */
  precompileFailure: string
}
