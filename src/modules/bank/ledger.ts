import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'
import { BASE_DENOM } from '../coin.ts'
import { moduleStoreKey } from '../storeKey.ts'

/*
 * The one ledger of acoin: functions that move, make and destroy coins, without events. The total
 * supply is always the sum of all balances. Modules use the functions with the SDK's events in
 * send.ts.
 */

const MAX_AMOUNT = (1n << 256n) - 1n

export type TransferResult =
  | { readonly ok: true }
  /** `balance` is the payer's spendable balance, in acoin */
  | { readonly ok: false; readonly reason: 'insufficientFunds'; readonly balance: bigint }
  /** the receiver's balance would not fit 256 bits: only with balances that a call overrides */
  | { readonly ok: false; readonly reason: 'overflow' }

/**
 * Moves `amount` acoin between accounts. Sending nothing, or to oneself, touches no account, so that it creates no empty
 * account.
 */
export function transfer(
  world: Pick<WorldState, 'getBalance' | 'getSpendable' | 'addBalance' | 'subBalance'>,
  from: Address,
  to: Address,
  amount: bigint,
): TransferResult {
  const balance = world.getSpendable(from)
  if (balance < amount) return { ok: false, reason: 'insufficientFunds', balance }
  if (amount > 0n && !equalBytes(from, to)) {
    if (world.getBalance(to) + amount > MAX_AMOUNT) return { ok: false, reason: 'overflow' }
    world.subBalance(from, amount)
    world.addBalance(to, amount)
  }
  return { ok: true }
}

/**
 * Makes `amount` acoin in the account `to`; the total supply grows by it.
 * @throws RangeError (a bug) when the supply would not fit 256 bits
 */
export function mint(world: Pick<WorldState, 'addBalance' | 'native'>, to: Address, amount: bigint): void {
  if (amount === 0n) return
  setSupply(world, getSupply(world) + amount)
  world.addBalance(to, amount)
}

/** Destroys `amount` acoin of the account `from`; the total supply falls by it. */
export function burn(
  world: Pick<WorldState, 'getSpendable' | 'subBalance' | 'native'>,
  from: Address,
  amount: bigint,
): TransferResult {
  const balance = world.getSpendable(from)
  if (balance < amount) return { ok: false, reason: 'insufficientFunds', balance }
  if (amount > 0n) {
    world.subBalance(from, amount)
    recordBurn(world, amount)
  }
  return { ok: true }
}

/**
 * Lowers the total supply by coins that left an account already: those an EVM rule destroyed (EIP-6780: a contract that
 * destroys itself in the transaction that created it, in favour of itself or funded afterwards).
 */
export function recordBurn(world: Pick<WorldState, 'native'>, amount: bigint): void {
  if (amount > 0n) setSupply(world, getSupply(world) - amount)
}

/**
 * Key of the total supply: the SDK's SupplyKey (0x00 | denomination; x/bank/types/keys.go) in the bank module's part of the
 * native store. The value is the amount in decimal digits, as the SDK's `math.Int` encodes it; no entry means 0.
 */
export const SUPPLY_KEY: Uint8Array = moduleStoreKey('bank', Uint8Array.of(0x00), new TextEncoder().encode(BASE_DENOM))

/** Returns the total supply in acoin: the sum of all account balances. */
export function getSupply(world: { readonly native: Pick<WorldState['native'], 'get'> }): bigint {
  const value = world.native.get(SUPPLY_KEY)
  return value === undefined ? 0n : BigInt(new TextDecoder().decode(value))
}

/**
 * @throws RangeError (a bug) when `supply` is negative or does not fit 256 bits
 */
export function setSupply(
  world: { readonly native: Pick<WorldState['native'], 'set' | 'delete'> },
  supply: bigint,
): void {
  if (supply < 0n || supply > MAX_AMOUNT) throw new RangeError(`a supply of ${supply} acoin is out of range`)
  if (supply === 0n) world.native.delete(SUPPLY_KEY)
  else world.native.set(SUPPLY_KEY, new TextEncoder().encode(supply.toString()))
}
