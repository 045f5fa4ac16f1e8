import type { NativeEvent } from './nativeEvent.ts'
import type { NativeResult } from './nativeResult.ts'
import type { Receipt } from './receipt.ts'
import type { SignedTransaction } from './transaction.ts'
import type { ValueTransfer } from './valueTransfer.ts'

/** How one entry of a block's data.txs fared. */
export type StoredEntry = EvmEntry | NativeEntry | SkippedEntry

/** An EVM transaction that is in the Ethereum block. */
export interface EvmEntry {
  readonly kind: 'evm'
  /** among the Ethereum block's transactions */
  readonly index: number
  readonly signed: SignedTransaction
  readonly receipt: Receipt
  /** coins that code moved, beside the message's own value */
  readonly transfers: readonly ValueTransfer[]
  /** of native modules that code called */
  readonly events: readonly NativeEvent[]
}

/** A native transaction that started: it paid, whether its messages succeeded or not. */
export interface NativeEntry {
  readonly kind: 'native'
  readonly raw: Uint8Array
  readonly result: NativeResult
}

/** It could not start: no effect, not in the Ethereum block. */
export interface SkippedEntry {
  readonly kind: 'skipped'
  /** never 0 */
  readonly code: number
  readonly codespace: string
  readonly reason: string
  readonly gasWanted: bigint
}

/** What native modules said around a block's entries. */
export interface BlockEvents {
  readonly begin: readonly NativeEvent[]
  readonly end: readonly NativeEvent[]
}

export const NO_BLOCK_EVENTS: BlockEvents = { begin: [], end: [] }
