import type { NativeEvent } from '../chain/block/entries.ts'
import type { WorldState } from '../state/world.ts'

/** The block in which native modules run, as they see it. */
export interface NativeBlock {
  readonly height: number
  /** consensus time, milliseconds since the epoch */
  readonly timeMs: number
}

/** Where a module function reads and writes; the same for messages, precompiles and block hooks. */
export interface ModuleContext {
  readonly world: WorldState
  readonly block: NativeBlock
}

/** As much of a world as queries need. */
export type ReadContext = {
  readonly world: Pick<
    WorldState,
    'getBalance' | 'getSpendable' | 'getNonce' | 'getCode' | 'getCodeHash' | 'exists'
  > & {
    readonly native: Pick<WorldState['native'], 'get' | 'range' | 'work'>
  }
  readonly block: NativeBlock
}

/** Returns an event for `world.emitEvent`, with attributes in the order of `attributes`. */
export function event(type: string, attributes: Readonly<Record<string, string>>): NativeEvent {
  return { type, attributes: Object.entries(attributes).map(([key, value]) => ({ key, value })) }
}

/** How one validator of the block before voted on it, as the proposer saw it. */
export interface CommitVote {
  /** consensus address, 20 bytes */
  readonly address: Uint8Array
  readonly power: bigint
  readonly vote: 'signed' | 'nil' | 'absent'
}

/** The commit of the block before. */
export interface LastCommitInfo {
  readonly round: number
  /** in the order of the last block's validator set; empty in the first block */
  readonly votes: readonly CommitVote[]
}

/** A validator's proven fault. */
export interface Misbehaviour {
  readonly kind: 'duplicateVote'
  /** consensus address, 20 bytes */
  readonly address: Uint8Array
  /** its own and the total power at `height` */
  readonly power: bigint
  readonly totalPower: bigint
  readonly height: number
  /** of the block at that height, milliseconds since the epoch */
  readonly timeMs: number
  /** sha256 of `bytes`, which are the evidence as the block's evidence hash covers it */
  readonly hash: Uint8Array
  readonly bytes: Uint8Array
}
