import type { Address } from '../../primitives/address.ts'
import type { ModuleContext } from '../context.ts'
import { getSigningRecord, putSigningRecord } from './signingInfo.ts'

/**
 * When a validator gets its place among the bonded ones, also again: its window begins anew
 * (x/slashing/keeper/hooks.go, AfterValidatorBonded).
 */
export function afterValidatorBonded(
  { world: { native }, block }: ModuleContext,
  consensusAddress: Uint8Array,
  _operator: Address,
): void {
  const known = getSigningRecord(native, consensusAddress) ?? { jailedUntil: 0n, tombstoned: false }
  putSigningRecord(native, consensusAddress, { ...known, startHeight: BigInt(block.height) })
}
