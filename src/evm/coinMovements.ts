import type { Burn } from '../chain/block/entries.ts'
import type { Address } from '../primitives/address.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { WorldState } from '../state/world.ts'

/**
 * Records that a frame moved coins: the bank's events are made from it. A transfer of nothing, or of an account to itself, is not
 * recorded.
 */
export function recordTransfer(
  world: Pick<WorldState, 'recordTransfer'>,
  from: Address,
  to: Address,
  amountAcoin: bigint,
): void {
  if (amountAcoin === 0n || equalBytes(from, to)) return
  world.recordTransfer({ from: new Uint8Array(from), to: new Uint8Array(to), amountAcoin })
}

/** Records that a self-destruct to itself destroyed coins of `account` (EIP-6780). Nothing is not recorded. */
export function recordBurn(world: Pick<WorldState, 'recordBurn'>, account: Address, amountAcoin: bigint): void {
  if (amountAcoin > 0n) world.recordBurn({ account: new Uint8Array(account), amountAcoin })
}

/** Returns the sum of burns, in acoin. */
export function totalBurnt(burns: readonly Burn[]): bigint {
  return burns.reduce((sum, { amountAcoin }) => sum + amountAcoin, 0n)
}
