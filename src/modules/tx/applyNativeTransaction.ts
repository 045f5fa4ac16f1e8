import type { NativeResult } from '../../chain/entries.ts'
import type { TransactionWorld } from '../../evm/transition.ts'
import { toBech32 } from '../../primitives/address.ts'
import { AUTH_PARAMS } from '../auth/params.ts'
import { storePublicKey } from '../auth/publicKeys.ts'
import { event, type NativeBlock } from '../context.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { chargeFee } from './chargeFee.ts'
import { chargedFee, findNativeInvalidity } from './checkNativeState.ts'
import { baseGas, laneGas } from './gas.ts'
import type { NativeTransaction } from './nativeTransaction.ts'
import { runMessages } from './runMessages.ts'

/** What a native transaction runs in. */
export interface NativeTransition {
  readonly transaction: NativeTransaction
  readonly world: TransactionWorld
  readonly block: NativeBlock
  /** acoin */
  readonly baseFeePerGas: bigint
  /** gas that is left for native transactions in the block; undefined: any */
  readonly gasAvailable?: bigint
}

/** How it fared. */
export type NativeOutcome =
  /** it could not start: no effect */
  { readonly kind: 'skipped'; readonly error: SdkError } | { readonly kind: 'native'; readonly result: NativeResult }

/** Why a transaction is skipped that may run in another block. */
export const LANE_FULL: SdkError = sdkError('outOfGas', 'no block gas left to run tx')

/**
 * Applies a native transaction in the order of the SDK's ante handlers and message loop: checks, fee, public keys, sequences,
 * messages. One whose messages fail has paid, and its sequences are used; nothing else of it stays.
 */
export function applyNativeTransaction(input: NativeTransition): NativeOutcome {
  const { transaction, world, gasAvailable } = input
  const params = AUTH_PARAMS.get(world.native)
  if (gasAvailable !== undefined && laneGas(transaction, params) > gasAvailable) {
    return { kind: 'skipped', error: LANE_FULL }
  }
  const reason = findNativeInvalidity(input)
  if (reason !== undefined) return { kind: 'skipped', error: reason }
  return runTransaction(input, baseGas(transaction, params))
}

/**
 * The part after the checks. The world has the effects afterwards, none where the fee cannot be taken.
 * @param gasBefore used before the first message
 */
export function runTransaction(
  { transaction, world, block, baseFeePerGas }: NativeTransition,
  gasBefore: bigint,
): NativeOutcome {
  const context = { world, block }
  world.beginTransaction()
  world.checkpoint()
  const unpaid = chargeFee(context, transaction, chargedFee(transaction, baseFeePerGas))
  if (unpaid !== undefined) {
    world.revert()
    world.endTransaction({ clearEmpty: true })
    return { kind: 'skipped', error: unpaid }
  }
  world.commit()
  useSequences(world, transaction)
  const feeEvents = [...world.events()]

  world.checkpoint()
  const outcome = runMessages(context, transaction, gasBefore)
  if (outcome.kind === 'succeeded') world.commit()
  else world.revert()
  world.endTransaction({ clearEmpty: true })

  const gas = { gasWanted: transaction.gasLimit, gasUsed: outcome.gasUsed }
  if (outcome.kind === 'failed') {
    const { code, codespace, message } = outcome.error
    const result = { code, codespace, log: message, data: new Uint8Array(0), ...gas, events: feeEvents }
    return { kind: 'native', result }
  }
  const { data, events } = outcome
  return {
    kind: 'native',
    result: { code: 0, codespace: '', log: '', data, ...gas, events: [...feeEvents, ...events] },
  }
}

/** Keeps the signers' public keys and counts their sequences up (x/auth/ante/sigverify.go). */
function useSequences(world: TransactionWorld, { signers }: NativeTransaction): void {
  for (const { address, sequence, publicKey, signatures } of signers) {
    if (publicKey !== undefined) storePublicKey(world.native, address, publicKey)
    world.setNonce(address, world.getNonce(address) + 1n)
    world.emitEvent(event('tx', { acc_seq: `${toBech32(address)}/${sequence}` }))
    for (const signature of signatures) {
      world.emitEvent(event('tx', { signature: Buffer.from(signature).toString('base64') }))
    }
  }
}
