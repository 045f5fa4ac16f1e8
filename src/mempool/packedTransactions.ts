import type { PooledTransaction } from './types.ts'

/** A transaction on its way to another thread; `raw` and `hash` may be given as `bytesKey`. */
export interface PackedInput {
  readonly raw: Uint8Array | string
  readonly hash: Uint8Array | string
  readonly sender: Uint8Array
}

const LENGTH_BYTES = 4
const SENDER_BYTES = 20
const HASH_BYTES = 32
const OVERHEAD_BYTES = LENGTH_BYTES + SENDER_BYTES + HASH_BYTES

/**
 * Puts transactions behind each other in one buffer of their own, as (length of the encoding, sender, hash, encoding): one
 * object crosses to another thread in place of three for each transaction.
 */
export function packTransactions(transactions: readonly PackedInput[]): Uint8Array<ArrayBuffer> {
  let size = 0
  for (const { raw } of transactions) size += OVERHEAD_BYTES + raw.length
  const out = Buffer.from(new ArrayBuffer(size))
  let at = 0
  for (const { raw, hash, sender } of transactions) {
    out.writeUInt32LE(raw.length, at)
    out.set(sender, at + LENGTH_BYTES)
    put(out, hash, at + LENGTH_BYTES + SENDER_BYTES)
    put(out, raw, at + OVERHEAD_BYTES)
    at += OVERHEAD_BYTES + raw.length
  }
  return out
}

/** The transactions in a buffer of {@link packTransactions}, as views on it. */
export function unpackTransactions(packed: Uint8Array): PooledTransaction[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const transactions: PooledTransaction[] = []
  for (let at = 0; at < packed.length; ) {
    const hash = at + LENGTH_BYTES + SENDER_BYTES
    const raw = at + OVERHEAD_BYTES
    const end = raw + view.getUint32(at, true)
    transactions.push({
      raw: packed.subarray(raw, end),
      hash: packed.subarray(hash, raw),
      sender: packed.subarray(at + LENGTH_BYTES, hash),
    })
    at = end
  }
  return transactions
}

function put(out: Buffer, value: Uint8Array | string, at: number): void {
  if (typeof value === 'string') out.write(value, at, 'latin1')
  else out.set(value, at)
}
