import type { ConsensusBlock } from '../chain/consensus/block.ts'
import { decodeBlock } from '../chain/consensus/blockCodec.ts'
import { headerHash } from '../chain/consensus/headerCodec.ts'
import { type Part, PartCollector } from '../chain/consensus/partSet.ts'
import {
  type BlockId,
  type Commit,
  equalBlockId,
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type Vote,
} from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { DecidedBlock } from './application.ts'
import { type LastSigned, lastSignedOf } from './signer.ts'
import type { WalEntry } from './walEntry.ts'

/** The write-ahead log and the application do not fit together. The message says how, for an operator. */
export class RecoveryError extends Error {
  override readonly name = 'RecoveryError'
}

/** What the log holds of one height. */
interface LoggedHeight {
  /** of every block proposed for it: one whose proposal was lost in a crash may have left some */
  readonly parts: Part[]
  proposal?: Proposal
  prevote?: Vote
  precommit?: Vote
  commit?: Commit
  ended: boolean
}

/** A height that the validator has signed for and that is not decided yet. */
export interface UnfinishedHeight {
  readonly block: ConsensusBlock
  readonly proposal: Proposal
  readonly prevote: Vote | undefined
  readonly precommit: Vote | undefined
}

/** Collects what a restart needs from the log of a solo chain, whose every height has the one round 0. */
export class SoloRecovery {
  readonly #chainId: string
  readonly #appHeight: number
  readonly #heights = new Map<number, LoggedHeight>()
  #lastSigned: LastSigned | undefined
  #highest = 0

  /** @param appHeight of the application's last block: nothing more is kept of the heights before */
  constructor(chainId: string, appHeight: number) {
    this.#chainId = chainId
    this.#appHeight = appHeight
  }

  get lastSigned(): LastSigned | undefined {
    return this.#lastSigned
  }

  /** The highest height in the log; 0 when there is none. */
  get highest(): number {
    return this.#highest
  }

  add(entry: WalEntry): void {
    switch (entry.kind) {
      case 'lastSigned':
        this.#lastSigned ??= lastSignedOf(this.#chainId, entry.entry)
        return
      case 'proposal': {
        const { height, round } = entry.proposal
        this.#at(height, round).proposal = entry.proposal
        this.#lastSigned = lastSignedOf(this.#chainId, entry)
        return
      }
      case 'vote': {
        const { height, round, type } = entry.vote
        const logged = this.#at(height, round)
        if (type === SIGNED_MESSAGE_TYPES.prevote) logged.prevote = entry.vote
        else logged.precommit = entry.vote
        this.#lastSigned = lastSignedOf(this.#chainId, entry)
        return
      }
      case 'part': {
        const { parts } = this.#at(entry.height, entry.round)
        if (entry.height > this.#appHeight) parts.push(entry.part)
        return
      }
      case 'commit':
        this.#at(entry.commit.height, entry.commit.round).commit = entry.commit
        return
      case 'endHeight':
        this.#at(entry.height, 0).ended = true
    }
  }

  #at(height: number, round: number): LoggedHeight {
    if (round !== 0)
      throw new RecoveryError(
        `the write-ahead log holds round ${round} of height ${height}: a chain of one validator has none`,
      )
    let logged = this.#heights.get(height)
    if (logged === undefined) {
      logged = { parts: [], ended: false }
      this.#heights.set(height, logged)
      this.#highest = Math.max(this.#highest, height)
    }
    return logged
  }

  /** Whether the log has everything of this height, up to its end mark. */
  hasEnded(height: number): boolean {
    return this.#heights.get(height)?.ended ?? false
  }

  /** The block ID that the log has a commit for at this height. */
  decidedBlockId(height: number): BlockId | undefined {
    return this.#heights.get(height)?.commit?.blockId
  }

  /**
   * The decided block of a height above the application's; undefined when the log has no commit for it.
   * @throws RecoveryError when the block itself is not there
   */
  decided(height: number, maxBytes: number): DecidedBlock | undefined {
    const logged = this.#heights.get(height)
    if (logged?.commit === undefined) return undefined
    const { blockId } = logged.commit
    return { block: assemble(height, logged.parts, blockId, maxBytes), blockId, seenCommit: logged.commit }
  }

  /**
   * What was signed for a height above the application's.
   * @returns undefined when nothing was
   * @throws RecoveryError when the block is not there, or votes are for another one
   */
  unfinished(height: number, maxBytes: number): UnfinishedHeight | undefined {
    const logged = this.#heights.get(height)
    if (logged?.proposal === undefined) return undefined
    const { parts, proposal, prevote, precommit } = logged
    for (const vote of [prevote, precommit]) {
      if (vote !== undefined && !equalBlockId(vote.blockId, proposal.blockId)) {
        throw new RecoveryError(`the write-ahead log holds a vote against the only proposal for height ${height}`)
      }
    }
    return { block: assemble(height, parts, proposal.blockId, maxBytes), proposal, prevote, precommit }
  }
}

function assemble(height: number, parts: readonly Part[], blockId: BlockId, maxBytes: number): ConsensusBlock {
  const collector = new PartCollector(blockId.partSetHeader, maxBytes)
  for (const part of parts) collector.add(part)
  const bytes = collector.bytes()
  if (bytes === undefined) {
    throw new RecoveryError(`the write-ahead log holds signatures for block ${height}, but not the whole block`)
  }
  const block = decodeBlock(bytes)
  if (!equalBytes(headerHash(block.header), blockId.hash)) {
    throw new RecoveryError(`the block at height ${height} of the write-ahead log has another hash than was signed`)
  }
  return block
}
