import { type ConsensusBlock, headerHash } from '../chain/consensus/block.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { DecidedBlock } from './application.ts'
import type { Effect } from './effect.ts'
import type { ConsensusLog } from './environment.ts'

/** The decision of the present height, from the log's point of view. */
export class Decision {
  readonly #log: Pick<ConsensusLog, 'append'>
  /** header hashes of the decided blocks that peers gave for the present height */
  readonly #fetched = new Set<string>()
  #pending: DecidedBlock | undefined

  constructor(log: Pick<ConsensusLog, 'append'>) {
    this.#log = log
  }

  /** A height is decided, and not yet finalized. */
  get isPending(): boolean {
    return this.#pending !== undefined
  }

  /** A peer gave this block as decided: its parts do not come one by one. */
  fetched(block: ConsensusBlock): void {
    this.#fetched.add(bytesKey(headerHash(block.header)))
  }

  /**
   * Appends what a restart needs to execute the block.
   * @returns whether a peer gave the block as a whole
   */
  log({ decided, parts }: Extract<Effect, { readonly kind: 'finalize' }>): boolean {
    const { height } = decided.block.header
    const { round } = decided.seenCommit
    const isFetched = this.#fetched.has(bytesKey(decided.blockId.hash))
    // Parts that came one by one are in the log.
    if (isFetched) for (const part of parts) this.#log.append({ kind: 'part', height, round, part })
    this.#log.append({ kind: 'commit', commit: decided.seenCommit })
    this.#log.append({ kind: 'endHeight', height })
    this.#pending = decided
    return isFetched
  }

  /** The block of this height, if it waits to be finalized; it does not any more. */
  take(height: number): DecidedBlock | undefined {
    const decided = this.#pending
    if (decided?.block.header.height !== height) return undefined
    this.#pending = undefined
    this.#fetched.clear()
    return decided
  }
}
