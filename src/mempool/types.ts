import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'

/** How the Cosmos SDK numbers an error. */
export interface ErrorCode {
  readonly codespace: string
  readonly code: number
}

/**
 * Outcome of an admission; `reason` is geth's text for an EVM transaction, the SDK's for a native one. `error`: for all refusals of
 * native transactions, and for those of EVM ones that have a number in the SDK as well.
 */
export type Admission =
  | { readonly accepted: true; readonly hash: Hash }
  | { readonly accepted: false; readonly reason: string; readonly error?: ErrorCode }

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

/** What the Ethereum methods may ask of the pool, which lives in another thread. It shows them EVM transactions only. */
export interface TxPort {
  /**
   * Takes a transaction of either kind. The caller has checked its signatures: `sender` is who signed it (first), `hash` is
   * `entryHash`.
   */
  add(raw: Uint8Array, sender: Address, hash: Hash): Promise<Admission>
  get(hash: Hash): Promise<PooledTransaction | undefined>
  /** nonce after the contiguous pending transactions of `sender`, of both kinds; undefined when the pool has none of it */
  pendingNonce(sender: Address): Promise<bigint | undefined>
  status(): Promise<PoolStatus>
  content(): Promise<PoolContent>
  contentFrom(sender: Address): Promise<PoolContent>
}

export interface PoolStatus {
  /** executable */
  readonly pending: number
  readonly queued: number
}

/** What CometBFT's methods ask of the pool: transactions of both kinds. */
export interface MempoolPort extends Pick<TxPort, 'add'> {
  /** Whether the pool would take it now, were there room. */
  check(raw: Uint8Array, sender: Address, hash: Hash): Promise<Admission>
  /** The oldest `limit` transactions. */
  unconfirmed(limit: number): Promise<UnconfirmedTransactions>
}

export interface UnconfirmedTransactions {
  /** all transactions in the pool, and the length of their encodings together */
  readonly count: number
  readonly bytes: number
  /** some of them, encoded */
  readonly transactions: readonly Uint8Array[]
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
  /** wei per gas: as long as the parameters stay, no block's base fee is lower */
  readonly minimumBaseFee: bigint
  /** of the next block */
  readonly gasLimit: bigint
  /** accounts that the block changed, among them the sender of each included transaction */
  readonly accounts: readonly (readonly [Address, AccountState])[]
  /** hashes of the transactions that the block executed; what it skipped may start later */
  readonly included: readonly Hash[]
}

/** Head state of an account; nonce 0, balance 0 and no code for an absent one. */
export type AccountReader = (address: Address) => AccountState

/**
 * Why a transaction left the pool. `stale`: another one with its nonce, or that of a further signer, is in a block; `timeout`: no
 * block may hold it any more; `unpaid`: the account that pays for its sender no longer can; `unexecutable`: its execution would have
 * had to begin, and could not.
 */
export type DropReason =
  | 'included'
  | 'stale'
  | 'replaced'
  | 'evicted'
  | 'expired'
  | 'gasLimit'
  | 'timeout'
  | 'unpaid'
  | 'unexecutable'

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
