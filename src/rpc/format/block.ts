import type { EthereumHeader } from '../../chain/block/ethereumBlock.ts'
import type { SignedTransaction } from '../../chain/block/transaction.ts'
import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { JsonObject } from './json.ts'
import { formatMinedTransaction } from './transaction.ts'

/** The parts of an Ethereum block. Withdrawals and uncles are always empty on this chain. */
export interface BlockParts {
  readonly header: EthereumHeader
  readonly hash: Hash
  readonly transactions: readonly SignedTransaction[]
  /** bytes of the RLP-encoded block */
  readonly size: number
}

/** Formats a block (geth: RPCMarshalBlock) with transaction objects, or with their hashes. */
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

/** Formats the next block, not yet proposed: hash, nonce and miner are unknown (null). */
export function formatPendingBlock(header: EthereumHeader, size: number): JsonObject {
  const parts = { header, hash: new Uint8Array(32), transactions: [], size }
  return { ...formatBlock(parts, false), hash: null, nonce: null, miner: null }
}

/**
 * Formats a header as in eth_getHeaderByNumber and newHeads (geth: RPCMarshalHeader): only the
 * fields of its fork.
 */
export function formatHeader(header: EthereumHeader, hash: Hash): JsonObject {
  const { baseFeePerGas, withdrawalsRoot, blobGasUsed, excessBlobGas, parentBeaconBlockRoot, requestsHash } = header
  return {
    number: toQuantity(header.number),
    hash: bytesToHex(hash),
    parentHash: bytesToHex(header.parentHash),
    nonce: bytesToHex(header.nonce),
    mixHash: bytesToHex(header.mixHash),
    sha3Uncles: bytesToHex(header.sha3Uncles),
    logsBloom: bytesToHex(header.logsBloom),
    stateRoot: bytesToHex(header.stateRoot),
    miner: bytesToHex(header.miner),
    difficulty: toQuantity(header.difficulty),
    extraData: bytesToHex(header.extraData),
    gasLimit: toQuantity(header.gasLimit),
    gasUsed: toQuantity(header.gasUsed),
    timestamp: toQuantity(header.timestamp),
    transactionsRoot: bytesToHex(header.transactionsRoot),
    receiptsRoot: bytesToHex(header.receiptsRoot),
    ...(baseFeePerGas === undefined ? {} : { baseFeePerGas: toQuantity(baseFeePerGas) }),
    ...(withdrawalsRoot === undefined ? {} : { withdrawalsRoot: bytesToHex(withdrawalsRoot) }),
    ...(blobGasUsed === undefined ? {} : { blobGasUsed: toQuantity(blobGasUsed) }),
    ...(excessBlobGas === undefined ? {} : { excessBlobGas: toQuantity(excessBlobGas) }),
    ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot: bytesToHex(parentBeaconBlockRoot) }),
    ...(requestsHash === undefined ? {} : { requestsHash: bytesToHex(requestsHash) }),
  }
}
