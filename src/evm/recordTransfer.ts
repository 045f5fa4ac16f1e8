import type { Address } from '../primitives/address.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { WorldState } from '../state/world.ts'

/** Notes that a frame moved coins, for the bank's events; what an account gives to itself moves nothing. */
export function recordTransfer(
  world: Pick<WorldState, 'recordTransfer'>,
  from: Address,
  to: Address,
  amountAcoin: bigint,
): void {
  if (amountAcoin === 0n || equalBytes(from, to)) return
  world.recordTransfer({ from: new Uint8Array(from), to: new Uint8Array(to), amountAcoin })
}
