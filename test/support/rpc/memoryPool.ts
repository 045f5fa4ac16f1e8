import { decodeTransaction } from '../../../src/chain/block/transaction.ts'
import type { PooledTransaction, TxPort } from '../../../src/mempool/types.ts'
import { bytesKey, equalBytes } from '../../../src/primitives/bytes.ts'
import type { Hash } from '../../../src/primitives/hash.ts'

/** A pool that takes everything once, in a map. */
export interface MemoryPool extends TxPort {
  /** Takes all transactions out. */
  drain(): PooledTransaction[]
  remove(hash: Hash): void
}

export function createMemoryPool(): MemoryPool {
  const entries = new Map<string, PooledTransaction>()
  const nonceOf = (entry: PooledTransaction): bigint => decodeTransaction(entry.raw).nonce
  const sorted = (): PooledTransaction[] => [...entries.values()].sort((a, b) => Number(nonceOf(a) - nonceOf(b)))
  const bySender = (all: PooledTransaction[]): PooledTransaction[] =>
    [...Map.groupBy(all, ({ sender }) => bytesKey(sender)).values()].flat()
  return {
    async add({ raw, sender }) {
      const { hash } = decodeTransaction(raw)
      if (entries.has(bytesKey(hash))) return { accepted: false, reason: 'already known' }
      entries.set(bytesKey(hash), { raw, hash, sender })
      return { accepted: true, hash }
    },
    get: async (hash) => entries.get(bytesKey(hash)),
    async pendingNonce(sender) {
      const own = sorted().filter((entry) => equalBytes(entry.sender, sender))
      return own.length === 0 ? undefined : nonceOf(own.at(-1)!) + 1n
    },
    status: async () => ({ pending: entries.size, queued: 0 }),
    content: async ({ of }) => ({
      pending: bySender(sorted().filter(({ sender }) => typeof of === 'string' || equalBytes(sender, of))),
      queued: [],
      release: () => undefined,
    }),
    drain() {
      const all = sorted()
      entries.clear()
      return all
    },
    remove: (hash) => void entries.delete(bytesKey(hash)),
  }
}
