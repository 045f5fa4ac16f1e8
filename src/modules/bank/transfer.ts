import type { Address } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { WorldState } from '../../state/world.ts'

/** `balance` is what the payer has, in acoin. */
export type TransferResult = { readonly ok: true } | { readonly ok: false; readonly balance: bigint }

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
  if (balance < amount) return { ok: false, balance }
  if (amount > 0n && !equalBytes(from, to)) {
    world.subBalance(from, amount)
    world.addBalance(to, amount)
  }
  return { ok: true }
}
