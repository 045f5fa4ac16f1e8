import { bigIntToBytes, bytesToBigInt } from '../primitives/bytes.ts'
import type { WorldState } from '../state/world.ts'

/** No code runs at this address, so no contract reaches its transient storage. */
const BURN_RECORD = new Uint8Array(20).fill(0xff)
const TOTAL = new Uint8Array(32)

/**
 * Notes that a self-destruct to itself destroyed `amount` acoin in this transaction (EIP-6780). Kept in transient storage, so
 * that a revert forgets it and the next transaction starts at 0.
 */
export function recordBurn(world: Pick<WorldState, 'getTransient' | 'setTransient'>, amount: bigint): void {
  if (amount > 0n) world.setTransient(BURN_RECORD, TOTAL, bigIntToBytes(recordedBurn(world) + amount, 32))
}

/** What was noted in this transaction, in acoin. */
export function recordedBurn(world: Pick<WorldState, 'getTransient'>): bigint {
  return bytesToBigInt(world.getTransient(BURN_RECORD, TOTAL))
}
