import type { Address } from '../primitives/address.ts'
import { bigIntToBytes, bytesToBigInt, equalBytes } from '../primitives/bytes.ts'
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

/** No code runs at this address, so no contract reaches its transient storage. */
const BURN_RECORD = new Uint8Array(20).fill(0xff)
const TOTAL = new Uint8Array(32)

/**
 * Records that a self-destruct to itself destroyed `amount` acoin in this transaction (EIP-6780). The record is in transient
 * storage, so that a revert undoes it and the next transaction starts at 0.
 */
export function recordBurn(world: Pick<WorldState, 'getTransient' | 'setTransient'>, amount: bigint): void {
  if (amount > 0n) world.setTransient(BURN_RECORD, TOTAL, bigIntToBytes(recordedBurn(world) + amount, 32))
}

/** What {@link recordBurn} recorded in this transaction, in acoin. */
export function recordedBurn(world: Pick<WorldState, 'getTransient'>): bigint {
  return bytesToBigInt(world.getTransient(BURN_RECORD, TOTAL))
}
