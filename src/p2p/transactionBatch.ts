import { LIMITS } from './limits.ts'

/** Encoded transactions that travel as one gossip message. */
export interface TransactionBatch {
  /** sent before, and still waiting for a block: nodes that know them pass them on to those that came since */
  readonly isRepeated: boolean
  /** makes a repeated batch another message than the first; uint32 */
  readonly number: number
  readonly transactions: readonly Uint8Array[]
}

/** kind (1) | number (4) */
const HEADER = 5
/** before each transaction: its length, big-endian */
export const BATCH_PREFIX_BYTES = 4
const PREFIX = BATCH_PREFIX_BYTES

export class BatchError extends Error {
  override readonly name = 'BatchError'
}

/** What a batch of these takes. */
export function batchLength(transactions: readonly Uint8Array[]): number {
  return transactions.reduce((sum, { length }) => sum + PREFIX + length, HEADER)
}

export function encodeBatch({ isRepeated, number, transactions }: TransactionBatch): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(batchLength(transactions))
  const view = new DataView(bytes.buffer)
  bytes[0] = isRepeated ? 1 : 0
  view.setUint32(1, number)
  let at = HEADER
  for (const transaction of transactions) {
    view.setUint32(at, transaction.length)
    bytes.set(transaction, at + PREFIX)
    at += PREFIX + transaction.length
  }
  return bytes
}

/**
 * The transactions are views on `bytes`.
 * @throws BatchError
 */
export function decodeBatch(bytes: Uint8Array): TransactionBatch {
  if (bytes.length < HEADER || bytes[0]! > 1) throw new BatchError('not a batch of transactions')
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const transactions: Uint8Array[] = []
  for (let at = HEADER; at < bytes.length; ) {
    if (at + PREFIX > bytes.length) throw new BatchError('a batch of transactions is cut off')
    const end = at + PREFIX + view.getUint32(at)
    if (end === at + PREFIX || end > bytes.length) throw new BatchError('a transaction has a wrong length')
    transactions.push(bytes.subarray(at + PREFIX, end))
    at = end
  }
  const { length } = transactions
  if (length === 0 || length > LIMITS.transactionsPerBatch) throw new BatchError(`a batch of ${length} transactions`)
  return { isRepeated: bytes[0] === 1, number: view.getUint32(1), transactions }
}
