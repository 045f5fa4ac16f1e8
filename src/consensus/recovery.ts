import { decodeBlock, headerHash } from '../chain/consensus/block.ts'
import { type Part, PartCollector } from '../chain/consensus/partSet.ts'
import type { BlockId, Commit } from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { DecidedBlock } from './application.ts'
import { type LastSigned, lastSignedOf } from './signer.ts'
import { entryHeight, type WalEntry } from './walEntry.ts'

/** The write-ahead log and the application do not fit together. The message says how, for an operator. */
export class RecoveryError extends Error {
  override readonly name = 'RecoveryError'
}

interface LoggedEntry {
  readonly entry: WalEntry
  /** the highest height that had ended in the log before it */
  readonly after: number
}

/**
 * What a restart needs of the write-ahead log: the signer's memory, the decided blocks that the application may lack, and
 * the entries of the height that is open. It is fed with every entry in the log's order, at the start and while consensus
 * runs.
 */
export class Recovery {
  readonly #chainId: string
  #appHeight: number
  /** of heights above the application's, and late precommits of its last one */
  #entries: LoggedEntry[] = []
  readonly #commits = new Map<number, Commit>()
  #ended = 0
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

  /** The log knows neither of a signature nor of a height that was decided while it was there. */
  get isBlank(): boolean {
    return this.#lastSigned === undefined && this.#ended === 0
  }

  /** The highest height in the log; 0 when there is none. */
  get highest(): number {
    return this.#highest
  }

  add(entry: WalEntry): void {
    if (entry.kind === 'lastSigned') {
      this.#lastSigned ??= lastSignedOf(this.#chainId, entry.entry)
      return
    }
    const height = entryHeight(entry)
    this.#highest = Math.max(this.#highest, height)
    if (entry.kind === 'proposal' || entry.kind === 'vote') this.#lastSigned = lastSignedOf(this.#chainId, entry)
    else if (entry.kind === 'commit') this.#commits.set(height, entry.commit)
    else if (entry.kind === 'endHeight') this.#ended = Math.max(this.#ended, height)
    if (entry.kind === 'commit' || entry.kind === 'endHeight') return
    if (height >= this.#appHeight) this.#entries.push({ entry, after: this.#ended })
  }

  /** The application has the block of this height: what came before its end is not needed any more. */
  finished(height: number): void {
    this.#appHeight = height
    this.#ended = Math.max(this.#ended, height)
    this.#entries = this.#entries.filter(
      ({ entry, after }) => entryHeight(entry) > height || (entryHeight(entry) === height && after >= height),
    )
    for (const decided of this.#commits.keys()) if (decided < height) this.#commits.delete(decided)
  }

  /** Whether the log has everything of this height, up to its end mark. */
  hasEnded(height: number): boolean {
    return height <= this.#ended
  }

  /** The block ID that the log has a commit for at this height. */
  decidedBlockId(height: number): BlockId | undefined {
    return this.#commits.get(height)?.blockId
  }

  /**
   * The decided block of a height above the application's; undefined when the log has no commit for it, or not all of its
   * parts.
   * @throws RecoveryError when the block's hash is not the one that was decided
   */
  decided(height: number, maxBytes: number): DecidedBlock | undefined {
    const seenCommit = this.#commits.get(height)
    if (seenCommit === undefined) return undefined
    const { blockId } = seenCommit
    const collector = new PartCollector(blockId.partSetHeader, maxBytes)
    for (const part of this.#parts(height)) collector.add(part)
    const bytes = collector.bytes()
    if (bytes === undefined) return undefined
    const block = decodeBlock(bytes)
    if (!equalBytes(headerHash(block.header), blockId.hash)) {
      throw new RecoveryError(`the block at height ${height} of the write-ahead log has another hash than was decided`)
    }
    return { block, blockId, seenCommit }
  }

  *#parts(height: number): Iterable<Part> {
    for (const { entry } of this.#entries) if (entry.kind === 'part' && entry.height === height) yield entry.part
  }

  /**
   * What the log holds of a height that is not decided, in the order in which it happened: what it has of the height itself,
   * and precommits of the height before that came after its end.
   */
  openEntries(height: number): readonly WalEntry[] {
    return this.#entries
      .filter(({ entry, after }) => {
        const own = entryHeight(entry)
        return own === height || (own === height - 1 && after >= own)
      })
      .map(({ entry }) => entry)
  }
}
