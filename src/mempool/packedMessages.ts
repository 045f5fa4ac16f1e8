import type { Address } from '../primitives/address.ts'
import { concatBytes, setWord } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { AccountState, PooledTransaction, PoolHeadUpdate } from './types.ts'

const CODES: readonly AccountState['code'][] = ['none', 'contract', 'delegation']
const WORD_BYTES = 32
const NUMBER_BYTES = 8
const ADDRESS_BYTES = 20
const HASH_BYTES = 32
/** height, gas limit, number of accounts, base fee, the lowest base fee */
const HEAD_BYTES = 3 * NUMBER_BYTES + 2 * WORD_BYTES
/** Added to the number of the code. */
const VESTING = 4
/** address, nonce, balance, code */
const ACCOUNT_BYTES = ADDRESS_BYTES + NUMBER_BYTES + WORD_BYTES + 1

/** An update in one buffer, so that one object is sent to another thread instead of several for each account. */
export function packHeadUpdate(update: PoolHeadUpdate): Uint8Array<ArrayBuffer> {
  const { height, baseFeePerGas, minimumBaseFee, gasLimit, accounts, included } = update
  const out = new Uint8Array(HEAD_BYTES + accounts.length * ACCOUNT_BYTES + included.length * HASH_BYTES)
  const view = new DataView(out.buffer)
  view.setFloat64(0, height)
  view.setBigUint64(NUMBER_BYTES, gasLimit)
  view.setFloat64(2 * NUMBER_BYTES, accounts.length)
  setWord(view, 3 * NUMBER_BYTES, baseFeePerGas)
  setWord(view, 3 * NUMBER_BYTES + WORD_BYTES, minimumBaseFee)
  let at = HEAD_BYTES
  for (const [address, { nonce, balance, code, isVesting }] of accounts) {
    out.set(address, at)
    view.setBigUint64(at + ADDRESS_BYTES, nonce)
    setWord(view, at + ADDRESS_BYTES + NUMBER_BYTES, balance)
    out[at + ACCOUNT_BYTES - 1] = CODES.indexOf(code) + (isVesting === true ? VESTING : 0)
    at += ACCOUNT_BYTES
  }
  for (const hash of included) {
    out.set(hash, at)
    at += HASH_BYTES
  }
  return out
}

/** The update in a buffer of {@link packHeadUpdate}; addresses and hashes are views on it. */
export function unpackHeadUpdate(packed: Uint8Array): PoolHeadUpdate {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const accounts: (readonly [Uint8Array, AccountState])[] = []
  const accountsEnd = HEAD_BYTES + view.getFloat64(2 * NUMBER_BYTES) * ACCOUNT_BYTES
  for (let at = HEAD_BYTES; at < accountsEnd; at += ACCOUNT_BYTES) {
    const last = packed[at + ACCOUNT_BYTES - 1]!
    const state: AccountState = {
      nonce: view.getBigUint64(at + ADDRESS_BYTES),
      balance: getWord(view, at + ADDRESS_BYTES + NUMBER_BYTES),
      code: CODES[last % VESTING]!,
      ...(last >= VESTING && { isVesting: true }),
    }
    accounts.push([packed.subarray(at, at + ADDRESS_BYTES), state])
  }
  const included: Uint8Array[] = []
  for (let at = accountsEnd; at < packed.length; at += HASH_BYTES) included.push(packed.subarray(at, at + HASH_BYTES))
  return {
    height: view.getFloat64(0),
    gasLimit: view.getBigUint64(NUMBER_BYTES),
    baseFeePerGas: getWord(view, 3 * NUMBER_BYTES),
    minimumBaseFee: getWord(view, 3 * NUMBER_BYTES + WORD_BYTES),
    accounts,
    included,
  }
}

function getWord(view: DataView, at: number): bigint {
  let value = 0n
  for (let offset = 0; offset < WORD_BYTES; offset += NUMBER_BYTES) {
    value = (value << 64n) | view.getBigUint64(at + offset)
  }
  return value
}

/** Packs the hashes of many transactions, so that one array is sent to another thread instead of thousands. */
export function packHashes(hashes: readonly Hash[]): Uint8Array {
  return concatBytes(...hashes)
}

/** Returns the hashes that `packHashes` packed. */
export function unpackHashes(packed: Uint8Array): Hash[] {
  return Array.from({ length: packed.length / HASH_BYTES }, (_, index) =>
    packed.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )
}

/** The answer to `packHashes`, in its order: 20 bytes each, zeros where the sender is not known. */
export function packSenders(hashes: Uint8Array, senderOf: (hash: Hash) => Address | undefined): Uint8Array {
  const out = new Uint8Array((hashes.length / HASH_BYTES) * ADDRESS_BYTES)
  for (const [index, hash] of unpackHashes(hashes).entries()) {
    const sender = senderOf(hash)
    if (sender !== undefined) out.set(sender, index * ADDRESS_BYTES)
  }
  return out
}

export function unpackSenders(packed: Uint8Array): (Address | undefined)[] {
  return Array.from({ length: packed.length / ADDRESS_BYTES }, (_, index) => {
    const sender = packed.subarray(index * ADDRESS_BYTES, (index + 1) * ADDRESS_BYTES)
    return sender.some((byte) => byte !== 0) ? sender : undefined
  })
}

/** A transaction on its way to another thread; `raw` and `hash` may be given as `bytesKey`. */
export interface PackedInput {
  readonly raw: Uint8Array | string
  readonly hash: Uint8Array | string
  readonly sender: Uint8Array
}

const LENGTH_BYTES = 4
/** Bytes of a packed transaction besides its encoding. */
export const PACKED_OVERHEAD = LENGTH_BYTES + ADDRESS_BYTES + HASH_BYTES

/**
 * Writes transactions one after the other into one buffer, as (length of the encoding, sender, hash, encoding), so that one object is
 * sent to another thread instead of three for each transaction.
 */
export function packTransactions(transactions: readonly PackedInput[]): Uint8Array<ArrayBuffer> {
  return packInto(Buffer.from(new ArrayBuffer(packedLength(transactions))), transactions)
}

/** The output of {@link packTransactions}, in memory that threads share. */
export function packShared(transactions: readonly PackedInput[]): Uint8Array<SharedArrayBuffer> {
  return packInto(Buffer.from(new SharedArrayBuffer(packedLength(transactions))), transactions)
}

function packedLength(transactions: readonly PackedInput[]): number {
  let size = 0
  for (const { raw } of transactions) size += PACKED_OVERHEAD + raw.length
  return size
}

function packInto<B extends ArrayBufferLike>(out: Buffer<B>, transactions: readonly PackedInput[]): Buffer<B> {
  let at = 0
  for (const { raw, hash, sender } of transactions) {
    out.writeUInt32LE(raw.length, at)
    out.set(sender, at + LENGTH_BYTES)
    put(out, hash, at + LENGTH_BYTES + ADDRESS_BYTES)
    put(out, raw, at + PACKED_OVERHEAD)
    at += PACKED_OVERHEAD + raw.length
  }
  return out
}

/** The transactions in a buffer of {@link packTransactions}, as views on it. */
export function unpackTransactions(packed: Uint8Array): PooledTransaction[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  const transactions: PooledTransaction[] = []
  for (let at = 0; at < packed.length; ) {
    const hash = at + LENGTH_BYTES + ADDRESS_BYTES
    const raw = at + PACKED_OVERHEAD
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
