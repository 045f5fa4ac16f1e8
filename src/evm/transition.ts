import type { Burn, NativeEvent, ValueTransfer } from '../chain/block/entries.ts'
import type { Log } from '../chain/block/receipt.ts'
import type { SignedTransaction, Transaction } from '../chain/block/transaction.ts'
import { type Hardfork, includesFork } from '../chain/genesis/hardfork.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import type { WorldState } from '../state/world.ts'
import { applyAuthorizations, codeDelegationTarget, recoverAuthority } from './authorization.ts'
import type { BlockContext, Rules } from './blockContext.ts'
import { createAddress } from './contractAddress.ts'
import type { Engine, ExecutionEnvironment, ExecutionResult, ImmediateEngine, Message } from './engine.ts'
import { floorDataGas, intrinsicGas } from './intrinsicGas.ts'
import { isPlainTransfer, movePlainValue } from './plainTransfer.ts'
import type { PrecompileTable } from './precompile.ts'
import type { PrecompileGas } from './precompileGas.ts'
import type { Tracer } from './tracer.ts'
import { findInvalidity, GAS_PER_BLOB, type SkippedChecks, type TransactionMessage } from './transactionChecks.ts'

/** The world state with the scope of a transaction. */
export interface TransactionWorld extends WorldState {
  beginTransaction(): void
  endTransaction(options: { readonly clearEmpty: boolean }): { readonly burns: readonly Burn[] }
}

/** Environment of a transaction's run. */
export interface TransitionContext {
  readonly world: TransactionWorld
  readonly block: BlockContext
  readonly rules: Rules
  readonly engine: Engine
  readonly precompiles: PrecompileTable
  /** see ExecutionEnvironment */
  readonly hiddenPrecompiles?: ReadonlySet<string>
  /** see ExecutionEnvironment */
  readonly precompileGas?: PrecompileGas
  readonly tracer?: Tracer
  /** see `Tracer`; where there is no tracer. It is told those of plain transfers too, for which no engine runs */
  readonly onParty?: NonNullable<Tracer['onParty']>
  /** see ExecutionEnvironment */
  readonly isDiscarded?: boolean
  /** see ExecutionEnvironment */
  readonly yield?: () => Promise<void>
  /** see ExecutionEnvironment */
  readonly workLimit?: bigint
  /** gas that is left in the block; undefined for no limit */
  readonly gasAvailable?: bigint
  /** Blob transactions are refused unless this is true: only conformance chains take them. */
  readonly acceptsBlobs?: boolean
  /**
   * Credits the fees inside the transaction, before the accounts that it destroyed are deleted, as Ethereum does with the
   * coinbase. Without it the caller routes `fees` of the outcome.
   */
  readonly routeFees?: (fees: TransactionFees) => void
}

/** A call for RPC: missing values are 0 or empty, the nonce is the account's. */
export type CallMessage = Partial<TransactionMessage> & Pick<TransactionMessage, 'sender' | 'gasLimit'>

/** Fees that the sender paid and that no account has yet, in acoin. */
interface TransactionFees {
  readonly baseFeeAcoin: bigint
  readonly tipAcoin: bigint
  /** EIP-4844; always 0 on chains that take no blobs */
  readonly blobFeeAcoin: bigint
}

export interface SkippedTransaction {
  readonly kind: 'skipped'
  /** geth's message */
  readonly reason: string
}

export interface AppliedTransaction {
  readonly kind: 'applied'
  readonly status: ExecutionResult['status']
  readonly gasUsed: bigint
  /** the most that was used at a time: before refunds */
  readonly maxGasUsed: bigint
  /** acoin per gas */
  readonly effectiveGasPrice: bigint
  readonly logs: readonly Log[]
  readonly events: readonly NativeEvent[]
  /** coins that code moved, in addition to the message's own value */
  readonly transfers: readonly ValueTransfer[]
  /** return or revert data */
  readonly output: Uint8Array
  /** geth's message, `execution reverted` for a revert; undefined on success */
  readonly failure: string | undefined
  /** of a creation, whether or not it succeeded */
  readonly createdAddress: Address | undefined
  readonly fees: TransactionFees
  /** coins that self-destructs destroyed */
  readonly burns: readonly Burn[]
  /** EIP-4844 */
  readonly blobGasUsed: bigint
}

