import type { Transaction } from '../chain/transaction.ts'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'

/** Outcome of an admission; `reason` is geth's text. */
export type Admission =
  | { readonly accepted: true; readonly hash: Hash }
  | { readonly accepted: false; readonly reason: string }

/** A transaction as the pool shows it. */
export interface PooledTransaction {
  readonly raw: Uint8Array
  readonly hash: Hash
  readonly sender: Address
}

/** The pool's content: executable (`pending`) and waiting for a nonce, funds or fee (`queued`). Ascending nonces. */
export interface PoolContent {
  readonly pending: readonly PooledTransaction[]
  readonly queued: readonly PooledTransaction[]
}

/** What RPC may ask of the pool, which lives in another thread. */
export interface TxPort {
  /** The caller has recovered `sender` from the signature; `hash` is the transaction's. */
  add(raw: Uint8Array, sender: Address, hash: Hash): Promise<Admission>
  get(hash: Hash): Promise<PooledTransaction | undefined>
  /** nonce after the contiguous pending transactions of `sender`; undefined when the pool has none of it */
  pendingNonce(sender: Address): Promise<bigint | undefined>
  status(): Promise<{ readonly pending: number; readonly queued: number }>
  content(): Promise<PoolContent>
  contentFrom(sender: Address): Promise<PoolContent>
}

/** State of an account that the pool checks against. */
export interface AccountState {
  readonly nonce: bigint
  /** in acoin */
  readonly balance: bigint
  /** the account has code that is not an EIP-7702 delegation / is a delegation */
  readonly code: 'none' | 'contract' | 'delegation'
}

/** What the executor tells the pool after each block. */
export interface PoolHeadUpdate {
  readonly height: number
  /** base fee of the next block, wei per gas */
  readonly baseFeePerGas: bigint
  readonly gasLimit: bigint
  /** accounts that the block changed, among them the sender of each included transaction */
  readonly accounts: readonly (readonly [Address, AccountState])[]
  /** hashes of the EVM transactions that the block executed; what it skipped may start later */
  readonly included: readonly Hash[]
}

/** A transaction that is chosen for a block. */
export interface Candidate {
  readonly transaction: Transaction
  readonly sender: Address
}

/** Head state of an account; nonce 0, balance 0 and no code for an absent one. */
export type AccountReader = (address: Address) => AccountState

/** Why a transaction left the pool. `stale`: another one with its nonce is in a block. */
export type DropReason = 'included' | 'stale' | 'replaced' | 'evicted' | 'expired' | 'gasLimit'

export interface PoolLimits {
  /** transactions of one sender */
  readonly perSender: number
  /** transactions in all */
  readonly count: number
  /** memory of all transactions with what the pool keeps beside them */
  readonly bytes: number
  /** length of one encoded transaction */
  readonly transactionBytes: number
  /** how long transactions of a sender wait in the queue since the last one became executable */
  readonly queuedLifetimeMs: number
  /** a sender with more transactions than this loses its last ones first when the pool is full */
  readonly fairShare: number
  /** wei per gas: a lower priority fee is refused */
  readonly minimumTip: bigint
}

/** geth's defaults (core/txpool/legacypool), but for the sizes, which are those of blocks every 400 ms. */
export const DEFAULT_POOL_LIMITS: PoolLimits = {
  perSender: 1_024,
  count: 200_000,
  bytes: 256 * 1_024 * 1_024,
  transactionBytes: 128 * 1_024,
  queuedLifetimeMs: 3 * 60 * 60 * 1_000,
  fairShare: 64,
  minimumTip: 1n,
}
