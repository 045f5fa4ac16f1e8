import type { EthereumHeader } from '../../chain/ethereumBlock.ts'
import type { SignedTransaction } from '../../chain/transaction.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { formatHeader } from './header.ts'
import type { JsonObject } from './json.ts'
import { toQuantity } from './quantity.ts'
import { formatMinedTransaction } from './transaction.ts'

/** What an Ethereum block consists of. Withdrawals and uncles are always empty on this chain. */
export interface BlockParts {
  readonly header: EthereumHeader
  readonly hash: Hash
  readonly transactions: readonly SignedTransaction[]
  /** bytes of the RLP-encoded block */
  readonly size: number
}

/** A block (geth: RPCMarshalBlock) with transaction objects, or with their hashes. */
export function formatBlock({ header, hash, transactions, size }: BlockParts, full: boolean): JsonObject {
  return {
    ...formatHeader(header, hash),
    size: toQuantity(size),
    transactions: transactions.map((signed, index) =>
      full ? formatMinedTransaction(signed, { header, hash, index }) : bytesToHex(signed.transaction.hash),
    ),
    uncles: [],
    ...(header.withdrawalsRoot === undefined ? {} : { withdrawals: [] }),
  }
}

/** The block that would come next, not yet proposed: hash, nonce and miner are unknown (null). */
export function formatPendingBlock(header: EthereumHeader, size: number): JsonObject {
  const parts = { header, hash: new Uint8Array(32), transactions: [], size }
  return { ...formatBlock(parts, false), hash: null, nonce: null, miner: null }
}
