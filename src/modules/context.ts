import type { WorldState } from '../state/world.ts'

/** What native modules know of the block in which they run. */
export interface NativeBlock {
  readonly height: number
  /** consensus time, milliseconds since the epoch */
  readonly timeMs: number
}

/** Where a module function reads and writes: messages, precompiles and block hooks give the same. */
export interface ModuleContext {
  readonly world: WorldState
  readonly block: NativeBlock
}

/** As much of a world as queries need. */
export type ReadContext = {
  readonly world: Pick<WorldState, 'getBalance' | 'getNonce' | 'getCode' | 'getCodeHash' | 'exists'> & {
    readonly native: Pick<WorldState['native'], 'get' | 'iterate' | 'range'>
  }
  readonly block: NativeBlock
}
