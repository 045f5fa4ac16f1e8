import { decode } from '@ethereumjs/rlp'
import { bytesToBigInt, EMPTY_BYTES } from '../primitives/bytes.ts'
import { encodeRLP } from '../primitives/rlp.ts'
import { logsBloom } from './bloom.ts'
import type { Log } from './log.ts'
import type { Receipt } from './receipt.ts'

/**
 * How the entries of one consensus block fared, as stored: the executed ones by their position in data.txs with sender
 * and receipt, and the ones that could not start. The transactions' bytes are in the consensus block.
 */
export interface StoredResults {
  readonly executed: readonly StoredExecution[]
  readonly skipped: readonly { readonly position: number; readonly reason: string; readonly gasWanted: bigint }[]
}

export interface StoredExecution {
  readonly position: number
  readonly sender: Uint8Array
  readonly receipt: Receipt
}

type RlpValue = Uint8Array | readonly RlpValue[]

const text = { encode: new TextEncoder(), decode: new TextDecoder() }

/** RLP of the results; blooms and cumulative gas are recomputed when it is read. */
export function encodeResults(results: StoredResults): Uint8Array {
  return encodeRLP([
    results.executed.map(({ position, sender, receipt }) => [
      BigInt(position),
      sender,
      Uint8Array.of(receipt.type),
      Uint8Array.of(receipt.status === 1 ? 1 : 0),
      receipt.gasUsed,
      receipt.effectiveGasPrice,
      receipt.contractAddress ?? EMPTY_BYTES,
      receipt.logs.map((log) => [log.address, [...log.topics], log.data]),
    ]),
    results.skipped.map(({ position, reason, gasWanted }) => [BigInt(position), text.encode.encode(reason), gasWanted]),
  ])
}

/** @throws Error when the bytes are not what {@link encodeResults} made (a damaged database) */
export function decodeResults(bytes: Uint8Array): StoredResults {
  const [executed, skipped] = list(decode(bytes))
  let cumulativeGasUsed = 0n
  return {
    executed: list(executed).map((item) => {
      const [position, sender, type, status, gasUsed, price, contract, logs] = list(item)
      cumulativeGasUsed += integer(gasUsed)
      const decodedLogs = list(logs).map(decodeLog)
      return {
        position: Number(integer(position)),
        sender: bytesOf(sender),
        receipt: {
          type: (bytesOf(type)[0] ?? 0) as Receipt['type'],
          status: bytesOf(status)[0] === 1 ? 1 : 0,
          gasUsed: integer(gasUsed),
          cumulativeGasUsed,
          effectiveGasPrice: integer(price),
          logs: decodedLogs,
          logsBloom: logsBloom(decodedLogs),
          contractAddress: bytesOf(contract).length === 0 ? undefined : bytesOf(contract),
          blobGasUsed: undefined,
          blobGasPrice: undefined,
        },
      }
    }),
    skipped: list(skipped).map((item) => {
      const [position, reason, gasWanted] = list(item)
      return {
        position: Number(integer(position)),
        reason: text.decode.decode(bytesOf(reason)),
        gasWanted: integer(gasWanted),
      }
    }),
  }
}

function decodeLog(item: RlpValue): Log {
  const [address, topics, data] = list(item)
  return { address: bytesOf(address), topics: list(topics).map(bytesOf), data: bytesOf(data) }
}

function list(value: RlpValue | undefined): readonly RlpValue[] {
  if (value === undefined || value instanceof Uint8Array) throw new Error('damaged block results: a list was expected')
  return value
}

function bytesOf(value: RlpValue | undefined): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error('damaged block results: bytes were expected')
  return value
}

function integer(value: RlpValue | undefined): bigint {
  return bytesToBigInt(bytesOf(value))
}
