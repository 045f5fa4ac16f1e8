/**
 * Amounts of coins and tokens in the database: bytes that compare as the numbers do, in SQLite (BLOB) and in PostgreSQL (bytea). Neither
 * has integers of 256 bits that both could sort. The first byte is the length of the number, then the number without leading zeros.
 */
const MAX_BYTES = 32

/**
 * @param amount 0 or more, of 256 bits at most
 * @throws RangeError for any other amount
 */
export function amountToBytes(amount: bigint): Uint8Array {
  if (amount < 0n) throw new RangeError(`an amount must not be negative: ${amount}`)
  if (amount === 0n) return new Uint8Array(1)
  const digits = amount.toString(16)
  const length = (digits.length + 1) >> 1
  if (length > MAX_BYTES) throw new RangeError(`an amount must have at most 256 bits, not ${length * 8}`)
  const bytes = new Uint8Array(length + 1)
  bytes[0] = length
  bytes.set(Buffer.from(digits.padStart(length * 2, '0'), 'hex'), 1)
  return bytes
}

/** Reverses {@link amountToBytes}. */
export function bytesToAmount(bytes: Uint8Array): bigint {
  if (bytes.length <= 1) return 0n
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset + 1, bytes.length - 1).toString('hex')}`)
}
