import type { Log } from '../../../chain/block/receipt.ts'
import type { WorldState } from '../../../state/world.ts'
import type { ExecutionEnvironment } from '../../engine.ts'
import type { FrameEnter, FrameExit, OpcodeStep } from '../../tracer.ts'
import type { LinearMemory } from './linearMemory.ts'
import type { PartyReports } from './partyReports.ts'

/** State that the host's functions work on: an instance, and its current run. */
export interface RunState {
  readonly memory: LinearMemory
  readonly engine: EngineExports
  readonly world: WorldState
  readonly environment: ExecutionEnvironment
  /** set while the run is traced */
  readonly tracing: WasmTracing | undefined
  /** checkpoints of the world that the run has open */
  openCheckpoints: number
  /** why the last precompile that failed did so */
  precompileFailure: string
}

/** Exports of the engine's binary, except its memory and addresses. */
export interface EngineExports {
  /** Forgets everything about the last run except bytecode and environment. */
  reset(): void
  /** Reserves room for the data of the message. */
  reserveInput(length: number): number
  /** Reserves room for the output of a precompile. */
  reserveOutput(length: number): number
  /** Prepares the engine for a precompile that changes the world: to be called before. */
  prepareWrites(): void
  /** Returns an entry for a code of `length` bytes. */
  newCode(length: number): number
  /** Reserves room until the next reset. */
  allocate(length: number): number
  start(gas: bigint, flags: number, input: number, length: number): void
  run(slice: bigint): number
}

/** Reports what happens in a run to its tracer; hooks that the tracer does not have cost nothing. */
export interface WasmTracing {
  /** trace flags of the environment */
  readonly flags: number
  /** whether input and output of frames are read */
  readonly hasData: boolean
  /** undefined when no caller wants the addresses alone */
  readonly parties: PartyReports | undefined
  log(log: Log): void
  enter(frame: FrameEnter): void
  exit(frame: FrameExit): void
  step(step: OpcodeStep): void
}

/** Opens a checkpoint of the world. */
export function openCheckpoint(run: RunState): void {
  run.world.checkpoint()
  run.openCheckpoints++
}

/** Retains the changes of the innermost checkpoint. */
export function commitCheckpoint(run: RunState): void {
  run.openCheckpoints--
  run.world.commit()
}

/** Undoes the changes of the innermost checkpoint. */
export function revertCheckpoint(run: RunState): void {
  run.openCheckpoints--
  run.world.revert()
}

/** Reverts every checkpoint that a run which broke off has left open. */
export function unwind(run: RunState): void {
  while (run.openCheckpoints > 0) revertCheckpoint(run)
}
