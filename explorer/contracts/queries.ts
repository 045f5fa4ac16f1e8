import { type Kysely, sql } from 'kysely'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import {
  cursorPage,
  type NumberPage,
  newestRows,
  type PageRows,
  placePage,
  readPlaceCursor,
  type TextPage,
  type TextPageRequest,
} from '../api/cursors.ts'
import { viewAmount } from '../api/views.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import { unpackCalls } from './callTree.ts'
import type { Call, CallPage, Contract, InternalCall, Log, TracedPage, TraceState } from './shapes.ts'
import { CALL_KINDS, CREATION_KINDS, TRACE_STATES } from './tables.ts'
import { findUntraced, firstIndexedHeight } from './untraced.ts'

/* Logs, calls and contracts. Each list is one walk along an index. */

type Queries = Kysely<Tables>

interface OrderedPart {
  readonly limit: number
  /** ordinal of the last row before this part */
  readonly after?: number | undefined
}

/** Bytes of a log's data that are shown. */
const MAX_DATA = 8_192

const namesOf = <K extends string>(kinds: Readonly<Record<K, number>>): Readonly<Record<number, K>> =>
  Object.fromEntries(Object.entries<number>(kinds).map(([name, kind]) => [kind, name as K]))
const CALL_NAMES = namesOf(CALL_KINDS)
const CREATION_NAMES = namesOf(CREATION_KINDS)
const TRACE_NAMES = namesOf(TRACE_STATES)

/** Returns the position of a transaction; undefined when the index has no transaction with this hash. */
export async function findPosition(queries: Queries, hash: Uint8Array): Promise<number | undefined> {
  const row = await queries.selectFrom('tx').select('position').where('hash', '=', hash).executeTakeFirst()
  return row?.position
}

/** How many logs and calls a transaction has, and what is known of its calls. */
export async function runOf(
  queries: Queries,
  position: number,
): Promise<{ readonly logs: number; readonly calls: number; readonly trace: TraceState }> {
  const row = await queries.selectFrom('tx_run').selectAll().where('position', '=', position).executeTakeFirst()
  return {
    logs: row?.logs ?? 0,
    calls: row?.calls ?? 0,
    trace: row === undefined || row.trace === null ? 'none' : TRACE_NAMES[row.trace]!,
  }
}

/** Logs of one transaction, in their order. */
export async function logsOf(
  queries: Queries,
  position: number,
  { limit, after = -1 }: OrderedPart,
): Promise<NumberPage<Log>> {
  const part = queries
    .selectFrom('log')
    .selectAll()
    .where('position', '=', position)
    .where('ordinal', '>', after)
    .orderBy('ordinal')
    .limit(limit + 1)
  const rows = await selectLogs(queries, part).orderBy('log.ordinal').execute()
  return cursorPage(rows, limit, viewLog, ({ ordinal }) => ordinal)
}

/** Logs that a contract emitted, from the newest to the oldest; with `topic` only those of one event. */
export async function listLogs(
  queries: Queries,
  { address, topic }: { readonly address: Uint8Array; readonly topic?: Uint8Array | undefined },
  shown: TextPageRequest,
): Promise<TextPage<Log>> {
  let part = newestRows(queries, 'log', shown).where('address', '=', address)
  if (topic !== undefined) part = part.where('topic0', '=', topic)
  const rows = await selectLogs(queries, part).orderBy('log.position', 'desc').orderBy('log.ordinal', 'desc').execute()
  return placePage(rows, shown.limit, viewLog)
}

/** All calls of a transaction, in their order. */
export async function callsOf(
  queries: Queries,
  position: number,
  { limit, after = -1 }: OrderedPart,
): Promise<CallPage> {
  const { trace: state, calls: count } = await runOf(queries, position)
  const row = await queries.selectFrom('call_tree').select('calls').where('position', '=', position).executeTakeFirst()
  const rest = row === undefined ? [] : unpackCalls(row.calls).filter(({ ordinal }) => ordinal > after)
  const view = ({ kind, from, to, value, isEffective, ...call }: (typeof rest)[number]): Call => ({
    ...call,
    kind: CALL_NAMES[kind]!,
    from: toChecksumAddress(hexToBytes(from)),
    to: to === null ? null : toChecksumAddress(hexToBytes(to)),
    value: value.toString(),
    isSuccessful: isEffective,
  })
  return { state, count, ...cursorPage(rest, limit, view, ({ ordinal }) => ordinal) }
}