export type TransitionOutcome = SkippedTransaction | AppliedTransaction

/**
 * Applies a transaction: the steps are those of {@link applyMessage}. A skipped one has no effect. It returns at once where nothing
 * waits, and throws only what {@link Engine.run} does for a deadline, and what the database does.
 */
export function applyTransaction(
  input: TransitionContext & SignedTransaction,
): TransitionOutcome | Promise<TransitionOutcome> {
  return applyMessage(messageOf(input), input, NOTHING_SKIPPED)
}

const NOTHING_SKIPPED: SkippedChecks = {}

/** Copies the message field by field: a spread takes several times as long. */
function messageOf({ transaction, sender }: SignedTransaction): TransactionMessage {
  return {
    type: transaction.type,
    nonce: transaction.nonce,
    gasLimit: transaction.gasLimit,
    maxFeePerGas: transaction.maxFeePerGas,
    maxPriorityFeePerGas: transaction.maxPriorityFeePerGas,
    to: transaction.to,
    value: transaction.value,
    data: transaction.data,
    accessList: transaction.accessList,
    authorizationList: transaction.authorizationList,
    maxFeePerBlobGas: transaction.maxFeePerBlobGas,
    blobVersionedHashes: transaction.blobVersionedHashes,
    sender,
  }
}

type CallContext = TransitionContext & { readonly call: CallMessage; readonly skipped?: SkippedChecks }

/**
 * Runs a call as `eth_call`, `eth_estimateGas` and `debug_traceCall` want it: no signature, no nonce order, any sender, and
 * the base fee need not be paid when no gas price is given. It returns at once where nothing waits, and throws what {@link Engine.run} does.
 */
export function applyCall(
  input: CallContext & { readonly engine: ImmediateEngine; readonly yield?: undefined },
): TransitionOutcome
export function applyCall(input: CallContext): TransitionOutcome | Promise<TransitionOutcome>
export function applyCall(input: CallContext): TransitionOutcome | Promise<TransitionOutcome> {
  const { call, skipped = CALL_SKIPS, ...context } = input
  return applyMessage(messageOfCall(call, context.world), context, skipped)
}

function messageOfCall(call: CallMessage, world: Pick<TransactionWorld, 'getNonce'>): TransactionMessage {
  return {
    type: 0,
    nonce: world.getNonce(call.sender),
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n,
    to: undefined,
    value: 0n,
    data: EMPTY_BYTES,
    accessList: [],
    authorizationList: [],
    maxFeePerBlobGas: 0n,
    blobVersionedHashes: [],
    ...call,
  }
}

/** Checks that geth's `eth_call` skips. */
const CALL_SKIPS: SkippedChecks = { nonce: true, sender: true, baseFee: true }

/**
 * Applies a message. The order of the steps is consensus:
 *
 * 1. Checks, without any effect, so that an invalid transaction leaves no trace.
 * 2. The sender pays for all gas at the highest it can use. Before the run, or code could spend the coins for it.
 * 3. The sender's nonce rises. After the checks, which compare it, and before the authorizations:
 *    one of them may be the sender's own for the next nonce. A revert of the run does not undo it.
 * 4. Addresses get warm, and EIP-7702 authorizations are applied. Before the run, which is the first to see them, and outside of
 *    its checkpoint: they stay when it reverts.
 * 5. The run: the engine moves the value and executes code.
 * 6. Refunds: the refund counter lowers the gas used, but not below the floor of the data (EIP-7623), and the sender gets the rest
 *    of what it paid back. After the run, which is what counts.
 * 7. Fees, of the gas that is left to pay. Before the end, so that fees of an account that the transaction destroyed go with it.
 * 8. Logs, events, transfers and burns are read from the world, which forgets them in the next step.
 * 9. The end of the transaction: destroyed and empty accounts are deleted, warmth and transient storage are forgotten.
 */
