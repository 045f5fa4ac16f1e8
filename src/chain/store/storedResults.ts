import { bytesToBigInt, EMPTY_BYTES } from '../../primitives/bytes.ts'
import {
  decodeDownTo,
  decodeRLP,
  EncodedItem,
  encodeRLP,
  itemAt,
  type PartlyEncodedItem,
  type RLPInput,
} from '../../primitives/rlp.ts'
import {
  type BlockEvents,
  type NativeEvent,
  type NativeResult,
  NO_BLOCK_EVENTS,
  type SkippedEntry,
  type StoredEntry,
  type ValueTransfer,
} from '../block/entries.ts'
import { encodeLogs, type Log, logsBloom, type Receipt } from '../block/receipt.ts'

/**
 * The stored results of a consensus block: its EVM transactions (by position in data.txs, with sender and receipt), its native
 * transactions, the entries that could not start, and the block's own events. The transactions' bytes are in the consensus block.
 */
export interface StoredResults {
  readonly executed: readonly StoredExecution[]
  readonly native: readonly { readonly position: number; readonly result: NativeResult }[]
  readonly skipped: readonly ({ readonly position: number } & Omit<SkippedEntry, 'kind'>)[]
  readonly events: BlockEvents
  /** of their encoding */
  readonly bytes: number
}

interface StoredExecution {
  readonly position: number
  readonly sender: Uint8Array
  readonly receipt: Receipt
  readonly transfers: readonly ValueTransfer[]
  readonly events: readonly NativeEvent[]
}

const text = { encode: new TextEncoder(), decode: new TextDecoder() }

export const NO_RESULTS: StoredResults = { executed: [], native: [], skipped: [], events: NO_BLOCK_EVENTS, bytes: 0 }

/** Types and states of receipts, as strings of one byte. */
const BYTES: readonly Uint8Array[] = [0, 1, 2, 3, 4].map((byte) => Uint8Array.of(byte))

/** Whether there is nothing to store. */
export function isEmptyResult(entries: readonly StoredEntry[], { begin, end }: BlockEvents): boolean {
  return entries.length === 0 && begin.length === 0 && end.length === 0
}

/**
 * Returns the RLP of the results, by position in data.txs. Blooms and cumulative gas are not stored
 * but computed on reading. Trailing parts that blocks of plain transfers do not have are left out
 * of the lists.
 */
export function encodeResults(entries: readonly StoredEntry[], blockEvents: BlockEvents): Uint8Array {
  const table = new TextTable()
  const executed: RLPInput[] = []
  const native: RLPInput[] = []
  const skipped: RLPInput[] = []
  entries.forEach((entry, position) => {
    if (entry.kind === 'evm') {
      const { receipt, transfers, events } = entry
      const fields: RLPInput[] = [
        BigInt(position),
        entry.signed.sender,
        BYTES[receipt.type]!,
        BYTES[receipt.status === 1 ? 1 : 0]!,
        receipt.gasUsed,
        receipt.effectiveGasPrice,
        receipt.contractAddress ?? EMPTY_BYTES,
        new EncodedItem(receipt.encodedLogs ?? encodeLogs(receipt.logs)),
      ]
      if (transfers.length + events.length > 0) {
        fields.push(transfers.map(({ from, to, amountAcoin }) => [from, to, amountAcoin]))
        fields.push(encodeEvents(events, table))
      }
      executed.push(fields)
    } else if (entry.kind === 'native') {
      const { code, codespace, log, data, gasWanted, gasUsed, events } = entry.result
      const texts = [table.add(codespace), table.add(log)]
      native.push([BigInt(position), BigInt(code), ...texts, data, gasWanted, gasUsed, encodeEvents(events, table)])
    } else {
      const { code, codespace, reason, gasWanted } = entry
      const reasonBytes = text.encode.encode(reason)
      skipped.push([BigInt(position), BigInt(code), text.encode.encode(codespace), reasonBytes, gasWanted])
    }
  })
  const ofBlock = [encodeEvents(blockEvents.begin, table), encodeEvents(blockEvents.end, table)]
  const texts = table.texts()
  const rest = texts.length === 0 ? [] : [native, ofBlock, texts]
  return encodeRLP([executed, skipped, ...rest])
}

/**
 * Nesting depth of the lists of a transaction's logs, transfers and events, and of each event of a
 * block.
 */
const LISTS_AROUND_LOGS = 3

/**
 * Decodes results. Logs are decoded only when they are read: those of a full block take longer than
 * all the rest.
 * @throws Error when {@link encodeResults} did not make the bytes (a damaged database)
 */
export function decodeResults(bytes: Uint8Array): StoredResults {
  const parts = list(decodeDownTo(bytes, LISTS_AROUND_LOGS))
  const [executed, skipped, native = [], ofBlock = [], encodedTexts = []] = parts
  const texts = list(encodedTexts).map((item) => text.decode.decode(bytesOf(item)))
  const eventOf = (event: PartlyEncodedItem): NativeEvent => decodeEvent(list(event).map(number), texts)
  const events = (value: PartlyEncodedItem | undefined): NativeEvent[] => list(value).map(eventOf)
  const [begin = [], end = []] = list(ofBlock).map(events)
  return {
    executed: decodeExecuted(list(executed), events),
    native: list(native).map((item) => {
      const [position, code, codespace, log, data, gasWanted, gasUsed, emitted] = list(item)
      return {
        position: number(position),
        result: {
          code: number(code),
          codespace: texts[number(codespace)]!,
          log: texts[number(log)]!,
          data: bytesOf(data),
          gasWanted: integer(gasWanted),
          gasUsed: integer(gasUsed),
          events: events(emitted),
        },
      }
    }),
    skipped: list(skipped).map((item) => {
      const [position, code, codespace, reason, gasWanted] = list(item)
      return {
        position: number(position),
        code: number(code),
        codespace: text.decode.decode(bytesOf(codespace)),
        reason: text.decode.decode(bytesOf(reason)),
        gasWanted: integer(gasWanted),
      }
    }),
    events: { begin, end },
    bytes: bytes.length,
  }
}

