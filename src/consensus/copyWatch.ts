import type { Commit, ValidatorSet } from '../chain/comet/types.ts'
import { hasKeyIn, hasSigned } from './doubleSignGuard.ts'

/** The mark of a data directory that is a copy, made while its original may have gone on (src/datadir/copyMark.ts). */
export interface CopyMark {
  /** of the newest block in the copy when it was made */
  readonly height: number
  /** Takes the mark away, durably. */
  remove(): void
}

/**
 * Number of blocks in a row that must be decided without a signature of the key. One would do for
 * an original that has stopped; if the original runs, a single commit may lack its vote because the
 * vote came late.
 */
export const QUIET_BLOCKS = 10
/** A block whose time is further from this node's clock was decided a while ago, and may be followed by others that the key has signed. */
const LIVE_MS = 10_000

interface CopyWatchOptions {
  /** of the keys of this node's validator */
  readonly addresses: readonly Uint8Array[]
  readonly mark: CopyMark
  /** of the newest signature in the log; 0: none */
  readonly signedHeight: number
}

/**
 * Decides when a validator that was started from a copy may sign. Its log does not know what the
 * original has signed since, and waiting for some time does not make signing safe. But the original
 * cannot have signed for a height before the one below was decided. So the copy waits, for as long
 * as it takes, until blocks are decided live, in consensus, without a signature of the key. They
 * must be above the copy's head and above every signature of the key that was seen in a commit or
 * in a vote.
 *
 * It cannot know of an original that runs and is cut off from the network, or that is started later.
 */
export class CopyWatch {
  readonly #addresses: readonly Uint8Array[]
  readonly #mark: CopyMark
  /** the highest height for which the key has signed, or may have when the copy was made */
  #signed: number
  /** blocks in a row */
  #quiet = 0

  constructor({ addresses, mark, signedHeight }: CopyWatchOptions) {
    this.#addresses = addresses
    this.#mark = mark
    this.#signed = Math.max(mark.height, signedHeight)
  }

  /** Looks for the key's signature in a commit of the chain; the commit was verified. */
  inspect(commit: Commit): void {
    if (hasSigned(commit, this.#addresses)) this.sawSignature(commit.height)
  }

  /** Called when the key has signed for this height, elsewhere. */
  sawSignature(height: number): void {
    this.#signed = Math.max(this.#signed, height)
    this.#quiet = 0
  }

  /**
   * Called when a block was executed that consensus has not just decided here: it is not known
   * which blocks follow it.
   */
  synced(): void {
    this.#quiet = 0
  }

  /**
   * Consensus has decided a block, whose commits were inspected. When it is enough, the mark is taken away.
   * @param validators of the block
   * @returns whether the validator may sign from now on
   * @throws Error when the mark cannot be removed
   */
  decided(
    { height, timeMs }: { readonly height: number; readonly timeMs: number },
    { validators }: ValidatorSet,
    nowMs: number,
  ): boolean {
    const isLive = Math.abs(nowMs - timeMs) <= LIVE_MS
    this.#quiet = isLive && hasKeyIn({ validators }, this.#addresses) && height > this.#signed ? this.#quiet + 1 : 0
    if (this.#quiet < QUIET_BLOCKS) return false
    this.#mark.remove()
    return true
  }
}