function applyMessage(
  message: TransactionMessage,
  context: TransitionContext,
  skipped: SkippedChecks,
): TransitionOutcome | Promise<TransitionOutcome> {
  const begun = beginMessage(message, context, skipped)
  if (begun.kind === 'skipped') return begun
  const { codeRun } = begun
  const result = codeRun === undefined ? begun.result : context.engine.run(codeRun.message, codeRun.environment)
  return result instanceof Promise
    ? result.then((ended) => endMessage(message, context, begun, ended))
    : endMessage(message, context, begun, result)
}

/** A message before its run. */
interface BegunMessage {
  readonly kind: 'begun'
  /** acoin per gas */
  readonly price: bigint
  /** whether the sender has paid for the gas */
  readonly bought: boolean
  /** of the sender, before it rose */
  readonly nonce: bigint
  readonly intrinsic: bigint
  readonly blobGasUsed: bigint
  readonly blobFeeAcoin: bigint
  readonly authorizationRefund: bigint
}

/** It needs no engine and has run already, or there is code to run. */
type BegunRun =
  | { readonly result: ExecutionResult; readonly codeRun?: undefined }
  | { readonly codeRun: { readonly message: Message; readonly environment: ExecutionEnvironment } }

/** Steps 1 to 4 of {@link applyMessage}, and the run of a message that needs no engine. */
function beginMessage(
  message: TransactionMessage,
  context: Omit<TransitionContext, 'engine'>,
  skipped: SkippedChecks,
): SkippedTransaction | (BegunMessage & BegunRun) {
  const { world, block, rules, tracer } = context
  const { fork } = rules
  const { gasAvailable } = context

  // 1. checks
  world.setTime(block.timestamp)
  const reason = findInvalidity(
    message,
    {
      world,
      block,
      fork,
      acceptsBlobs: context.acceptsBlobs === true,
      ...(gasAvailable !== undefined && { gasAvailable }),
    },
    skipped,
  )
  if (reason !== undefined) return { kind: 'skipped', reason }

  // tracers want the world as it was before gas is bought
  world.beginTransaction()
  if (tracer?.onTransactionStart !== undefined) reportStart(message, context, tracer)

  // 2. gas is bought
  const { sender, gasLimit } = message
  const price = effectiveGasPrice(message, block.baseFeePerGas)
  const blobGasUsed = BigInt(message.blobVersionedHashes.length) * GAS_PER_BLOB
  const blobFeeAcoin = blobGasUsed * block.blobBaseFee
  const bought = buyGas(world, sender, gasLimit * price + blobFeeAcoin, message.value, skipped)

  // 3. the nonce rises
  const nonce = world.getNonce(sender)
  world.setNonce(sender, nonce + 1n)

  // 4. Most transactions run no code and need no engine, but a tracer gets its calls from one.
  const intrinsic = intrinsicGas(message, fork)
  const begun = { kind: 'begun', price, bought, nonce, intrinsic, blobGasUsed, blobFeeAcoin } as const
  if (tracer === undefined && world.getSpendable(sender) >= message.value && isPlainTransfer(message, context)) {
    return { ...begun, authorizationRefund: 0n, result: movePlainValue(world, message, context.onParty) }
  }
  return { ...begun, ...prepareRun(message, context, { gasLimit: gasLimit - intrinsic, price }) }
}

