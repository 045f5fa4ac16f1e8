import { sql } from 'kysely'
import { bytesToHex, equalBytes, toQuantity } from '../../src/primitives/bytes.ts'
import type { Placed } from '../api/cursors.ts'
import { type Action, actionsOf, type EtherscanContext, listed, tooMuch } from './action.ts'
import { type Parameters, RequestError } from './parameters.ts'
import { boundsOf } from './places.ts'
import { transactionFacts } from './transactionFacts.ts'
import { type Bounds, comparePlaces, walk } from './walk.ts'

/** Logs of one page, as at Etherscan. */
const MAX_LOGS = 1_000
/** Bytes of the data of all logs in one answer. */
const MAX_DATA = 8 * 1024 * 1024
const DATA_AT_ONCE = 200
const TOPICS = ['topic0', 'topic1', 'topic2', 'topic3'] as const

interface LogRow extends Placed {
  readonly address: Uint8Array
  readonly topic0: Uint8Array | null
  readonly topic1: Uint8Array | null
  readonly topic2: Uint8Array | null
  readonly topic3: Uint8Array | null
  readonly log_index: number
  /** bytes of its data, which is read for the page alone */
  readonly size: number
}

/**
 * Logs by address and topics, the oldest first. There is an index for those of an address, those with a first topic that all must have, and
 * those with both. Other topics are filtered along one of these, or along all logs from `fromBlock` on, within the rows that a walk may read.
 */
const getLogs: Action = async (parameters, { queries }) => {
  const address = parameters.optionalAddress('address')
  const topics = TOPICS.map((name) => parameters.optionalHash(name))
  if (address === undefined && topics.every((topic) => topic === undefined)) {
    throw new RequestError('Error! Missing address or topic')
  }
  const fits = topicFilter(parameters, topics)
  // Only where every log must have it does the index of first topics have them all.
  const first = isAlways(parameters, topics) ? topics[0] : undefined
  const part = { ...parameters.part(MAX_LOGS), direction: 'asc' } as const
  const rows = await walk<LogRow>(
    (bounds, limit) => readLogs(queries, address, first, bounds, limit),
    boundsOf(parameters.heights('fromblock', 'toblock')),
    part,
    fits,
  )
  const data = await readData(queries, rows)
  const facts = await transactionFacts(
    queries,
    rows.map(({ position }) => position),
  )
  const result = rows.map((row, index) => {
    const own = facts.get(row.position)!
    return {
      address: bytesToHex(row.address),
      topics: TOPICS.map((name) => row[name])
        .filter((topic) => topic !== null)
        .map(bytesToHex),
      data: data[index]!,
      blockNumber: toQuantity(own.height),
      blockHash: own.blockHash,
      timeStamp: toQuantity(own.time),
      gasPrice: `0x${BigInt(own.gasPrice).toString(16)}`,
      gasUsed: toQuantity(own.gasUsed),
      logIndex: toQuantity(row.log_index),
      transactionHash: own.hash,
      transactionIndex: toQuantity(own.index),
    }
  })
  return listed(result, 'No records found')
}

/**
 * The query names only the end at which the part begins: with both, SQLite takes the index of first topics for those of one address, however
 * many others there are between them.
 */
async function readLogs(
  queries: EtherscanContext['queries'],
  address: Uint8Array | undefined,
  topic0: Uint8Array | undefined,
  { after, before }: Bounds,
  limit: number,
): Promise<readonly LogRow[]> {
  let select = queries
    .selectFrom('log')
    .select(['position', 'ordinal', 'address', ...TOPICS, 'log_index'])
    .select(sql<number>`length(data)`.as('size'))
    .where(({ eb, refTuple, tuple }) => eb(refTuple('position', 'ordinal'), '>', tuple(after.position, after.ordinal)))
    .orderBy('position')
    .orderBy('ordinal')
    .limit(limit)
  if (address !== undefined) select = select.where('address', '=', address)
  if (topic0 !== undefined) select = select.where('topic0', '=', topic0)
  const rows = await select.execute()
  return rows.filter((row) => comparePlaces(row, before) < 0)
}

/**
 * The data of these logs, 0x…, in their order.
 * @throws RequestError when they are too long for one answer
 */
async function readData(queries: EtherscanContext['queries'], rows: readonly LogRow[]): Promise<readonly string[]> {
  if (rows.reduce((sum, { size }) => sum + Number(size), 0) > MAX_DATA) throw tooMuch()
  const found = new Map<string, string>()
  for (let at = 0; at < rows.length; at += DATA_AT_ONCE) {
    const places = rows
      .slice(at, at + DATA_AT_ONCE)
      .map(({ position, ordinal }) => sql`(cast(${position} as bigint), cast(${ordinal} as bigint))`)
    const part = await queries
      .selectFrom('log')
      .select(['position', 'ordinal', 'data'])
      .where(sql<boolean>`(position, ordinal) in (values ${sql.join(places)})`)
      .execute()
    for (const { position, ordinal, data } of part) found.set(`${position}.${ordinal}`, bytesToHex(data))
  }
  return rows.map(({ position, ordinal }) => found.get(`${position}.${ordinal}`)!)
}

type Topics = readonly (Uint8Array | undefined)[]

/** The operator between two topics: `topic0_1_opr=or`; without one it is `and`. */
function operatorOf(parameters: Parameters, a: number, b: number): 'and' | 'or' {
  const text = parameters.text(`topic${a}_${b}_opr`)?.toLowerCase() ?? 'and'
  if (text !== 'and' && text !== 'or')
    throw new RequestError(`Error! Invalid topic${a}_${b}_opr, expected "and" or "or"`)
  return text
}

/** Pairs of the topics that are asked for: each with the one before it. */
function pairsOf(topics: Topics): readonly (readonly [number, number])[] {
  const given = [0, 1, 2, 3].filter((at) => topics[at] !== undefined)
  return given.slice(1).map((at, index) => [given[index]!, at])
}

function isAlways(parameters: Parameters, topics: Topics): boolean {
  return pairsOf(topics).every(([a, b]) => operatorOf(parameters, a, b) === 'and')
}

/** `and` binds before `or`: topics in a row with `and` between them are one group, and one group must fit. */
function topicFilter(parameters: Parameters, topics: Topics): (row: LogRow) => boolean {
  const given = [0, 1, 2, 3].filter((at) => topics[at] !== undefined)
  const groups: number[][] = given.length === 0 ? [] : [[given[0]!]]
  for (const [a, b] of pairsOf(topics)) {
    if (operatorOf(parameters, a, b) === 'and') groups.at(-1)!.push(b)
    else groups.push([b])
  }
  const has = (row: LogRow, at: number): boolean => {
    const own = row[TOPICS[at]!]
    return own !== null && equalBytes(own, topics[at]!)
  }
  return (row) => groups.length === 0 || groups.some((group) => group.every((at) => has(row, at)))
}

/** The module `logs`. */
export const LOG_ACTIONS = actionsOf({ getLogs })
