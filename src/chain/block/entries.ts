import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt, equalBytes, hexToBytes } from '../../primitives/bytes.ts'
import { type Hash, keccak256, sha256 } from '../../primitives/hash.ts'
import { NATIVE_TOKEN_ADDRESS } from '../genesis/genesisConstants.ts'
import type { Log, Receipt } from './receipt.ts'
import type { SignedTransaction } from './transaction.ts'

/** Whether the bytes of a transaction (from data.txs, gossip or a client) can only be a native one, not an EVM one. */
export function isNativeEntry(raw: Uint8Array): boolean {
  return raw[0] === NATIVE_TAG
}

/** First byte of a native transaction: the tag of TxRaw.body_bytes. No EVM envelope starts with it. */
const NATIVE_TAG = 0x0a

/**
 * Returns the hash that identifies a transaction: sha256 of a native one as in CometBFT, keccak-256
 * of an EVM one.
 */
export function entryHash(raw: Uint8Array): Hash {
  return isNativeEntry(raw) ? sha256(raw) : keccak256(raw)
}

/** The result of one entry of a block's data.txs. */
export type StoredEntry = EvmEntry | NativeEntry | SkippedEntry

/** An EVM transaction that is in the Ethereum block. */
export interface EvmEntry {
  readonly kind: 'evm'
  /** index in the Ethereum block's transactions */
  readonly index: number
  readonly signed: SignedTransaction
  readonly receipt: Receipt
  /** coins that code moved, without the transaction's own value */
  readonly transfers: readonly ValueTransfer[]
  /** of native modules that code called */
  readonly events: readonly NativeEvent[]
}

/** A native transaction that started: it paid its fee, whether its messages succeeded or not. */
export interface NativeEntry {
  readonly kind: 'native'
  readonly raw: Uint8Array
  readonly result: NativeResult
}

/** A transaction that could not start: it has no effect and is not in the Ethereum block. */
export interface SkippedEntry {
  readonly kind: 'skipped'
  /** never 0 */
  readonly code: number
  readonly codespace: string
  readonly reason: string
  readonly gasWanted: bigint
}

/** Result of a native transaction that started: abci.ExecTxResult. */
export interface NativeResult {
  /** 0: success; otherwise all effects of its messages were undone, but it paid its fee and its sequence is used */
  readonly code: number
  /** '' when the code is 0 */
  readonly codespace: string
  /** '' when the code is 0, else why it failed */
  readonly log: string
  /** protobuf of cosmos.base.abci.v1beta1.TxMsgData; empty when it failed */
  readonly data: Uint8Array
  readonly gasWanted: bigint
  readonly gasUsed: bigint
  readonly events: readonly NativeEvent[]
}

/** Events of the native modules before and after a block's entries. */
export interface BlockEvents {
  readonly begin: readonly NativeEvent[]
  readonly end: readonly NativeEvent[]
}

export const NO_BLOCK_EVENTS: BlockEvents = { begin: [], end: [] }

/** A Cosmos SDK event. */
export interface NativeEvent {
  readonly type: string
  readonly attributes: readonly { readonly key: string; readonly value: string }[]
}

/** Coins that moved from one account to another. */
export interface ValueTransfer {
  readonly from: Address
  readonly to: Address
  /** more than 0 */
  readonly amountAcoin: bigint
}

/** Coins of an account that the EVM destroyed. */
export interface Burn {
  readonly account: Address
  /** more than 0 */
  readonly amountAcoin: bigint
}

/**
 * Returns all coins that an EVM transaction moved, except its fee: its own value, the transfers of
 * code, and those of the native token's contract, according to its logs. Empty when it failed.
 */
export function evmTransfers({ signed, receipt, transfers }: EvmEntry): readonly ValueTransfer[] {
  if (receipt.status !== 1) return NOTHING
  const { transaction, sender } = signed
  const to = transaction.to ?? receipt.contractAddress
  const isMoved = transaction.value > 0n && to !== undefined
  const own = isMoved ? [{ from: sender, to, amountAcoin: transaction.value }] : NOTHING
  if (transfers.length === 0 && receipt.logs.length === 0) return own
  return [...own, ...transfers, ...receipt.logs.flatMap(tokenTransfer)]
}

/**
 * Returns the transfer in a log of the native token: Transfer, or Deposit, which returns the value
 * of the call.
 */
function tokenTransfer({ address, topics, data }: Log): readonly ValueTransfer[] {
  if (!equalBytes(address, NATIVE_TOKEN)) return NOTHING
  const amountAcoin = bytesToBigInt(data)
  if (amountAcoin === 0n) return NOTHING
  const [event, first, second] = topics
  if (event === undefined || first === undefined) return NOTHING
  if (second !== undefined && equalBytes(event, TRANSFER)) {
    return [{ from: first.subarray(12), to: second.subarray(12), amountAcoin }]
  }
  return equalBytes(event, DEPOSIT) ? [{ from: NATIVE_TOKEN, to: first.subarray(12), amountAcoin }] : NOTHING
}

const NATIVE_TOKEN = hexToBytes(NATIVE_TOKEN_ADDRESS)
const TRANSFER = keccak256(new TextEncoder().encode('Transfer(address,address,uint256)'))
const DEPOSIT = keccak256(new TextEncoder().encode('Deposit(address,uint256)'))
const NOTHING: readonly ValueTransfer[] = []
