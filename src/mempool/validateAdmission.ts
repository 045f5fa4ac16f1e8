import { isNativeEntry } from '../chain/block/entries.ts'
import type { Transaction } from '../chain/block/transaction.ts'
import { UNPROTECTED } from '../chain/block/transactionSender.ts'
import { type ChainConfig, forkAt, nativeGasLimit } from '../chain/genesis/chainConfig.ts'
import { type Hardfork, includesFork } from '../chain/genesis/hardfork.ts'
import type { Authority } from '../evm/authorization.ts'
import { floorDataGas, intrinsicGas, MAX_INIT_CODE_BYTES, MAX_TRANSACTION_GAS } from '../evm/intrinsicGas.ts'
import { type SDK_ERRORS, type SdkError, sdkError } from '../modules/sdkError.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import { type Address, toBech32, toChecksumAddress } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { DependencyIndex } from './dependencyIndex.ts'
import { type Arrival, evmEntry, maximumCost, nativeEntry, type PoolEntry, type Prices } from './poolEntry.ts'
import { outbids } from './priceRules.ts'
import { SenderQueue } from './senderQueue.ts'
import type { AccountReader, AccountState, Admission, PoolHeadUpdate, PoolLimits } from './types.ts'

/** The newest block: transactions are checked for the block after it. */
export type PoolHead = Pick<PoolHeadUpdate, 'height' | 'baseFeePerGas' | 'minimumBaseFee' | 'gasLimit'>

/** The functions by which the pool reads the chain. */
export interface PoolSources {
  readonly chain: Pick<ChainConfig, 'evmChainId' | 'forks' | 'allowsUnprotected'>
  /** reads the state of the pool's head, or of a later one */
  readonly readAccount: AccountReader
  /**
   * The signers of a transaction's EIP-7702 authorizations, which another thread recovers; undefined: it has not yet. Called for type 4
   * only, after the cheaper checks.
   */
  readonly authoritiesOf: (transaction: Transaction) => readonly Authority[] | undefined
  /**
   * Why a native transaction cannot start in the block after `head`; undefined when it can. Its signers' sequences may be later than
   * their next ones. Called after the cheaper checks.
   */
  readonly checkNativeState: (transaction: NativeTransaction, head: PoolHead) => SdkError | undefined
  /** gas of the block's native lane that it uses, by the parameters of the head's state */
  readonly nativeGas: (transaction: NativeTransaction) => bigint
}

/** The parts of the pool that the checks read. */
export interface PoolContents {
  readonly limits: PoolLimits
  readonly head: PoolHead
  has(hashKey: string): boolean
  /** queues with transactions, by `bytesKey` of the sender */
  readonly queues: ReadonlyMap<string, SenderQueue>
  /** by account: how many transactions hold one of its EIP-7702 authorizations */
  readonly authorities: ReadonlyMap<string, number>
  /** how many authorizations that are */
  readonly authorizationCount: number
  readonly dependencyIndex: Pick<DependencyIndex, 'countOf'>
  /** whether the account could not pay for transactions in the pool, and has not paid for one since */
  hasDefaulted(account: Pick<SenderQueue, 'key' | 'state'>): boolean
}

/** A transaction that may be added, and its sender's queue; an empty queue is new and not in the pool yet. */
export interface ValidAdmission {
  readonly queue: SenderQueue
  readonly entry: PoolEntry
  /** it may be added once the signers of its authorizations are known; the entry is without them */
  readonly needsAuthorities?: true
}

/** Why a transaction of either kind is refused: geth's text, and the closest error of the SDK. */
export interface AdmissionRefusal {
  readonly reason: string
  readonly error: keyof typeof SDK_ERRORS
}

const ALREADY_KNOWN: AdmissionRefusal = { reason: 'already known', error: 'txInMempoolCache' }

/** The refusal of a transaction that the pool has, or that another thread prepares for it. */
export function refuseKnown(raw: Uint8Array): Admission {
  return isNativeEntry(raw) ? refuseNative(ALREADY_KNOWN) : refuseEvm(ALREADY_KNOWN)
}

const UNDERPRICED: AdmissionRefusal = { reason: 'replacement transaction underpriced', error: 'insufficientFee' }

