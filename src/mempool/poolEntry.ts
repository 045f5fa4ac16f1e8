import type { Transaction } from '../chain/block/transaction.ts'
import type { NativeTransaction } from '../modules/tx/nativeTransaction.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, equalBytes, keyBytes } from '../primitives/bytes.ts'
import type { PooledTransaction } from './types.ts'

/** Memory of an entry besides its encoding: the objects, integers and map slots (about 550 bytes are measured). */
const ENTRY_OVERHEAD = 768
/** Memory for each account that an entry names besides its sender. */
const OTHER_OVERHEAD = 192

/** An account other than the sender on which the start of a native transaction depends. */
interface Dependency {
  /** `bytesKey` of its address */
  readonly key: string
  readonly address: Address
  /** the account's next nonce must be this one; undefined: it did not sign */
  readonly sequence: bigint | undefined
  /** acoin that it pays */
  readonly cost: bigint
}

/**
 * A transaction as the pool retains it: its encoding and the few numbers that the pool's rules use. The decoded form is dropped,
 * because access lists take several times their encoded length in it. Encoding and hash are strings, which are in JavaScript's heap; a
 * `Uint8Array` has a second part outside of the heap, which has to be counted and freed.
 */
export interface PoolEntry {
  readonly kind: 'evm' | 'native'
  /** `bytesKey` of the transaction's hash */
  readonly hashKey: string
  /** `bytesKey` of the encoding */
  readonly raw: string
  /** of a native transaction: its first signer */
  readonly sender: Address
  /** of a native transaction: the sender's sequence, which is the same number */
  readonly nonce: bigint
  readonly gasLimit: bigint
  /** gas that the transaction uses at least */
  readonly minimumGas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** acoin that it can cost its sender at most, except what the messages of a native transaction move */
  readonly cost: bigint
  /** accounts that signed its EIP-7702 authorizations, as `bytesKey` */
  readonly authorities: readonly string[]
  readonly dependencies: readonly Dependency[]
  /** the last block that may hold it; 0: any */
  readonly timeoutHeight: number
  /** ascending in the order of admission */
  readonly arrival: number
  /** milliseconds, on the pool's clock */
  readonly admittedMs: number
  /** memory that it takes, see `PoolLimits.bytes` */
  readonly bytes: number
  /** a client sent it to this node; it did not come from a peer */
  readonly isLocal: boolean
  /** it was reported as executable */
  announced: boolean
}

/** When and from where a transaction came. */
export type Arrival = Pick<PoolEntry, 'arrival' | 'admittedMs' | 'isLocal'>

/** Prices per gas by which transactions are compared. */
export type Prices = Pick<PoolEntry, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

const NONE: readonly never[] = []

/** @param minimumGas the larger of intrinsic and floor gas */
export function evmEntry(
  transaction: Transaction,
  details: { readonly sender: Address; readonly minimumGas: bigint; readonly authorities: readonly Address[] },
  { arrival, admittedMs, isLocal }: Arrival,
): PoolEntry {
  const { hash, raw, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const authorities = details.authorities.length === 0 ? NONE : details.authorities.map(bytesKey)
  return {
    kind: 'evm',
    hashKey: bytesKey(hash),
    raw: bytesKey(raw),
    sender: details.sender,
    nonce,
    gasLimit,
    minimumGas: details.minimumGas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    cost: maximumCost(transaction),
    authorities,
    dependencies: NONE,
    timeoutHeight: 0,
    arrival,
    admittedMs,
    bytes: entryBytes(raw.length, authorities.length),
    isLocal,
    announced: false,
  }
}

/** @param details the sender as an array of the pool's own, and the gas of the native lane that it takes */
export function nativeEntry(
  transaction: NativeTransaction,
  { sender, minimumGas }: { readonly sender: Address; readonly minimumGas: bigint },
  { arrival, admittedMs, isLocal }: Arrival,
): PoolEntry {
  const { hash, raw, sequence, gasLimit, feeAcoin, timeoutHeight } = transaction
  const dependencies = dependenciesOf(transaction)
  const { maxFeePerGas, maxPriorityFeePerGas } = nativePrices(transaction)
  return {
    kind: 'native',
    hashKey: bytesKey(hash),
    raw: bytesKey(raw),
    sender,
    nonce: sequence,
    gasLimit,
    minimumGas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    cost: isPaidByOther(transaction) ? 0n : feeAcoin,
    authorities: NONE,
    dependencies,
    timeoutHeight,
    arrival,
    admittedMs,
    bytes: entryBytes(raw.length, dependencies.length),
    isLocal,
    announced: false,
  }
}

/**
 * The price per gas that a native transaction offers, rounded down. It pays its whole fee, as a legacy EVM transaction does, unless it
 * limits what it pays beyond the base fee (ExtensionOptionDynamicFeeTx of cosmos/evm).
 */
function nativePrices({ feeAcoin, gasLimit, maxPriorityPrice }: NativeTransaction): Prices {
  const maxFeePerGas = gasLimit === 0n ? 0n : feeAcoin / gasLimit
  return { maxFeePerGas, maxPriorityFeePerGas: maxPriorityPrice ?? maxFeePerGas }
}

/** Whether the fee does not come from the sender's balance. */
function isPaidByOther({ sender, feePayer, feeGranter }: NativeTransaction): boolean {
  return !equalBytes(feeGranter ?? feePayer, sender)
}

function dependenciesOf(transaction: NativeTransaction): readonly Dependency[] {
  const { signers, sender, feePayer, feeGranter, feeAcoin } = transaction
  if (signers.length === 1 && feeGranter === undefined) return NONE
  const payer = feeGranter ?? feePayer
  const others = signers.slice(1).map(({ address, sequence }): Dependency => {
    const cost = equalBytes(address, payer) ? feeAcoin : 0n
    return { key: bytesKey(address), address: new Uint8Array(address), sequence, cost }
  })
  const hasPayer = equalBytes(payer, sender) || others.some(({ cost }) => cost > 0n)
  if (hasPayer || feeAcoin === 0n) return others
  return [...others, { key: bytesKey(payer), address: new Uint8Array(payer), sequence: undefined, cost: feeAcoin }]
}

/** The memory that a transaction of this encoded length takes in the pool. */
function entryBytes(rawLength: number, others: number): number {
  return rawLength + ENTRY_OVERHEAD + others * OTHER_OVERHEAD
}

/** The most that an EVM transaction can cost its sender, in acoin. */
export function maximumCost({ gasLimit, maxFeePerGas, value }: Transaction): bigint {
  return gasLimit * maxFeePerGas + value
}

/** The entry as other threads and clients see it. */
export function toPooledTransaction({ raw, hashKey, sender }: PoolEntry): PooledTransaction {
  return { raw: keyBytes(raw), hash: keyBytes(hashKey), sender }
}
