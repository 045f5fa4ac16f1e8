import type { Hardfork } from '../chain/hardfork.ts'
import { includesFork } from '../chain/hardfork.ts'
import type { Transaction } from '../chain/transaction.ts'
import { floorDataGas, intrinsicGas, MAX_INIT_CODE_BYTES, MAX_TRANSACTION_GAS } from '../evm/intrinsicGas.ts'
import { type Address, toChecksumAddress } from '../primitives/address.ts'
import { maximumCost, type PoolEntry, type Prices } from './poolEntry.ts'
import type { Refusal } from './refusal.ts'
import type { AccountState } from './types.ts'

/** What the next block and the pool's settings demand of every transaction. */
export interface AdmissionRules {
  readonly chainId: bigint
  readonly fork: Hardfork
  readonly blockGasLimit: bigint
  /** wei per gas: no block's base fee is lower */
  readonly minimumBaseFee: bigint
  /** wei per gas */
  readonly minimumTip: bigint
  readonly transactionBytes: number
}

/** The gas that a transaction uses at least, or why it is refused (geth's words). */
export type TransactionCheck = { readonly minimumGas: bigint } | { readonly reason: string } | Refusal

/** A new fee must exceed the replaced one's by this many percent. */
const PRICE_BUMP = 10n
/** EIP-2681 */
const MAX_NONCE = 2n ** 64n - 1n

/** The first fork that knows a transaction type; blob transactions are never pooled. */
const TYPE_FORKS: Readonly<Record<number, { readonly fork: Hardfork; readonly name: string }>> = {
  1: { fork: 'berlin', name: 'Berlin' },
  2: { fork: 'london', name: 'London' },
  4: { fork: 'prague', name: 'Prague' },
}

/**
 * Checks what needs no state, in the order and words of geth's `ValidateTransaction` (core/txpool/validation.go), with one
 * rule of our own: a fee cap below the lowest possible base fee is refused, since no block could ever take it.
 */
