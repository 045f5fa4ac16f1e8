import { codeDelegation } from '../../src/evm/authorization.ts'
import type { Address } from '../../src/primitives/address.ts'
import { EMPTY_BYTES, hexToBytes } from '../../src/primitives/bytes.ts'
import { edgeWord } from './edgeWords.ts'
import type { FuzzAccount } from './fuzzCase.ts'
import { PROBE_ADDRESS } from './probePrecompile.ts'
import type { Random } from './random.ts'

export const SENDER = hexToBytes('0x1111111111111111111111111111111111111111')
export const COINBASE = hexToBytes('0x4444444444444444444444444444444444444444')
export const TOKEN = hexToBytes('0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee')
/** has a balance and no code */
const HOLDER = hexToBytes('0xe0a0000000000000000000000000000000000001')
/** in the state, but empty in EIP-161's sense */
const EMPTY = hexToBytes('0xe1e1000000000000000000000000000000000002')
const ABSENT = hexToBytes('0xab5e000000000000000000000000000000000003')
/** its balance needs all four limbs; there are never so many coins that a balance could overflow */
const RICHEST = hexToBytes('0xffff000000000000000000000000000000000004')
/** has nonce 2^64 - 2: it can create once */
const LAST_NONCE = hexToBytes('0xc0de0000000000000000000000000000000000ff')

/** Addresses of the contracts whose code a case generates. */
export const CONTRACTS: readonly Address[] = [1, 2, 3, 4].map((number) =>
  hexToBytes(`0xc0de${number.toString(16).padStart(36, '0')}`),
)
const DELEGATORS: readonly Address[] = [1, 2, 3].map((number) =>
  hexToBytes(`0xde1e${number.toString(16).padStart(36, '0')}`),
)
const STANDARD_NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16, 17, 18, 0x100]

/** An account that generated code calls or reads. */
export function anyAddress(random: Random): Address {
  return random.weighted<() => Address>([
    [40, () => random.pick(CONTRACTS)],
    [8, () => random.pick(DELEGATORS)],
    [8, () => standardPrecompile(random)],
    [5, () => TOKEN],
    [5, () => PROBE_ADDRESS],
    [4, () => HOLDER],
    [3, () => EMPTY],
    [4, () => ABSENT],
    [2, () => SENDER],
    [2, () => COINBASE],
    [1, () => RICHEST],
    [1, () => LAST_NONCE],
    [1, () => new Uint8Array(20)],
    [1, () => random.bytes(20)],
  ])()
}

export function standardPrecompile(random: Random): Address {
  const number = random.pick(STANDARD_NUMBERS)
  const address = new Uint8Array(20)
  address[18] = number >> 8
  address[19] = number & 0xff
  return address
}

/** All accounts but the generated contracts. */
export function bystanders(random: Random): FuzzAccount[] {
  const plain = { nonce: 0n, balance: 0n, code: EMPTY_BYTES, storage: [] }
  const stub = Uint8Array.of(0)
  const accounts: FuzzAccount[] = [
    { ...plain, address: SENDER, nonce: random.oneIn(2) ? 0n : 7n, balance: 10n ** 30n },
    { ...plain, address: TOKEN, nonce: 1n, code: stub },
    { ...plain, address: PROBE_ADDRESS, nonce: 1n, code: stub },
    { ...plain, address: HOLDER, balance: 1_000n },
  ]
  if (random.oneIn(2)) accounts.push({ ...plain, address: EMPTY })
  if (random.oneIn(4)) accounts.push({ ...plain, address: COINBASE, balance: 5n })
  if (random.oneIn(4)) accounts.push({ ...plain, address: RICHEST, balance: 2n ** 255n + 1n })
  if (random.oneIn(4)) {
    // creates twice with empty init code and returns both addresses
    const code = hexToBytes('0x5f5f5ff05f525f5f5ff060205260405ff3')
    accounts.push({ ...plain, address: LAST_NONCE, nonce: 2n ** 64n - 2n, code })
  }
  for (const address of DELEGATORS) {
    if (random.oneIn(2)) {
      accounts.push({
        ...plain,
        address,
        nonce: 1n,
        balance: 50n,
        code: codeDelegation(anyAddress(random)),
        locked: 20n,
      })
    }
  }
  return accounts
}

/** An account with generated code; its low storage slots may be set. */
export function contractAccount(address: Address, code: Uint8Array, random: Random): FuzzAccount {
  const storage: [bigint, bigint][] = []
  for (let slot = 0n; slot < 4n; slot++) {
    if (random.oneIn(2)) storage.push([slot, edgeWord(random) || 1n])
  }
  const balance = random.oneIn(3) ? 0n : BigInt(random.below(10_000))
  return { address, nonce: 1n, balance, code, storage, locked: lockedOf(balance) }
}

/** Coins of some accounts are locked: it follows from the balance how many. */
function lockedOf(balance: bigint): bigint {
  return balance % 4n === 1n ? balance / 2n : balance % 8n === 2n ? balance + 3n : 0n
}