/**
 * Returns the number of EVM transactions in the results, without decoding them.
 * @throws Error when {@link encodeResults} did not make the bytes (a damaged database)
 */
export function countExecuted(bytes: Uint8Array): number {
  const executed = itemAt(bytes, itemAt(bytes, 0).start)
  let count = 0
  for (let at = executed.start; at < executed.end; count++) at = itemAt(bytes, at).end
  return count
}

const NO_LOGS: readonly Log[] = []
/** Bytes of the RLP of an empty list. */
const EMPTY_LIST_BYTES = 1

function decodeExecuted(
  items: readonly PartlyEncodedItem[],
  eventsOf: (value: PartlyEncodedItem | undefined) => NativeEvent[],
): StoredExecution[] {
  let cumulativeGasUsed = 0n
  return items.map((item) => {
    const [position, sender, type, status, gasUsed, price, contract, encodedLogs, transfers = [], events = []] =
      list(item)
    cumulativeGasUsed += integer(gasUsed)
    if (!(encodedLogs instanceof EncodedItem)) throw new Error('damaged block results: logs were expected')
    let encoded: EncodedItem | undefined = encodedLogs
    let logs = encodedLogs.bytes.length === EMPTY_LIST_BYTES ? NO_LOGS : undefined
    let bloom: Uint8Array | undefined
    return {
      position: number(position),
      sender: bytesOf(sender),
      receipt: {
        type: (bytesOf(type)[0] ?? 0) as Receipt['type'],
        status: bytesOf(status)[0] === 1 ? 1 : 0,
        gasUsed: integer(gasUsed),
        cumulativeGasUsed,
        effectiveGasPrice: integer(price),
        get logs() {
          logs ??= list(encoded).map(decodeLog)
          encoded = undefined
          return logs
        },
        get logsBloom() {
          bloom ??= logsBloom(this.logs)
          return bloom
        },
        contractAddress: bytesOf(contract).length === 0 ? undefined : bytesOf(contract),
        blobGasUsed: undefined,
        blobGasPrice: undefined,
      },
      transfers: list(transfers).map((moved) => {
        const [from, to, amount] = list(moved)
        return { from: bytesOf(from), to: bytesOf(to), amountAcoin: integer(amount) }
      }),
      events: eventsOf(events),
    }
  })
}

function decodeLog(item: PartlyEncodedItem): Log {
  const [address, topics, data] = list(item)
  return { address: bytesOf(address), topics: list(topics).map(bytesOf), data: bytesOf(data) }
}

/** Returns the items of a list, which may have stayed encoded. */
function list(value: PartlyEncodedItem | undefined): readonly PartlyEncodedItem[] {
  if (value instanceof EncodedItem) return list(decodeRLP(value.bytes))
  if (value === undefined || value instanceof Uint8Array) throw new Error('damaged block results: a list was expected')
  return value
}

function bytesOf(value: PartlyEncodedItem | undefined): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error('damaged block results: bytes were expected')
  return value
}

function integer(value: PartlyEncodedItem | undefined): bigint {
  return bytesToBigInt(bytesOf(value))
}

function number(value: PartlyEncodedItem | undefined): number {
  return Number(integer(value))
}

/** The texts of a block's events. Each is stored once, because most are the same few types, keys and addresses. */
class TextTable {
  readonly #positions = new Map<string, bigint>()

  /** Returns the number of a text: its index in {@link TextTable.texts}. */
  add(text: string): bigint {
    const known = this.#positions.get(text)
    if (known !== undefined) return known
    const position = BigInt(this.#positions.size)
    this.#positions.set(text, position)
    return position
  }

  /** UTF-8, in the order of their numbers */
  texts(): Uint8Array[] {
    return [...this.#positions.keys()].map((text) => Buffer.from(text, 'utf8'))
  }
}

/** For each event: the number of its type, then alternately those of keys and values. */
function encodeEvents(events: readonly NativeEvent[], table: TextTable): bigint[][] {
  return events.map(({ type, attributes }) => {
    const numbers = [table.add(type)]
    for (const { key, value } of attributes) numbers.push(table.add(key), table.add(value))
    return numbers
  })
}

/** @throws Error when a number has no text (a damaged database) */
function decodeEvent([type, ...rest]: readonly number[], texts: readonly string[]): NativeEvent {
  const textOf = (number: number | undefined): string => {
    const text = number === undefined ? undefined : texts[number]
    if (text === undefined) throw new Error('damaged block results: an event has no text')
    return text
  }
  const attributes = []
  for (let at = 0; at < rest.length; at += 2) attributes.push({ key: textOf(rest[at]), value: textOf(rest[at + 1]) })
  return { type: textOf(type), attributes }
}