/** Lists an account's internal calls, the newest first: those that moved its coins, created or destroyed it, or that it made. */
export async function listInternalCalls(
  queries: Queries,
  account: Uint8Array,
  shown: TextPageRequest,
): Promise<TracedPage<InternalCall>> {
  const part = newestRows(queries, 'account_call', shown).where('address', '=', account)
  const rows = await queries
    .selectFrom(part.as('account_call'))
    .innerJoin('internal_call', (join) =>
      join
        .onRef('internal_call.position', '=', 'account_call.position')
        .onRef('internal_call.ordinal', '=', 'account_call.ordinal'),
    )
    .innerJoin('tx', 'tx.position', 'account_call.position')
    .selectAll('internal_call')
    .select('tx.hash')
    .orderBy('account_call.position', 'desc')
    .orderBy('account_call.ordinal', 'desc')
    .execute()
  const page = placePage(rows, shown.limit, (row) => ({
    height: heightOf(row.position),
    transaction: bytesToHex(row.hash),
    ordinal: row.ordinal,
    depth: row.depth,
    kind: CALL_NAMES[row.kind]!,
    from: toChecksumAddress(row.sender),
    to: row.recipient === null ? null : toChecksumAddress(row.recipient),
    value: viewAmount(row.value),
    gas: row.gas,
    gasUsed: row.gas_used,
    isSuccessful: row.is_ok === 1,
    error: row.error,
  }))
  return traced(queries, page, shown)
}

/** Adds what the page may lack: from its start to its last row, or to the start of the chain on the last page. */
async function traced<T>(queries: Queries, page: TextPage<T>, { before }: TextPageRequest): Promise<TracedPage<T>> {
  const [to] = readPlaceCursor(before)
  const from = page.next === null ? 0 : readPlaceCursor(page.next)[0]
  const [untraced, first] = await Promise.all([
    findUntraced(queries, { from, to }, 'desc'),
    firstIndexedHeight(queries),
  ])
  return { ...page, untraced: untraced ?? null, indexedFrom: first === 0 ? null : first }
}

/** Contracts from the newest to the oldest; with `creator` only those that one account or contract created. */
export async function listContracts(
  queries: Queries,
  { creator }: { readonly creator?: Uint8Array | undefined },
  shown: TextPageRequest,
): Promise<TracedPage<Contract>> {
  let part = newestRows(queries, 'contract', shown)
  if (creator !== undefined) part = part.where('creator', '=', creator)
  const rows = await selectContracts(queries, part)
    .orderBy('contract.position', 'desc')
    .orderBy('contract.ordinal', 'desc')
    .execute()
  return traced(queries, placePage(rows, shown.limit, viewContract), shown)
}

/** A contract whose creation the index has seen. */
export async function findContract(queries: Queries, address: Uint8Array): Promise<Contract | undefined> {
  const part = queries.selectFrom('contract').selectAll().where('address', '=', address)
  const row = await selectContracts(queries, part).executeTakeFirst()
  return row === undefined ? undefined : viewContract(row)
}

/** @param part see {@link PageRows} */
function selectLogs(queries: Queries, part: PageRows<'log'>) {
  return queries
    .selectFrom(part.as('log'))
    .innerJoin('tx', 'tx.position', 'log.position')
    .select([
      'log.position',
      'log.ordinal',
      'log.address',
      'log.topic0',
      'log.topic1',
      'log.topic2',
      'log.topic3',
      'log.log_index',
      'tx.hash',
    ])
    .select(sql<Uint8Array>`substr(log.data, 1, ${sql.lit(MAX_DATA)})`.as('data'))
    .select(sql<number>`length(log.data)`.as('size'))
}

function viewLog(row: Awaited<ReturnType<ReturnType<typeof selectLogs>['execute']>>[number]): Log {
  const { topic0, topic1, topic2, topic3 } = row
  return {
    height: heightOf(row.position),
    transaction: bytesToHex(row.hash),
    index: row.log_index,
    address: toChecksumAddress(row.address),
    topics: [topic0, topic1, topic2, topic3].filter((topic) => topic !== null).map(bytesToHex),
    data: bytesToHex(row.data),
    dataSize: Number(row.size),
  }
}

/** @param part see {@link PageRows} */
function selectContracts(queries: Queries, part: PageRows<'contract'>) {
  return queries
    .selectFrom(part.as('contract'))
    .leftJoin('tx', 'tx.position', 'contract.position')
    .leftJoin('tx as end', 'end.position', 'contract.destroyed')
    .selectAll('contract')
    .select(['tx.hash as hash', 'end.hash as end_hash'])
}

function viewContract(row: Awaited<ReturnType<ReturnType<typeof selectContracts>['execute']>>[number]): Contract {
  const { address, position, creator, kind, destroyed, is_deleted, label, hash, end_hash } = row
  return {
    address: toChecksumAddress(address),
    creator: creator === null ? null : toChecksumAddress(creator),
    created: hash === null ? null : { height: heightOf(position), transaction: bytesToHex(hash) },
    way: CREATION_NAMES[kind]!,
    label,
    selfDestruct:
      destroyed === null || end_hash === null
        ? null
        : { height: heightOf(destroyed), transaction: bytesToHex(end_hash) },
    isDeleted: is_deleted === 1,
  }
}
