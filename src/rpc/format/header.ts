import type { EthereumHeader } from '../../chain/ethereumBlock.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { JsonObject } from './json.ts'
import { toQuantity } from './quantity.ts'

/**
 * A header as in eth_getHeaderByNumber and newHeads (geth: RPCMarshalHeader): the fields of its fork, no others.
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
