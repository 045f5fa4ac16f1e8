import { type ChainConfig, forkAt } from '../chain/chainConfig.ts'
import type { Transaction } from '../chain/transaction.ts'
import type { SdkError } from '../modules/sdkError.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { checkDelegation, checkSender, checkTransaction, outbids } from './admission.ts'
import type { DependencyIndex } from './dependencyIndex.ts'
import {
  checkDependencies,
  checkNativeSender,
  checkNativeTransaction,
  checkPriority,
  type DependencyContext,
} from './nativeAdmission.ts'
import { type Arrival, evmEntry, nativeEntry, type PoolEntry, type Prices } from './poolEntry.ts'
import { type Refusal, refuseEvm, refuseNative, refuseWith } from './refusal.ts'
import { SenderQueue } from './senderQueue.ts'
import type { AccountReader, Admission, PoolHeadUpdate, PoolLimits } from './types.ts'

/** The block before the one that transactions wait for. */
export type PoolHead = Pick<PoolHeadUpdate, 'height' | 'baseFeePerGas' | 'minimumBaseFee' | 'gasLimit'>

/** What a pool is told about the chain. */
export interface PoolSources {
  readonly chain: Pick<ChainConfig, 'evmChainId' | 'forks'>
  /** reads the state of the head that was last given, or of a later one */
  readonly readAccount: AccountReader
  /** recovers who signed a transaction's EIP-7702 authorizations; called for type 4 only, after the cheaper checks */
  readonly authoritiesOf: (transaction: Transaction) => readonly Address[]
  /**
   * What the state says against a native transaction in the block after `head`, except that its signers' sequences may be later
   * than their next ones; called after the cheaper checks.
   */
  readonly checkNativeState: (transaction: NativeTransaction, head: PoolHead) => SdkError | undefined
  /** gas of the block's native lane that it takes by the parameters of the head's state */
  readonly nativeGas: (transaction: NativeTransaction) => bigint
}

/** What a pool holds, as far as a new transaction is concerned. */
export interface PoolContents {
  readonly limits: PoolLimits
  readonly head: PoolHead
  has(hashKey: string): boolean
  /** queues with transactions, by `bytesKey` of the sender */
  readonly queues: ReadonlyMap<string, SenderQueue>
  /** by account: how many transactions hold an EIP-7702 authorization of it */
  readonly authorities: ReadonlyMap<string, number>
  readonly dependencyIndex: Pick<DependencyIndex, 'costOf'>
}

/** A new transaction and the queue in which it has a place; the queue is not among the pool's while it is empty. */
export interface Place {
  readonly queue: SenderQueue
  readonly entry: PoolEntry
}

const ALREADY_KNOWN: Refusal = { reason: 'already known', error: 'txInMempoolCache' }
const UNDERPRICED: Refusal = { reason: 'replacement transaction underpriced', error: 'insufficientFee' }

/** The place that an EVM transaction could have if there is room, or its refusal. Changes nothing. */
export function admitEvm(
  contents: PoolContents,
  sources: PoolSources,
  transaction: Transaction,
  sender: Address,
  arrival: Arrival,
): Place | Admission {
  if (contents.has(bytesKey(transaction.hash))) return refuseEvm(ALREADY_KNOWN)
  const { limits, head } = contents
  const { chain } = sources
  const check = checkTransaction(transaction, sender, {
    chainId: chain.evmChainId,
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
  const poor = checkSender(transaction, sender, { state, executableCost, replaced: queue.getExecutable(nonce) })
  if (poor !== undefined) return { accepted: false, reason: poor }
  const authorities = transaction.type === 4 ? sources.authoritiesOf(transaction) : []
  const refusal =
    checkDelegated(contents, queue, nonce, authorities) ?? checkQueue(limits.perSender, queue, nonce, transaction)
  if (refusal !== undefined) return refuseEvm(refusal)
  const details = { sender: queue.address, minimumGas: check.minimumGas, authorities }
  return { queue, entry: evmEntry(transaction, details, arrival) }
}

/** The place that a native transaction could have if there is room, or its refusal. Changes nothing. */
export function admitNative(
  contents: PoolContents,
  sources: PoolSources,
  transaction: NativeTransaction,
  arrival: Arrival,
): Place | Admission {
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
  const poor =
    checkPriority(entry, minimumTip) ??
    checkNativeSender(entry, { state, executableCost, replaced: queue.getExecutable(sequence) }) ??
    checkDependencies(entry, (key, address) => dependencyContext(contents, sources, { key, address, replaced: old }))
  if (poor !== undefined) return refuseWith(poor)
  const refusal = checkDelegated(contents, queue, sequence, []) ?? checkQueue(limits.perSender, queue, sequence, entry)
  return refusal === undefined ? { queue, entry } : refuseNative(refusal)
}

function queueOf({ queues }: PoolContents, { readAccount }: PoolSources, sender: Address): SenderQueue {
  const key = bytesKey(sender)
  return queues.get(key) ?? new SenderQueue(key, new Uint8Array(sender), readAccount(sender))
}

function checkDelegated(
  { queues, authorities }: PoolContents,
  queue: SenderQueue,
  nonce: bigint,
  newAuthorities: readonly Address[],
): Refusal | undefined {
  return checkDelegation(nonce, {
    state: queue.state,
    nextNonce: queue.nextNonce,
    hasExecutable: queue.executable > 0,
    replaces: queue.getExecutable(nonce) !== undefined,
    isAuthority: authorities.has(queue.key),
    authorityCounts: newAuthorities.map((authority) => queues.get(bytesKey(authority))?.entries.length ?? 0),
  })
}

/** Whether the transaction that has this nonce is outbid, or the sender may have one more. */
function checkQueue(perSender: number, queue: SenderQueue, nonce: bigint, prices: Prices): Refusal | undefined {
  const old = queue.get(nonce)
  if (old !== undefined) return outbids(prices, old) ? undefined : UNDERPRICED
  const { length } = queue.entries
  if (length < perSender || queue.last!.nonce > nonce) return undefined
  return { reason: `account limit exceeded: pooled ${length} txs`, error: 'mempoolIsFull' }
}

function dependencyContext(
  { queues, dependencyIndex }: PoolContents,
  { readAccount }: PoolSources,
  account: { readonly key: string; readonly address: Address; readonly replaced: PoolEntry | undefined },
): DependencyContext {
  const { key, address, replaced } = account
  const queue = queues.get(key)
  const state = queue?.state ?? readAccount(address)
  const freed = replaced?.dependencies.find((dependency) => dependency.key === key)?.cost ?? 0n
  return { state, nextNonce: queue?.nextNonce ?? state.nonce, claimed: dependencyIndex.costOf(key) - freed }
}
