import type { Transaction } from '../chain/block/transaction.ts'
import { type Hardfork, includesFork } from '../chain/genesis/hardfork.ts'
import { type Address, toChecksumAddress } from '../primitives/address.ts'
import type { WorldState } from '../state/world.ts'
import { codeDelegationTarget } from './authorization.ts'
import type { BlockContext } from './blockContext.ts'
import { floorDataGas, intrinsicGas, MAX_INIT_CODE_BYTES, MAX_TRANSACTION_GAS } from './intrinsicGas.ts'

/** EIP-4844: gas of one blob. */
export const GAS_PER_BLOB = 131_072n
const BLOB_HASH_VERSION = 0x01
const MAX_NONCE = 2n ** 64n - 1n

/** First fork that has each type of transaction. */
const TYPE_SINCE: readonly Hardfork[] = ['frontier', 'berlin', 'london', 'cancun', 'prague']

/** A transaction or a call to run, whether it was signed or not. */
export interface TransactionMessage
  extends Pick<
    Transaction,
    | 'type'
    | 'nonce'
    | 'gasLimit'
    | 'maxFeePerGas'
    | 'maxPriorityFeePerGas'
    | 'to'
    | 'value'
    | 'data'
    | 'accessList'
    | 'authorizationList'
    | 'maxFeePerBlobGas'
    | 'blobVersionedHashes'
  > {
  readonly sender: Address
}

/** Checks that calls for RPC skip. */
export interface SkippedChecks {
  /** the nonce's order */
  readonly nonce?: boolean
  /** EIP-3607 and EIP-7825, which hold for signed transactions */
  readonly sender?: boolean
  /** that the base fee is paid, where both fee fields are 0 */
  readonly baseFee?: boolean
  /** funds for gas; the value must be there all the same */
  readonly gasFunds?: boolean
}

interface CheckContext {
  readonly world: WorldState
  readonly block: Pick<BlockContext, 'baseFeePerGas' | 'blobBaseFee'>
  readonly fork: Hardfork
  /** gas that is left in the block; undefined for no limit */
  readonly gasAvailable?: bigint
  readonly acceptsBlobs: boolean
}

/**
 * Returns why the transaction cannot start, with the messages and in the order of geth
 * (core/state_transition.go); undefined when it can.
 */
export function findInvalidity(
  message: TransactionMessage,
  context: CheckContext,
  skipped: SkippedChecks,
): string | undefined {
  return (
    checkType(message, context) ??
    (skipped.nonce === true ? undefined : checkNonce(message, context.world)) ??
    (skipped.sender === true ? undefined : checkSender(message, context)) ??
    checkFees(message, context, skipped) ??
    checkBlobs(message, context) ??
    checkAuthorizations(message) ??
    checkFunds(message, context, skipped) ??
    checkGas(message, context) ??
    checkInitCode(message, context.fork)
  )
}

function checkType({ type }: TransactionMessage, { fork, acceptsBlobs }: CheckContext): string | undefined {
  if (!includesFork(fork, TYPE_SINCE[type]!)) return 'transaction type not supported'
  if (type === 3 && !acceptsBlobs) return 'transaction type not supported: this chain takes no blob transactions'
  return undefined
}

function checkNonce({ sender, nonce }: TransactionMessage, world: WorldState): string | undefined {
  const next = world.getNonce(sender)
  if (nonce < next) return `nonce too low: next nonce ${next}, tx nonce ${nonce}`
  if (nonce > next) return `nonce too high: next nonce ${next}, tx nonce ${nonce}`
  if (nonce >= MAX_NONCE) return `nonce has max value: address ${toChecksumAddress(sender)}, nonce: ${nonce}`
  return undefined
}

/** Checks EIP-3607 with EIP-7702's exception, and EIP-7825. */
function checkSender({ sender, gasLimit }: TransactionMessage, { world, fork }: CheckContext): string | undefined {
  const code = world.getCode(sender)
  const isContract = code.length > 0 && (!includesFork(fork, 'prague') || codeDelegationTarget(code) === undefined)
  if (isContract) return `sender not an eoa: address ${toChecksumAddress(sender)}, len(code): ${code.length}`
  if (includesFork(fork, 'osaka') && gasLimit > MAX_TRANSACTION_GAS) {
    return `transaction gas limit too high (cap: ${MAX_TRANSACTION_GAS}, tx: ${gasLimit})`
  }
  return undefined
}

