import { nativeGasLimit } from '../chain/nativeLane.ts'
import { type SdkError, sdkError } from '../modules/sdkError.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import type { Address } from '../primitives/address.ts'
import type { AdmissionRules, SenderContext } from './admission.ts'
import type { PoolEntry, Prices } from './poolEntry.ts'
import type { AccountState, PoolLimits } from './types.ts'

/**
 * Checks what needs no state. The code for more gas than any block has is that of the SDK's SetUpContextDecorator
 * (x/auth/ante/setup.go).
 */
export function checkNativeTransaction(
  { raw, minimumGas }: Pick<PoolEntry, 'minimumGas'> & Pick<NativeTransaction, 'raw'>,
  { transactionBytes, blockGasLimit }: Pick<AdmissionRules, 'blockGasLimit' | 'transactionBytes'>,
): SdkError | undefined {
  const laneGas = nativeGasLimit(blockGasLimit)
  if (minimumGas > laneGas) {
    return sdkError('invalidGasLimit', `tx uses ${minimumGas} gas, a block has ${laneGas} for native transactions`)
  }
  return checkNativeSize(raw.length, { transactionBytes })
}

/** CometBFT's text (mempool/errors.go). */
export function checkNativeSize(
  length: number,
  { transactionBytes }: Pick<PoolLimits, 'transactionBytes'>,
): SdkError | undefined {
  if (length <= transactionBytes) return undefined
  return sdkError('txTooLarge', `Tx too large. Max size is ${transactionBytes}, but got ${length}`)
}

/** Checks what it offers beyond the base fee, as of an EVM transaction. */
export function checkPriority({ maxPriorityFeePerGas }: Prices, minimumTip: bigint): SdkError | undefined {
  if (maxPriorityFeePerGas >= minimumTip) return undefined
  return sdkError('insufficientFee', `priority price ${maxPriorityFeePerGas}, minimum needed ${minimumTip}`)
}

/** Checks sequence and funds beside what the pool holds of the sender. */
export function checkNativeSender(
  { nonce, cost }: Pick<PoolEntry, 'nonce' | 'cost'>,
  { state, executableCost, replaced }: SenderContext,
): SdkError | undefined {
  if (nonce < state.nonce) return usedSequence(state.nonce, nonce)
  const claimed = executableCost - (replaced?.cost ?? 0n)
  return cost === 0n || state.balance >= claimed + cost ? undefined : poor(state.balance, claimed + cost, claimed)
}

/** What the pool knows of an account that a transaction depends on. */
export interface DependencyContext {
  readonly state: AccountState
  /** the nonce behind its own executable transactions */
  readonly nextNonce: bigint
  /** acoin that other transactions take from it for their senders */
  readonly claimed: bigint
}

/**
 * Checks the further signers and whoever pays for the sender. A sequence may be one that the account's own transactions in the pool
 * lead to, not a later one: nobody would notice when it comes up.
 */
export function checkDependencies(
  { dependencies }: Pick<PoolEntry, 'dependencies'>,
  contextOf: (key: string, address: Address) => DependencyContext,
): SdkError | undefined {
  for (const { key, address, sequence, cost } of dependencies) {
    const { state, nextNonce, claimed } = contextOf(key, address)
    if (sequence !== undefined && sequence < state.nonce) return usedSequence(state.nonce, sequence)
    if (sequence !== undefined && sequence > nextNonce) return usedSequence(nextNonce, sequence)
    if (cost > 0n && state.balance < claimed + cost) return poor(state.balance, claimed + cost, claimed)
  }
  return undefined
}

/** The text in which CosmJS and Keplr look for the expected number (x/auth/ante/sigverify.go). */
function usedSequence(expected: bigint, got: bigint): SdkError {
  return sdkError('wrongSequence', `account sequence mismatch, expected ${expected}, got ${got}`)
}

function poor(balance: bigint, needed: bigint, claimed: bigint): SdkError {
  const others = claimed === 0n ? '' : `, of which ${claimed}acoin for pooled transactions`
  return sdkError('insufficientFunds', `spendable balance ${balance}acoin is smaller than ${needed}acoin${others}`)
}
