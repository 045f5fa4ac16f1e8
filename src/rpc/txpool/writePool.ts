import { decodeTransaction, type Transaction } from '../../chain/transaction.ts'
import type { PooledTransaction } from '../../mempool/types.ts'
import { type Address, toChecksumAddress } from '../../primitives/address.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { responseTooLarge } from '../errors.ts'

/** Writes the value of one transaction as JSON. */
export type WriteTransaction = (transaction: Transaction, sender: Address) => unknown

export interface PoolWriterOptions {
  readonly write: WriteTransaction
  /** @throws RpcError beyond */
  readonly maxBytes: number
  /** awaited between transactions, so that a long list holds nothing up */
  readonly pause: (() => Promise<void>) | undefined
}

/** Writes parts of one answer, whose size they share. */
export interface PoolWriter {
  /** JSON object of transactions of one sender by decimal nonce. */
  byNonce(transactions: readonly PooledTransaction[]): Promise<string>
  /** JSON object of {@link byNonce} by checksummed sender. */
  bySender(transactions: readonly PooledTransaction[]): Promise<string>
}

/** Quotes, colon and comma around a nonce. */
const PUNCTUATION = 6

export function createPoolWriter({ write, maxBytes, pause }: PoolWriterOptions): PoolWriter {
  let bytes = 0
  const byNonce = async (transactions: readonly PooledTransaction[]): Promise<string> => {
    const entries: string[] = []
    for (const { raw, sender } of transactions) {
      await pause?.()
      const transaction = decodeTransaction(raw)
      const entry = `"${transaction.nonce}":${JSON.stringify(write(transaction, sender))}`
      bytes += entry.length + PUNCTUATION
      if (bytes > maxBytes) throw responseTooLarge()
      entries.push(entry)
    }
    return `{${entries.join(',')}}`
  }
  return {
    byNonce,
    bySender: async (transactions) => {
      const senders = Map.groupBy(transactions, ({ sender }) => bytesKey(sender))
      const entries: string[] = []
      for (const own of senders.values()) {
        entries.push(`"${toChecksumAddress(own[0]!.sender)}":${await byNonce(own)}`)
      }
      return `{${entries.join(',')}}`
    },
  }
}