/** Steps 6 to 9 of {@link applyMessage}. */
function endMessage(
  message: TransactionMessage,
  context: Omit<TransitionContext, 'engine'>,
  { price, bought, nonce, intrinsic, blobGasUsed, blobFeeAcoin, authorizationRefund }: BegunMessage,
  result: ExecutionResult,
): AppliedTransaction {
  const { world, block, rules, tracer } = context
  const { sender, to, gasLimit } = message

  // 6. refunds
  const gasBeforeRefund = intrinsic + result.gasUsed
  const gasUsed = gasAfterRefund(message, gasBeforeRefund, result.gasRefund + authorizationRefund, rules)
  if (bought) world.addBalance(sender, (gasLimit - gasUsed) * price)

  // 7. fees
  const fees = feesOf(gasUsed, bought ? price : 0n, block.baseFeePerGas, bought ? blobFeeAcoin : 0n)
  context.routeFees?.(fees)

  // 8. logs, events, transfers and burns, which the world forgets at the end
  const burns = world.burns()
  const logs = world.logs()
  const events = world.events()
  const transfers = withoutOwnValue(world.transfers(), message)

  // 9. the end
  const end = world.endTransaction({ clearEmpty: includesFork(rules.fork, 'spuriousDragon') })
  tracer?.onTransactionEnd?.({ gasUsed })
  return {
    kind: 'applied',
    status: result.status,
    gasUsed,
    maxGasUsed: gasBeforeRefund > gasUsed ? gasBeforeRefund : gasUsed,
    effectiveGasPrice: price,
    logs,
    events,
    transfers,
    output: result.output,
    failure: failureOf(result),
    createdAddress: to === undefined ? createAddress(sender, nonce) : undefined,
    fees,
    burns: [...burns, ...end.burns],
    blobGasUsed,
  }
}

/** Removes the message's own value, which an engine records as the first transfer; a plain transfer records nothing. */
function withoutOwnValue(
  transfers: readonly ValueTransfer[],
  { sender, to, value }: TransactionMessage,
): readonly ValueTransfer[] {
  const isRecorded = transfers.length > 0 && value > 0n && (to === undefined || !equalBytes(to, sender))
  return isRecorded ? transfers.slice(1) : transfers
}

/** Prepares the run of a message with code: step 4 of {@link applyMessage}. */
function prepareRun(
  message: TransactionMessage,
  context: Omit<TransitionContext, 'engine'>,
  { gasLimit, price }: { readonly gasLimit: bigint; readonly price: bigint },
) {
  const { world, rules } = context
  const { sender, to, value, data } = message
  warmAddresses(message, context)
  const authorizationRefund = applyAuthorizations(world, message.authorizationList, rules.chainId)
  const target = to === undefined ? undefined : codeDelegationTarget(world.getCode(to))
  if (target !== undefined && includesFork(rules.fork, 'prague')) world.warmAddress(target)
  const environment = { ...environmentOf(message, context, price), refundBefore: authorizationRefund }
  return { authorizationRefund, codeRun: { message: { caller: sender, to, value, data, gasLimit }, environment } }
}

/** Returns the price per gas by EIP-1559; before London the gas price. */
export function effectiveGasPrice(
  { maxFeePerGas, maxPriorityFeePerGas }: Pick<Transaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFeePerGas: bigint | undefined,
): bigint {
  if (baseFeePerGas === undefined) return maxFeePerGas
  const price = baseFeePerGas + maxPriorityFeePerGas
  return price < maxFeePerGas ? price : maxFeePerGas
}

/** Takes the price of all gas from the sender; false when the call is one that need not pay and cannot. */
function buyGas(world: WorldState, sender: Address, cost: bigint, value: bigint, { gasFunds }: SkippedChecks): boolean {
  if (gasFunds === true && world.getSpendable(sender) < cost + value) return false
  world.subBalance(sender, cost)
  return true
}

/**
 * Warms the addresses of EIP-2929, EIP-2930 and EIP-3651. Ethereum's precompiles are warm without
 * this: engines know that.
 */
