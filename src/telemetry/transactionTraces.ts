import { bytesKey, keyBytes } from '../primitives/bytes.ts'
import type { Tracer } from './spans.ts'

/** Transactions that are followed at the same time; the oldest ones are forgotten. */
const MAX_FOLLOWED = 10_000

/** The pool's part of transactions' traces: how long each one waited, from its admission to its block. */
export class TransactionTraces {
  readonly #tracer: Tracer
  /** by `bytesKey` of the hash, in the order of admission */
  readonly #admitted = new Map<string, { readonly startMs: number; readonly isLocal: boolean }>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /** @param startMs when its check began; `reason`: why it was refused */
  checked(hash: Uint8Array, startMs: number, isLocal: boolean, reason: string | undefined): void {
    if (!this.#tracer.follows(hash)) return
    const attributes = { 'coind.from_client': isLocal, ...(reason === undefined ? {} : { 'coind.refusal': reason }) }
    this.#tracer.transaction(hash, 'mempool.admit', { startMs, attributes })
    if (reason !== undefined) return
    const key = bytesKey(hash)
    if (this.#admitted.size === MAX_FOLLOWED) this.#admitted.delete(this.#admitted.keys().next().value!)
    if (!this.#admitted.has(key)) this.#admitted.set(key, { startMs, isLocal })
  }

  /** The block is decided: the way of these transactions on this node is over. */
  included(height: number, hashes: readonly Uint8Array[]): void {
    if (this.#admitted.size === 0) return
    for (const hash of hashes) {
      if (!this.#tracer.follows(hash)) continue
      const key = bytesKey(hash)
      const admitted = this.#admitted.get(key)
      if (admitted === undefined) continue
      this.#admitted.delete(key)
      const attributes = { 'coind.from_client': admitted.isLocal, 'coind.height': height }
      this.#tracer.transaction(keyBytes(key), 'transaction', {
        startMs: admitted.startMs,
        isRoot: true,
        attributes,
        block: height,
      })
    }
  }
}