/**
 * Checks whether an EVM transaction may be added if there is room. Changes nothing. Cheap checks come before expensive ones, so that a
 * flood of bad transactions costs little:
 * 1. Is it in the pool already?
 * 2. {@link checkTransaction}: rules that need no state.
 * 3. {@link checkNonceAndFunds}: nonce and funds, for which the sender's account is read.
 * 4. The pool's content: delegations, the transaction with the same nonce, the sender's limit.
 * 5. The signers of its EIP-7702 authorizations, which need one signature recovery each: where they are not known, the caller has
 *    another thread recover them, and offers the transaction again.
 */
export function admitEvm(
  contents: PoolContents,
  sources: PoolSources,
  transaction: Transaction,
  sender: Address,
  arrival: Arrival,
): ValidAdmission | Admission {
  if (contents.has(bytesKey(transaction.hash))) return refuseEvm(ALREADY_KNOWN)
  const { limits, head } = contents
  const { chain } = sources
  const check = checkTransaction(transaction, sender, {
    chainId: chain.evmChainId,
    takesUnprotected: chain.allowsUnprotected && limits.acceptsUnprotected,
    fork: forkAt(chain, head.height + 1),
    blockGasLimit: head.gasLimit,
    minimumBaseFee: head.minimumBaseFee,
    minimumTip: limits.minimumTip,
    transactionBytes: limits.transactionBytes,
  })
  if ('error' in check) return refuseEvm(check)
  if ('reason' in check) return { accepted: false, reason: check.reason }
  const queue = queueOf(contents, sources, sender)
  const { nonce } = transaction
  const { state, executableCost } = queue
  const refused = checkNonceAndFunds(transaction, sender, {
    state,
    executableCost,
    replaced: queue.getExecutable(nonce),
  })
  if (refused !== undefined) return { accepted: false, reason: refused }
  const refusal =
    checkDelegated(contents, queue, nonce, []) ??
    checkQueue(limits.perSender, queue, { nonce, dependencies: NO_DEPENDENCIES, ...pricesOf(transaction) }) ??
    checkAuthorizations(contents, queue, transaction)
  if (refusal !== undefined) return refuseEvm(refusal)
  const authorities = transaction.type === 4 ? sources.authoritiesOf(transaction) : []
  const signers = (authorities ?? []).filter((authority) => canApply(authority, sources)).map(({ address }) => address)
  const details = { sender: queue.address, minimumGas: check.minimumGas, authorities: signers }
  const entry = evmEntry(transaction, details, arrival)
  if (authorities === undefined) return { queue, entry, needsAuthorities: true }
  const reserved = checkDelegated(contents, queue, nonce, signers)
  return reserved === undefined ? { queue, entry } : refuseEvm(reserved)
}

const NO_DEPENDENCIES: readonly never[] = []

/**
 * Returns whether an authorization may still have an effect. A used one is not counted: otherwise others could send it again, and its
 * signer could have one transaction in the pool only.
 */
function canApply({ address, nonce }: Authority, { readAccount }: PoolSources): boolean {
  return readAccount(address).nonce <= nonce
}

function pricesOf({ maxFeePerGas, maxPriorityFeePerGas }: Transaction): Prices {
  return { maxFeePerGas, maxPriorityFeePerGas }
}

/**
 * The limits of authorizations. One that waits for an earlier nonce is refused: its signatures would be recovered for nothing if that
 * never came.
 */
function checkAuthorizations(
  { limits, authorizationCount }: PoolContents,
  queue: SenderQueue,
  { nonce, authorizationList: { length } }: Transaction,
): AdmissionRefusal | undefined {
  if (length === 0) return undefined
  if (length > limits.authorizations) {
    return { reason: `too many authorizations: ${length}, limit ${limits.authorizations}`, error: 'txTooLarge' }
  }
  if (nonce > queue.nextNonce) return { reason: 'gapped-nonce tx with authorizations', error: 'wrongSequence' }
  if (authorizationCount + length > limits.authorities) return { reason: 'txpool is full', error: 'mempoolIsFull' }
  return undefined
}

