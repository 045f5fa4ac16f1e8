import type { Log } from '../../chain/receipt.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { JsonObject } from './json.ts'
import { toQuantity } from './quantity.ts'

/** Where a log was emitted. */
export interface LogPlace {
  readonly blockNumber: number
  readonly blockHash: Hash
  /** whole seconds */
  readonly blockTimestamp: number
  readonly transactionHash: Hash
  readonly transactionIndex: number
  /** among all logs of the block */
  readonly logIndex: number
}

/** A log (geth: types.Log). A decided block is final, so no log is ever removed. */
export function formatLog(log: Log, place: LogPlace): JsonObject {
  return {
    address: bytesToHex(log.address),
    topics: log.topics.map(bytesToHex),
    data: bytesToHex(log.data),
    blockNumber: toQuantity(place.blockNumber),
    transactionHash: bytesToHex(place.transactionHash),
    transactionIndex: toQuantity(place.transactionIndex),
    blockHash: bytesToHex(place.blockHash),
    blockTimestamp: toQuantity(place.blockTimestamp),
    logIndex: toQuantity(place.logIndex),
    removed: false,
  }
}
