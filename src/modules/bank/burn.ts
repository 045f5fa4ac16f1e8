import type { Address } from '../../primitives/address.ts'
import type { WorldState } from '../../state/world.ts'
import { getSupply, setSupply } from './supply.ts'
import type { TransferResult } from './transfer.ts'

/** Destroys `amount` acoin of the account `from`; the total supply falls by it. */
export function burn(
  world: Pick<WorldState, 'getBalance' | 'subBalance' | 'native'>,
  from: Address,
  amount: bigint,
): TransferResult {
  const balance = world.getBalance(from)
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
