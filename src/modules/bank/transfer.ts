import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'

const MAX_BALANCE = (1n << 256n) - 1n

export type TransferResult =
  | { readonly ok: true }
  /** `balance` is what the payer has, in acoin */
  | { readonly ok: false; readonly reason: 'insufficientFunds'; readonly balance: bigint }
  /** the receiver's balance would not fit 256 bits: only with balances that a call overrides */
  | { readonly ok: false; readonly reason: 'overflow' }

/**
 * Moves `amount` acoin between accounts. Sending nothing, or to oneself, touches no account: no empty account
 * comes to be.
 */
export function transfer(
  world: Pick<WorldState, 'getBalance' | 'addBalance' | 'subBalance'>,
  from: Address,
  to: Address,
  amount: bigint,
): TransferResult {
  const balance = world.getBalance(from)
  if (balance < amount) return { ok: false, reason: 'insufficientFunds', balance }
  if (amount > 0n && !equalBytes(from, to)) {
    if (world.getBalance(to) + amount > MAX_BALANCE) return { ok: false, reason: 'overflow' }
    world.subBalance(from, amount)
    world.addBalance(to, amount)
  }
  return { ok: true }
}
