import type { ConsensusBlock } from '../../../src/chain/comet/block.ts'
import type { Commit } from '../../../src/chain/comet/types.ts'
import type { ConsensusMessage } from '../../../src/consensus/messages.ts'
import type { SimNode } from '../simNode.ts'

/** A block with its commit, as a peer that was asked for it gives it. */
export interface ServedBlock {
  readonly block: ConsensusBlock
  readonly commit: Commit
}

/**
 * What a byzantine validator does differently from an honest engine, which follows the chain for it and signs whatever it is asked to.
 * Functions that are left out stay honest.
 */
export interface Byzantine {
  readonly name: string
  /** In place of sending what the engine wants sent. */
  send?(node: SimNode, to: readonly number[], message: ConsensusMessage): void
  /** Before the engine sees it. */
  onReceive?(node: SimNode, from: number, message: ConsensusMessage): void
  /** Called when its process starts, for what it does by itself. */
  onStart?(node: SimNode): void
  /** The height that it claims to have, in place of `height`. */
  claims?(height: number): number
  /** Its answer to a request for a decided block: another block, nothing ('silent'), or undefined for the true one. */
  serve?(node: SimNode, from: number, height: number): ServedBlock | 'silent' | undefined
}