export function checkTransaction(transaction: Transaction, sender: Address, rules: AdmissionRules): TransactionCheck {
  const { type, raw, chainId, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const { fork } = rules
  if (chainId === undefined) return refuse('only replay-protected (EIP-155) transactions allowed over RPC')
  const since = TYPE_FORKS[type]
  if (type !== 0 && since === undefined) {
    return refuse(`transaction type not supported: tx type ${type} not supported by this pool`)
  }
  if (raw.length > rules.transactionBytes) {
    const reason = `oversized data: transaction size ${raw.length}, limit ${rules.transactionBytes}`
    return { reason, error: 'txTooLarge' }
  }
  if (since !== undefined && !includesFork(fork, since.fork)) {
    return refuse(`transaction type not supported: type ${type} rejected, pool not yet in ${since.name}`)
  }
  if (transaction.to === undefined && transaction.data.length > MAX_INIT_CODE_BYTES && includesFork(fork, 'shanghai')) {
    return refuse(`max initcode size exceeded: code size ${transaction.data.length} limit ${MAX_INIT_CODE_BYTES}`)
  }
  if (includesFork(fork, 'osaka') && gasLimit > MAX_TRANSACTION_GAS) {
    return refuse(`transaction gas limit too high (cap: ${MAX_TRANSACTION_GAS}, tx: ${gasLimit})`)
  }
  if (gasLimit > rules.blockGasLimit) return refuse('exceeds block gas limit')
  if (maxFeePerGas < maxPriorityFeePerGas) {
    return refuse('max priority fee per gas higher than max fee per gas')
  }
  if (chainId !== rules.chainId) {
    return refuse(`invalid sender: invalid chain id for signer: have ${chainId} want ${rules.chainId}`)
  }
  if (transaction.nonce >= MAX_NONCE) return refuse('nonce has max value')
  const intrinsic = intrinsicGas(transaction, fork)
  if (gasLimit < intrinsic) return refuse(`intrinsic gas too low: gas ${gasLimit}, minimum needed ${intrinsic}`)
  const floor = floorDataGas(transaction.data, fork)
  if (gasLimit < floor) {
    return refuse(`insufficient gas for floor data gas cost: gas ${gasLimit}, minimum needed ${floor}`)
  }
  if (maxPriorityFeePerGas < rules.minimumTip) {
    return refuse(
      `transaction gas price below minimum: gas tip cap ${maxPriorityFeePerGas}, minimum needed ${rules.minimumTip}`,
    )
  }
  if (maxFeePerGas < rules.minimumBaseFee) {
    return refuse(
      `max fee per gas less than block base fee: address ${toChecksumAddress(sender)}, ` +
        `maxFeePerGas: ${maxFeePerGas}, baseFee: ${rules.minimumBaseFee}`,
    )
  }
  if (type === 4 && transaction.authorizationList.length === 0) {
    return refuse('set code tx must have at least one authorization tuple')
  }
  if (floor > intrinsic) return { minimumGas: floor }
  return { minimumGas: intrinsic }
}

/** What the pool holds of a sender, as far as a new transaction of it is concerned. */
export interface SenderContext {
  readonly state: AccountState
  /** acoin that its executable transactions can cost at most */
  readonly executableCost: bigint
  /** the executable transaction with the same nonce */
  readonly replaced: Pick<PoolEntry, 'cost'> | undefined
}

/** Checks nonce and funds as geth's `ValidateTransactionWithState` does, and EIP-3607. Gives the refusal, if any. */
export function checkSender(transaction: Transaction, sender: Address, context: SenderContext): string | undefined {
  const { nonce, balance, code } = context.state
  if (code === 'contract') return `sender not an eoa: address ${toChecksumAddress(sender)}`
  if (nonce > transaction.nonce) return `nonce too low: next nonce ${nonce}, tx nonce ${transaction.nonce}`
  const cost = maximumCost(transaction)
  if (balance < cost) return `${poor(balance)}, tx cost ${cost}, overshot ${cost - balance}`
  const spent = context.executableCost
  const added = cost - (context.replaced?.cost ?? 0n)
  if (balance >= spent + added) return undefined
  const label = context.replaced === undefined ? 'tx cost' : 'tx bumped'
  return `${poor(balance)}, queued cost ${spent}, ${label} ${added}, overshot ${spent + added - balance}`
}

function poor(balance: bigint): string {
  return `insufficient funds for gas * price + value: balance ${balance}`
}

/** What the pool knows of delegations (EIP-7702) around a new transaction. */
export interface DelegationContext {
  readonly state: AccountState
  /** the nonce behind the sender's executable transactions */
  readonly nextNonce: bigint
  readonly hasExecutable: boolean
  /** the sender has an executable transaction with the same nonce */
  readonly replaces: boolean
  /** a pooled transaction holds an authorization of the sender */
  readonly isAuthority: boolean
  /** of each account that the new transaction holds an authorization of, how many transactions are pooled */
  readonly authorityCounts: Iterable<number>
}

/**
 * An account whose balance other transactions can move may have one transaction in flight: else one transaction could make
 * many others invalid (geth: legacypool `validateAuth`). Gives the refusal, if any.
 */
export function checkDelegation(nonce: bigint, context: DelegationContext): Refusal | undefined {
  if (context.state.code === 'delegation' || context.isAuthority) {
    if (!context.hasExecutable && nonce !== context.nextNonce) {
      return { reason: 'gapped-nonce tx from delegated accounts', error: 'wrongSequence' }
    }
    if (context.hasExecutable && !context.replaces) {
      return { reason: 'in-flight transaction limit reached for delegated accounts', error: 'mempoolIsFull' }
    }
  }
  for (const count of context.authorityCounts) {
    if (count > 1) return { reason: 'authority already reserved', error: 'conflict' }
  }
  return undefined
}

/** Whether `next` may take the place of `old`: both fees are higher, by at least 10 % (geth: legacypool `list.Add`). */
export function outbids(next: Prices, old: Prices): boolean {
  return isBumped(next.maxFeePerGas, old.maxFeePerGas) && isBumped(next.maxPriorityFeePerGas, old.maxPriorityFeePerGas)
}

function isBumped(next: bigint, old: bigint): boolean {
  return next > old && next >= (old * (100n + PRICE_BUMP)) / 100n
}

function refuse(reason: string): { readonly reason: string } {
  return { reason }
}