function warmAddresses(
  { sender, to, accessList }: TransactionMessage,
  { world, block, rules, precompiles }: Omit<TransitionContext, 'engine'>,
): void {
  if (!includesFork(rules.fork, 'berlin')) return
  world.warmAddress(sender)
  if (to !== undefined) world.warmAddress(to)
  world.warmAlways(warmKeys(block, precompiles, rules.fork))
  for (const { address, storageKeys } of accessList) {
    world.warmAddress(address)
    for (const slot of storageKeys) world.warmSlot(address, slot)
  }
}

interface WarmKeys {
  readonly precompiles: PrecompileTable
  readonly fork: Hardfork
  readonly keys: ReadonlySet<string>
}

/** All transactions of a block have the same. */
const knownKeys = new WeakMap<BlockContext, WarmKeys>()

/** Returns keys of the chain's own precompiles, and with EIP-3651 of the coinbase. */
function warmKeys(block: BlockContext, precompiles: PrecompileTable, fork: Hardfork): ReadonlySet<string> {
  const known = knownKeys.get(block)
  if (known?.precompiles === precompiles && known.fork === fork) return known.keys
  const keys = new Set<string>()
  for (const [key, { isMoved }] of precompiles) if (isMoved !== true) keys.add(key)
  if (includesFork(fork, 'shanghai')) keys.add(bytesKey(block.coinbase))
  knownKeys.set(block, { precompiles, fork, keys })
  return keys
}

function reportStart(
  message: TransactionMessage,
  { world, block }: Pick<TransitionContext, 'world' | 'block'>,
  tracer: Tracer,
): void {
  const { sender, to, gasLimit, authorizationList } = message
  const { coinbase, baseFeePerGas = 0n } = block
  const authorities = authorizationList.map(recoverAuthority).filter((address) => address !== undefined)
  const price = effectiveGasPrice(message, baseFeePerGas)
  const effectiveTip = price > baseFeePerGas ? price - baseFeePerGas : 0n
  tracer.onTransactionStart?.({ world, from: sender, to, coinbase, gasLimit, effectiveTip, authorities })
}

function environmentOf(
  message: TransactionMessage,
  context: Omit<TransitionContext, 'engine'>,
  gasPrice: bigint,
): ExecutionEnvironment {
  const { world, block, rules, precompiles, hiddenPrecompiles, precompileGas, onParty } = context
  const tracer = context.tracer ?? (onParty && { onParty })
  return {
    world,
    block,
    rules,
    precompiles,
    transaction: { origin: message.sender, gasPrice, blobHashes: message.blobVersionedHashes },
    ...(hiddenPrecompiles === undefined ? {} : { hiddenPrecompiles }),
    ...(precompileGas === undefined ? {} : { precompileGas }),
    ...(tracer === undefined ? {} : { tracer }),
    ...(context.isDiscarded === undefined ? {} : { isDiscarded: context.isDiscarded }),
    ...(context.yield === undefined ? {} : { yield: context.yield }),
    ...(context.workLimit === undefined ? {} : { workLimit: context.workLimit }),
  }
}

/** Returns the gas after the refund: EIP-3529 (half before London) and EIP-7623. */
function gasAfterRefund(message: TransactionMessage, gasUsed: bigint, counter: bigint, { fork }: Rules): bigint {
  const most = gasUsed / (includesFork(fork, 'london') ? 5n : 2n)
  const charged = gasUsed - (counter < most ? counter : most)
  const floor = floorDataGas(message.data, fork)
  return charged > floor ? charged : floor
}

function feesOf(gasUsed: bigint, price: bigint, baseFeePerGas = 0n, blobFeeAcoin = 0n): TransactionFees {
  const baseFee = baseFeePerGas < price ? baseFeePerGas : price
  return { baseFeeAcoin: gasUsed * baseFee, tipAcoin: gasUsed * (price - baseFee), blobFeeAcoin }
}

function failureOf({ status, failure }: ExecutionResult): string | undefined {
  if (status === 'success') return undefined
  return status === 'revert' ? 'execution reverted' : (failure?.message ?? 'internal error')
}