function checkFees(message: TransactionMessage, context: CheckContext, skipped: SkippedChecks): string | undefined {
  const { sender, maxFeePerGas, maxPriorityFeePerGas } = message
  if (!includesFork(context.fork, 'london')) return undefined
  if (maxFeePerGas < maxPriorityFeePerGas) {
    return (
      `max priority fee per gas higher than max fee per gas: address ${toChecksumAddress(sender)}, ` +
      `maxPriorityFeePerGas: ${maxPriorityFeePerGas}, maxFeePerGas: ${maxFeePerGas}`
    )
  }
  if (skipped.baseFee === true && maxFeePerGas === 0n) return undefined
  const baseFee = context.block.baseFeePerGas ?? 0n
  if (maxFeePerGas < baseFee) {
    return (
      `max fee per gas less than block base fee: address ${toChecksumAddress(sender)}, ` +
      `maxFeePerGas: ${maxFeePerGas}, baseFee: ${baseFee}`
    )
  }
  return undefined
}

function checkBlobs(message: TransactionMessage, { block, fork }: CheckContext): string | undefined {
  const { type, sender, to, blobVersionedHashes, maxFeePerBlobGas } = message
  if (type !== 3) return undefined
  if (to === undefined) return 'blob transaction of type create'
  if (blobVersionedHashes.length === 0) return 'blob transaction missing blob hashes'
  const most = maxBlobs(fork)
  if (blobVersionedHashes.length > most) {
    return `too many blobs in transaction: have ${blobVersionedHashes.length}, permitted ${most}`
  }
  const wrong = blobVersionedHashes.findIndex((hash) => hash[0] !== BLOB_HASH_VERSION)
  if (wrong >= 0) return `blob ${wrong} has invalid hash version`
  if (maxFeePerBlobGas < block.blobBaseFee) {
    return (
      `max fee per blob gas less than block blob gas fee: address ${toChecksumAddress(sender)} ` +
      `blobGasFeeCap: ${maxFeePerBlobGas}, blobBaseFee: ${block.blobBaseFee}`
    )
  }
  return undefined
}

/** Returns the most blobs of a transaction. EIP-7691 raised the block's limit; EIP-7594 set one per transaction. */
function maxBlobs(fork: Hardfork): number {
  return fork === 'prague' ? 9 : 6
}

function checkAuthorizations({ type, sender, to, authorizationList }: TransactionMessage): string | undefined {
  if (type !== 4) return undefined
  if (to === undefined) {
    return `EIP-7702 transaction cannot be used to create contract (sender ${toChecksumAddress(sender)})`
  }
  if (authorizationList.length === 0) {
    return `EIP-7702 transaction with empty auth list (sender ${toChecksumAddress(sender)})`
  }
  return undefined
}

function checkFunds(message: TransactionMessage, { world }: CheckContext, skipped: SkippedChecks): string | undefined {
  const { sender, gasLimit, maxFeePerGas, value, blobVersionedHashes, maxFeePerBlobGas } = message
  const blobCost = BigInt(blobVersionedHashes.length) * GAS_PER_BLOB * maxFeePerBlobGas
  const want = skipped.gasFunds === true ? value : gasLimit * maxFeePerGas + blobCost + value
  const have = world.getSpendable(sender)
  if (have >= want) return undefined
  return `insufficient funds for gas * price + value: address ${toChecksumAddress(sender)} have ${have} want ${want}`
}

function checkGas(message: TransactionMessage, { fork, gasAvailable }: CheckContext): string | undefined {
  const { gasLimit, data } = message
  if (gasAvailable !== undefined && gasLimit > gasAvailable) return 'gas limit reached'
  const intrinsic = intrinsicGas(message, fork)
  if (gasLimit < intrinsic) return `intrinsic gas too low: have ${gasLimit}, want ${intrinsic}`
  const floor = floorDataGas(data, fork)
  if (gasLimit < floor) return `insufficient gas for floor data gas cost: have ${gasLimit}, want ${floor}`
  return undefined
}

/** Checks the length of init code (EIP-3860). */
function checkInitCode({ to, data }: TransactionMessage, fork: Hardfork): string | undefined {
  if (to !== undefined || data.length <= MAX_INIT_CODE_BYTES || !includesFork(fork, 'shanghai')) return undefined
  return `max initcode size exceeded: code size ${data.length} limit ${MAX_INIT_CODE_BYTES}`
}
