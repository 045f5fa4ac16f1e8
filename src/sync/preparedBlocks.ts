import type { DecidedBlock } from '../consensus/application.ts'

/** Recovers the senders of a block's transactions, in another thread; by position, undefined where there is none. */
export type RecoverSenders = (txs: readonly Uint8Array[]) => Promise<readonly (Uint8Array | undefined)[]>

/** Blocks that are prepared at a time: enough to keep other threads busy, few enough to leave them to their clients. */
const AHEAD = 16

/** Has the senders of decided blocks recovered a little ahead of their turn to execute, which takes less then. */
export class PreparedBlocks {
  readonly #recover: RecoverSenders | undefined
  readonly #waiting = new Map<number, DecidedBlock>()
  readonly #begun = new Map<number, ReturnType<RecoverSenders>>()

  /** @param recover undefined: blocks are executed as they are */
  constructor(recover: RecoverSenders | undefined) {
    this.#recover = recover
  }

  /** The block will be taken some time. Blocks may come in any order. */
  add(decided: DecidedBlock): void {
    const { header, txs } = decided.block
    if (this.#recover === undefined || txs.length === 0) return
    this.#waiting.set(header.height, decided)
  }

  /** The block whose turn has come, with its senders; begins with those of the blocks that follow. */
  async take(decided: DecidedBlock): Promise<DecidedBlock> {
    const { height } = decided.block.header
    for (let next = height; next < height + AHEAD; next++) {
      const waiting = this.#waiting.get(next)
      if (waiting === undefined || this.#recover === undefined) continue
      this.#waiting.delete(next)
      const begun = this.#recover(waiting.block.txs)
      // It is awaited when its turn comes.
      begun.catch(() => undefined)
      this.#begun.set(next, begun)
    }
    const own = this.#begun.get(height)
    if (own === undefined) return decided
    this.#begun.delete(height)
    return { ...decided, senders: await own }
  }

  clear(): void {
    this.#waiting.clear()
    this.#begun.clear()
  }
}
