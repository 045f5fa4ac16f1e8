import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'

/** The codespace and number of an error in the Cosmos SDK. */
export interface ErrorCode {
  readonly codespace: string
  readonly code: number
}

/**
 * Outcome of an admission. `reason` is geth's text for an EVM transaction, the SDK's for a native one. `error` is set for all refusals
 * of native transactions, and for those of EVM transactions that have a code in the SDK as well.
 */
export type Admission =
  | { readonly accepted: true; readonly hash: Hash }
  | {
      readonly accepted: false
      readonly reason: string
      readonly error?: ErrorCode
      /** it passes all other checks, but the pool does not know the signers of its authorizations (EIP-7702) */
      readonly needsAuthorities?: true
    }

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

/** Which EVM transactions: all, those that are executable, or those of one sender. */
export type ContentScope = 'all' | 'pending' | Address

/** How much there is of a {@link ContentScope}. */
export interface ContentSize {
  readonly transactions: number
  /** of their encodings */
  readonly bytes: number
}

/** A client's request for contents of the pool, with the limit of its answer. */
export interface ContentRequest {
  readonly of: ContentScope
  readonly most: ContentSize
}

/**
 * A copy of content, which counts against a limit of all such copies until it is released. The transactions of a sender come one after the
 * other; each walk unpacks them anew.
 */
export interface ContentLease {
  readonly pending: Iterable<PooledTransaction>
  readonly queued: Iterable<PooledTransaction>
  release(): void
}

/** Nothing was copied: there is more than the request has room for, or too much is being read at the moment. */
export interface ContentRefusal {
  readonly refused: 'size' | 'busy'
  readonly size: ContentSize
}

/** What the Ethereum RPC methods use of the pool, which runs in another thread. It shows EVM transactions only. */
export interface TxPort {
  /**
   * Adds a transaction of either kind. The caller has checked its signatures: `sender` is its (first) signer, `hash` is its
   * `entryHash`.
   * @param client for whom: see `ClientAddresses`
   */
  add(raw: Uint8Array, sender: Address, hash: Hash, client: string): Promise<Admission>
  get(hash: Hash): Promise<PooledTransaction | undefined>
  /** nonce after the contiguous pending transactions of `sender`, of both kinds; where there is none, of the state of the newest block */
  pendingNonce(sender: Address): Promise<bigint | undefined>
  status(): Promise<PoolStatus>
  content(request: ContentRequest): Promise<ContentLease | ContentRefusal>
}

export interface PoolStatus {
  /** executable */
  readonly pending: number
  readonly queued: number
}

/** What CometBFT's RPC methods use of the pool: transactions of both kinds. */
export interface MempoolPort extends Pick<TxPort, 'add'> {
  /** Whether the pool would accept it now if it had room. */
  check(raw: Uint8Array, sender: Address, hash: Hash): Promise<Admission>
  /** The oldest transactions: at most `limit`, and not many more bytes than `UNCONFIRMED_BYTES`. */
  unconfirmed(limit: number): Promise<UnconfirmedTransactions>
}

/** Bytes of encodings in an answer of `MempoolPort.unconfirmed`, besides its last transaction: a small part of a millisecond to copy. */
export const UNCONFIRMED_BYTES = 262_144

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
  /** in acoin, without coins that are locked */
  readonly balance: bigint
  /** coins are or were locked: what it may spend changes with the time too */
  readonly isVesting?: boolean
  /** the account has code that is not an EIP-7702 delegation / is a delegation */
  readonly code: 'none' | 'contract' | 'delegation'
}

/** What the executor reports to the pool after each block. */
export interface PoolHeadUpdate {
  readonly height: number
  /** base fee of the next block, wei per gas */
  readonly baseFeePerGas: bigint
  /** wei per gas: no block's base fee is lower, as long as the parameters do not change */
  readonly minimumBaseFee: bigint
  /** of the next block */
  readonly gasLimit: bigint
  /** accounts that the block changed, among them the sender of each included transaction */
  readonly accounts: readonly (readonly [Address, AccountState])[]
  /** hashes of the transactions that the block executed, without skipped ones, which may start later */
  readonly included: readonly Hash[]
}

/** Head state of an account; nonce 0, balance 0 and no code for an absent one. */
export type AccountReader = (address: Address) => AccountState

/**
 * Why a transaction left the pool. `stale`: another one with its nonce, or with a further signer's sequence, is in a block; `timeout`:
 * its timeout height has passed; `unpaid`: its sender, or the account that pays for it, no
 * longer can; `unexecutable`: its turn had come, but
 * it could not start, or hit an unforeseen error.
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
  /** memory of all transactions, including the pool's own data about them */
  readonly bytes: number
  /** length of one encoded transaction */
  readonly transactionBytes: number
  /** EIP-7702 authorizations of one transaction: each takes 50 µs to recover */
  readonly authorizations: number
  /** EIP-7702 authorizations of all transactions */
  readonly authorities: number
  /** how long transactions of a sender wait in the queue since the last one became executable */
  readonly queuedLifetimeMs: number
  /** a sender with more transactions than this, or than it has paid for, loses its last ones first when the pool is full */
  readonly fairShare: number
  /** wei per gas: a lower priority fee is refused */
  readonly minimumTip: bigint
  /** whether transactions without a chain ID (before EIP-155) are taken, where the chain allows them */
  readonly acceptsUnprotected: boolean
}

/** geth's defaults (core/txpool/legacypool), except for the sizes, which are made for blocks every 400 ms. */
export const DEFAULT_POOL_LIMITS: PoolLimits = {
  perSender: 1_024,
  count: 200_000,
  bytes: 256 * 1_024 * 1_024,
  transactionBytes: 128 * 1_024,
  authorizations: 64,
  authorities: 65_536,
  queuedLifetimeMs: 3 * 60 * 60 * 1_000,
  fairShare: 64,
  minimumTip: 1n,
  acceptsUnprotected: false,
}
