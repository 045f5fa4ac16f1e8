import type { Transaction } from '../chain/transaction.ts'
import type { Address } from '../primitives/address.ts'
import { bytesKey, keyBytes } from '../primitives/bytes.ts'
import type { PooledTransaction } from './types.ts'

/** Memory of an entry beside its encoding: the objects, integers and map slots (about 550 bytes are measured). */
const ENTRY_OVERHEAD = 768
const AUTHORITY_OVERHEAD = 192

/**
 * What the pool keeps of a transaction: its encoding and the few numbers that decide on it. The decoded form is left to
 * the garbage collector, since access lists take several times their encoded length there. Encoding and hash are strings:
 * those live in JavaScript's heap, where a `Uint8Array` has a second part outside to be counted and freed.
 */
export interface PoolEntry {
  /** `bytesKey` of the transaction's hash */
  readonly hashKey: string
  /** `bytesKey` of the encoding */
  readonly raw: string
  readonly sender: Address
  readonly nonce: bigint
  readonly gasLimit: bigint
  /** gas that the transaction uses at least */
  readonly minimumGas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  /** the most that it can cost its sender, in acoin: gas limit · fee cap + value */
  readonly cost: bigint
  /** accounts that its EIP-7702 authorizations speak for, as `bytesKey` */
  readonly authorities: readonly string[]
  /** ascending in the order of admission */
  readonly arrival: number
  /** memory that it takes, see `PoolLimits.bytes` */
  readonly bytes: number
  /** it came to this node first, and not from a peer that had it */
  readonly isLocal: boolean
  /** it was reported as executable */
  announced: boolean
}

/** Makes an entry; `minimumGas` is the larger of intrinsic and floor gas. */
export function createEntry(
  transaction: Transaction,
  sender: Address,
  details: {
    readonly minimumGas: bigint
    readonly authorities: readonly Address[]
    readonly arrival: number
    readonly isLocal: boolean
  },
): PoolEntry {
  const { raw, nonce, gasLimit, maxFeePerGas, maxPriorityFeePerGas } = transaction
  const { minimumGas, arrival, isLocal } = details
  const authorities = details.authorities.map(bytesKey)
  return {
    hashKey: bytesKey(transaction.hash),
    raw: bytesKey(raw),
    sender,
    nonce,
    gasLimit,
    minimumGas,
    maxFeePerGas,
    maxPriorityFeePerGas,
    cost: maximumCost(transaction),
    authorities,
    arrival,
    bytes: entryBytes(raw.length, authorities.length),
    isLocal,
    announced: false,
  }
}

/** The memory that a transaction of this encoded length takes in the pool. */
export function entryBytes(rawLength: number, authorities: number): number {
  return rawLength + ENTRY_OVERHEAD + authorities * AUTHORITY_OVERHEAD
}

/** The most that a transaction can cost its sender, in acoin. */
export function maximumCost({ gasLimit, maxFeePerGas, value }: Transaction): bigint {
  return gasLimit * maxFeePerGas + value
}

/** What the proposer earns per gas at this base fee, in wei (EIP-1559); negative when the fee cap is below the base fee. */
export function effectiveTip(
  { maxFeePerGas, maxPriorityFeePerGas }: Pick<PoolEntry, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFeePerGas: bigint,
): bigint {
  const room = maxFeePerGas - baseFeePerGas
  return room < maxPriorityFeePerGas ? room : maxPriorityFeePerGas
}

/** The entry as other threads and clients see it. */
export function toPooledTransaction({ raw, hashKey, sender }: PoolEntry): PooledTransaction {
  return { raw: keyBytes(raw), hash: keyBytes(hashKey), sender }
}