/** The same for a native transaction. The check against the state runs its authentication and is the most expensive one. */
export function admitNative(
  contents: PoolContents,
  sources: PoolSources,
  transaction: NativeTransaction,
  arrival: Arrival,
): ValidAdmission | Admission {
  if (contents.has(bytesKey(transaction.hash))) return refuseNative(ALREADY_KNOWN)
  const { limits, head } = contents
  const { transactionBytes, minimumTip } = limits
  const minimumGas = sources.nativeGas(transaction)
  const { raw } = transaction
  const error =
    checkNativeTransaction({ raw, minimumGas }, { blockGasLimit: head.gasLimit, transactionBytes }) ??
    sources.checkNativeState(transaction, head)
  if (error !== undefined) return refuseWith(error)
  const { sender, sequence } = transaction
  const queue = queueOf(contents, sources, sender)
  const entry = nativeEntry(transaction, { sender: queue.address, minimumGas }, arrival)
  const { state, executableCost } = queue
  const old = queue.get(sequence)
  const refused =
    checkPriority(entry, minimumTip) ??
    checkNativeSender(entry, { state, executableCost, replaced: queue.getExecutable(sequence) }) ??
    checkDependencies(entry, queue, (key, address) =>
      dependencyContext(contents, sources, { key, address, replaced: old }),
    )
  if (refused !== undefined) return refuseWith(refused)
  const refusal = checkDelegated(contents, queue, sequence, []) ?? checkQueue(limits.perSender, queue, entry)
  return refusal === undefined ? { queue, entry } : refuseNative(refusal)
}

/** Requirements of the next block and of the pool's settings for every transaction. */
interface AdmissionRules {
  readonly chainId: bigint
  /** transactions without a chain ID */
  readonly takesUnprotected: boolean
  readonly fork: Hardfork
  readonly blockGasLimit: bigint
  /** wei per gas: no block's base fee is lower */
  readonly minimumBaseFee: bigint
  /** wei per gas */
  readonly minimumTip: bigint
  readonly transactionBytes: number
}

/** The gas that a transaction uses at least, or why it is refused (geth's text). */
type TransactionCheck = { readonly minimumGas: bigint } | { readonly reason: string } | AdmissionRefusal

/** EIP-2681 */
const MAX_NONCE = 2n ** 64n - 1n

/** The first fork that knows a transaction type; blob transactions are never pooled. */
const TYPE_FORKS: Readonly<Record<number, { readonly fork: Hardfork; readonly name: string }>> = {
  1: { fork: 'berlin', name: 'Berlin' },
  2: { fork: 'london', name: 'London' },
  4: { fork: 'prague', name: 'Prague' },
}

/**
 * Checks the rules that need no state, in the order and with the texts of geth's `ValidateTransaction` (core/txpool/validation.go).
 * One rule is our own: a fee cap below the lowest possible base fee is refused, because no block could ever include the transaction.
 */
