import type { AccountState, PoolHeadUpdate } from './types.ts'

const CODES: readonly AccountState['code'][] = ['none', 'contract', 'delegation']
const WORD_BYTES = 32
const NUMBER_BYTES = 8
const ADDRESS_BYTES = 20
const HASH_BYTES = 32
/** height, gas limit, number of accounts, base fee, the lowest base fee */
const HEAD_BYTES = 3 * NUMBER_BYTES + 2 * WORD_BYTES
/** address, nonce, balance, code */
const ACCOUNT_BYTES = ADDRESS_BYTES + NUMBER_BYTES + WORD_BYTES + 1

/** An update in one buffer of its own: one object crosses to another thread in place of several for each account. */
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
  for (const [address, { nonce, balance, code }] of accounts) {
    out.set(address, at)
    view.setBigUint64(at + ADDRESS_BYTES, nonce)
    setWord(view, at + ADDRESS_BYTES + NUMBER_BYTES, balance)
    out[at + ACCOUNT_BYTES - 1] = CODES.indexOf(code)
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
    const state: AccountState = {
      nonce: view.getBigUint64(at + ADDRESS_BYTES),
      balance: getWord(view, at + ADDRESS_BYTES + NUMBER_BYTES),
      code: CODES[packed[at + ACCOUNT_BYTES - 1]!]!,
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

/** Writes an integer of 256 bits. */
function setWord(view: DataView, at: number, value: bigint): void {
  let rest = value
  for (let end = at + WORD_BYTES; end > at; end -= NUMBER_BYTES) {
    view.setBigUint64(end - NUMBER_BYTES, rest)
    rest >>= 64n
  }
}

function getWord(view: DataView, at: number): bigint {
  let value = 0n
  for (let offset = 0; offset < WORD_BYTES; offset += NUMBER_BYTES) {
    value = (value << 64n) | view.getBigUint64(at + offset)
  }
  return value
}
