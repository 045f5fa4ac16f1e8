import { recoverEntrySenders } from '../app/entry.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import { unpackSenders } from '../mempool/packedMessages.ts'
import type { Address } from '../primitives/address.ts'
import { type PackedBytes, packBytes, unpackBytes } from './packedBytes.ts'

const ADDRESS_BYTES = 20

/**
 * The view thread's side: who sent each of these encoded transactions of either kind, 20 bytes each, zeros where it is malformed,
 * of another chain, or signed by nobody. Read the answer with `unpackSenders`.
 */
export function recoverPackedSenders(
  packed: PackedBytes,
  chain: Pick<ChainConfig, 'chainId' | 'evmChainId'>,
): Uint8Array {
  const senders = recoverEntrySenders(unpackBytes(packed), chain)
  const out = new Uint8Array(senders.length * ADDRESS_BYTES)
  for (const [index, sender] of senders.entries()) if (sender !== undefined) out.set(sender, index * ADDRESS_BYTES)
  return out
}

/** A thread that recovers senders. */
export interface SenderRecoverer {
  recoverSenders(packed: PackedBytes): Promise<Uint8Array>
}

/** Transactions in one call (about 4 ms): whatever else that thread has to do waits no longer. */
const TRANSACTIONS_PER_CALL = 64

/** Recovers senders in the least busy of some threads; the answer is in the order of the transactions. */
export function createSenderRecovery(
  threads: readonly SenderRecoverer[],
): (transactions: readonly Uint8Array[]) => Promise<(Address | undefined)[]> {
  const loads = threads.map((thread) => ({ thread, running: 0 }))
  if (loads.length === 0) throw new Error('there is no thread to recover senders in')
  const recover = async (transactions: readonly Uint8Array[]): Promise<(Address | undefined)[]> => {
    const chosen = loads.reduce((best, load) => (load.running < best.running ? load : best))
    chosen.running++
    try {
      return unpackSenders(await chosen.thread.recoverSenders(packBytes(transactions)))
    } finally {
      chosen.running--
    }
  }
  return async (transactions) => {
    const chunks: Promise<(Address | undefined)[]>[] = []
    for (let at = 0; at < transactions.length; at += TRANSACTIONS_PER_CALL) {
      chunks.push(recover(transactions.slice(at, at + TRANSACTIONS_PER_CALL)))
    }
    return (await Promise.all(chunks)).flat()
  }
}