function checkTransaction(transaction: Transaction, sender: Address, rules: AdmissionRules): TransactionCheck {
  const { type, raw, chainId, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const { fork } = rules
  if (chainId === undefined && !rules.takesUnprotected) return refuse(UNPROTECTED)
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
  if (chainId !== undefined && chainId !== rules.chainId) {
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

/** The sender of a new transaction, as {@link checkNonceAndFunds} reads it. */
interface SenderContext {
  readonly state: AccountState
  /** acoin that its executable transactions can cost at most */
  readonly executableCost: bigint
  /** the executable transaction with the same nonce */
  readonly replaced: Pick<PoolEntry, 'cost'> | undefined
}

/** Checks nonce and funds as geth's `ValidateTransactionWithState` does, and EIP-3607. Returns the refusal, if any. */
function checkNonceAndFunds(transaction: Transaction, sender: Address, context: SenderContext): string | undefined {
  const { nonce, balance, code } = context.state
  if (code === 'contract') return `sender not an eoa: address ${toChecksumAddress(sender)}`
  if (nonce > transaction.nonce) return `nonce too low: next nonce ${nonce}, tx nonce ${transaction.nonce}`
  const cost = maximumCost(transaction)
  if (balance < cost) return `${insufficientFunds(balance)}, tx cost ${cost}, overshot ${cost - balance}`
  const spent = context.executableCost
  const added = cost - (context.replaced?.cost ?? 0n)
  if (balance >= spent + added) return undefined
  const label = context.replaced === undefined ? 'tx cost' : 'tx bumped'
  return `${insufficientFunds(balance)}, queued cost ${spent}, ${label} ${added}, overshot ${spent + added - balance}`
}

function insufficientFunds(balance: bigint): string {
  return `insufficient funds for gas * price + value: balance ${balance}`
}

function refuse(reason: string): { readonly reason: string } {
  return { reason }
}

/**
 * Checks the rules that need no state. A gas limit above a block's has the code of the SDK's SetUpContextDecorator
 * (x/auth/ante/setup.go).
 */
function checkNativeTransaction(
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

/** Checks the tip that it offers beyond the base fee, as for an EVM transaction. */
function checkPriority({ maxPriorityFeePerGas }: Prices, minimumTip: bigint): SdkError | undefined {
  if (maxPriorityFeePerGas >= minimumTip) return undefined
  return sdkError('insufficientFee', `priority price ${maxPriorityFeePerGas}, minimum needed ${minimumTip}`)
}

/** Checks sequence and funds, together with the sender's other transactions in the pool. */
function checkNativeSender(
  { nonce, cost }: Pick<PoolEntry, 'nonce' | 'cost'>,
  { state, executableCost, replaced }: SenderContext,
): SdkError | undefined {
  if (nonce < state.nonce) return sequenceMismatch(state.nonce, nonce)
  const claimed = executableCost - (replaced?.cost ?? 0n)
  return cost === 0n || state.balance >= claimed + cost
    ? undefined
    : insufficientCoins(state.balance, claimed + cost, claimed)
}

/** An account that a transaction depends on, as the pool knows it. */
interface DependencyContext {
  readonly state: AccountState
  /** it has executable transactions of its own */
  readonly hasOwn: boolean
  /** other senders' transactions in the pool that depend on it */
  readonly dependents: number
}

/**
 * Checks the further signers and the account that pays for the sender: the transaction must be able to start now. One transaction in
 * the pool may depend on an account: a single transaction of that account, or one that takes its coins, could make many dependent ones
 * invalid, and they would pay no fee.
 */
function checkDependencies(
  { nonce, dependencies }: Pick<PoolEntry, 'nonce' | 'dependencies'>,
  queue: SenderQueue,
  contextOf: (key: string, address: Address) => DependencyContext,
): SdkError | undefined {
  if (dependencies.length > 0 && nonce > queue.nextNonce) return sequenceMismatch(queue.nextNonce, nonce)
  for (const { key, address, sequence, cost } of dependencies) {
    const { state, hasOwn, dependents } = contextOf(key, address)
    if (sequence !== undefined && sequence !== state.nonce) return sequenceMismatch(state.nonce, sequence)
    if (sequence !== undefined && hasOwn) {
      return sdkError(
        'mempoolIsFull',
        `the signer ${toBech32(address)} has transactions of its own that wait for a block`,
      )
    }
    if (dependents > 0) {
      return sdkError(
        'mempoolIsFull',
        `another transaction that ${toBech32(address)} signs or pays for waits for a block`,
      )
    }
    if (cost > 0n && state.balance < cost) return insufficientCoins(state.balance, cost, 0n)
  }
  return undefined
}

function dependencyContext(
  { queues, dependencyIndex }: PoolContents,
  { readAccount }: PoolSources,
  account: { readonly key: string; readonly address: Address; readonly replaced: PoolEntry | undefined },
): DependencyContext {
  const { key, address, replaced } = account
  const queue = queues.get(key)
  const isReplaced = replaced?.dependencies.some((dependency) => dependency.key === key) === true
  return {
    state: queue?.state ?? readAccount(address),
    hasOwn: queue !== undefined && queue.executable > 0,
    dependents: dependencyIndex.countOf(key) - (isReplaced ? 1 : 0),
  }
}

/** The text in which CosmJS and Keplr look for the expected number (x/auth/ante/sigverify.go). */
function sequenceMismatch(expected: bigint, got: bigint): SdkError {
  return sdkError('wrongSequence', `account sequence mismatch, expected ${expected}, got ${got}`)
}

function insufficientCoins(balance: bigint, needed: bigint, claimed: bigint): SdkError {
  const others = claimed === 0n ? '' : `, of which ${claimed}acoin for pooled transactions`
  return sdkError('insufficientFunds', `spendable balance ${balance}acoin is smaller than ${needed}acoin${others}`)
}

function queueOf({ queues }: PoolContents, { readAccount }: PoolSources, sender: Address): SenderQueue {
  const key = bytesKey(sender)
  return queues.get(key) ?? new SenderQueue(key, new Uint8Array(sender), readAccount(sender))
}

/**
 * Checks that the new transaction outbids the one with its nonce, or that the sender may have one more. A transaction that depends on
 * other accounts is its sender's last one in the pool: those behind it would wait for hours if it could not start.
 */
function checkQueue(
  perSender: number,
  queue: SenderQueue,
  { nonce, dependencies, ...prices }: Prices & Pick<PoolEntry, 'nonce' | 'dependencies'>,
): AdmissionRefusal | undefined {
  const { last } = queue
  if (last !== undefined && (dependencies.length > 0 ? last.nonce > nonce : isBehindDependent(last, nonce))) {
    const reason = 'in-flight transaction limit reached for transactions that others sign or pay for'
    return { reason, error: 'mempoolIsFull' }
  }
  const old = queue.get(nonce)
  if (old !== undefined) return outbids(prices, old) ? undefined : UNDERPRICED
  const { length } = queue.entries
  if (length < perSender || last!.nonce > nonce) return undefined
  return { reason: `account limit exceeded: pooled ${length} txs`, error: 'mempoolIsFull' }
}

function isBehindDependent(last: PoolEntry, nonce: bigint): boolean {
  return last.dependencies.length > 0 && nonce > last.nonce
}

function checkDelegated(
  contents: PoolContents,
  queue: SenderQueue,
  nonce: bigint,
  newAuthorities: readonly Address[],
): AdmissionRefusal | undefined {
  const { queues, authorities } = contents
  return checkDelegation(nonce, {
    state: queue.state,
    hasDefaulted: contents.hasDefaulted(queue),
    nextNonce: queue.nextNonce,
    hasExecutable: queue.executable > 0,
    replaces: queue.getExecutable(nonce) !== undefined,
    isAuthority: authorities.has(queue.key),
    authorityCounts: newAuthorities.map((authority) => queues.get(bytesKey(authority))?.entries.length ?? 0),
  })
}

/** The pool's knowledge of the delegations (EIP-7702) that concern a new transaction. */
interface DelegationContext {
  readonly state: AccountState
  /** see `PoolContents` */
  readonly hasDefaulted: boolean
  /** the nonce after the sender's executable transactions */
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
 * An account whose balance other transactions can spend may have only one transaction in the pool: otherwise one transaction could
 * make many others invalid (geth: legacypool `validateAuth`). So may one that did not pay for transactions before. Returns the refusal,
 * if any.
 */
function checkDelegation(nonce: bigint, context: DelegationContext): AdmissionRefusal | undefined {
  const isDelegated = context.state.code === 'delegation' || context.isAuthority
  if (isDelegated || context.hasDefaulted) {
    const accounts = isDelegated ? 'delegated accounts' : 'accounts that could not pay'
    if (!context.hasExecutable && nonce !== context.nextNonce) {
      return { reason: `gapped-nonce tx from ${accounts}`, error: 'wrongSequence' }
    }
    if (context.hasExecutable && !context.replaces) {
      return { reason: `in-flight transaction limit reached for ${accounts}`, error: 'mempoolIsFull' }
    }
  }
  for (const count of context.authorityCounts) {
    if (count > 1) return { reason: 'authority already reserved', error: 'conflict' }
  }
  return undefined
}

/** Turns the refusal by a rule for both kinds into that of an EVM transaction. */
export function refuseEvm({ reason, error }: AdmissionRefusal): Admission {
  const { codespace, code } = sdkError(error)
  return { accepted: false, reason, error: { codespace, code } }
}

/** Turns the refusal by a rule for both kinds into that of a native transaction. */
export function refuseNative({ reason, error }: AdmissionRefusal): Admission {
  return refuseWith(sdkError(error, reason))
}

function refuseWith({ message, codespace, code }: SdkError): Admission {
  return { accepted: false, reason: message, error: { codespace, code } }
}
