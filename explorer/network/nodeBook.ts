import type { Selectable, Transaction } from 'kysely'
import type { ServiceQueries, ServiceTables } from '../database/services.ts'
import type { Report, ReportRefusal } from './readReport.ts'

/** Stored nodes. A report of another node replaces a silent node, or is refused. */
const MAX_NODES = 1_000
/** A node reports every 30 seconds: after three missing reports it counts as silent. */
export const SILENT_MS = 90_000
const HOUR_MS = 3_600_000
const KEPT_MS = 30 * 24 * HOUR_MS

/** An RPC address that was not asked yet. */
const UNKNOWN_RPC = { rpc_latency: null, rpc_problem: null } as const

export type NodeRow = Selectable<ServiceTables['node']>

interface ReportContext {
  readonly lag: number
  readonly nowMs: number
  readonly mayAdd: () => boolean
  readonly maxNodes?: number
}

/**
 * Stores a report: the node's row, and its row of this hour. A signed report must be newer than the last one, so that it cannot be
 * replayed. Once a node has signed, reports for it without its key are refused.
 * @param lag blocks that the node is behind the chain
 * @param mayAdd whether the client may report for one more node; asked only then
 * @returns why it is refused; undefined when it is stored
 */
export function storeReport(
  services: ServiceQueries,
  report: Report,
  { lag, nowMs, mayAdd, maxNodes = MAX_NODES }: ReportContext,
): Promise<ReportRefusal | undefined> {
  return services.transaction().execute(async (queries) => {
    const { nodeId } = report
    const isVerified = report.signedAtMs === undefined ? 0 : 1
    const known = await queries
      .selectFrom('node')
      .select(['is_verified', 'rpc_address'])
      .where('node_id', '=', nodeId)
      .executeTakeFirst()
    if (known === undefined && !mayAdd()) {
      return { status: 429, error: 'too many new nodes from this address: try again later' }
    }
    // Unsigned reports in this node's name are not its history.
    if (known?.is_verified === 0 && isVerified === 1) await forget(queries, nodeId)
    const isNew = known === undefined || known.is_verified < isVerified
    if (isNew && !(await makeRoom(queries, isVerified, nowMs, maxNodes))) {
      return { status: 503, error: `the limit of ${maxNodes} reporting nodes is reached: try again later` }
    }
    const state = {
      is_verified: isVerified,
      signed_at: report.signedAtMs ?? 0,
      last_seen: nowMs,
      moniker: report.moniker,
      version: report.version,
      height: report.height,
      block_hash: report.blockHash,
      block_time: report.blockTimeMs,
      peers: report.peers,
      lag,
      rpc_address: report.rpcAddress,
    }
    // The conditions are in the statement: two explorers over one database may get the same report at the same time.
    const stored = await queries
      .insertInto('node')
      .values({
        ...state,
        node_id: nodeId,
        first_seen: nowMs,
        probed_at: 0,
        ...UNKNOWN_RPC,
      })
      .onConflict((conflict) =>
        conflict
          .column('node_id')
          // Results for another address do not apply to this one.
          .doUpdateSet(known?.rpc_address === report.rpcAddress ? state : { ...state, ...UNKNOWN_RPC })
          .where((where) =>
            isVerified === 1 ? where('node.signed_at', '<', state.signed_at) : where('node.is_verified', '=', 0),
          ),
      )
      .returning('number')
      .execute()
    if (stored.length === 0) {
      const error =
        isVerified === 1
          ? 'the report is not newer than the previous report of this node'
          : 'reports of this node must be signed, as earlier ones were'
      return { status: 401, error }
    }
    const hour = nowMs - (nowMs % HOUR_MS)
    const { height, peers } = report
    await queries
      .insertInto('heartbeat')
      .values({ node_id: nodeId, hour, reports: 1, height, lag, peers })
      .onConflict((conflict) =>
        conflict
          .columns(['node_id', 'hour'])
          .doUpdateSet((set) => ({ reports: set('heartbeat.reports', '+', 1), height, lag, peers })),
      )
      .execute()
    return undefined
  })
}

/** Removes a silent node, unverified ones first, where there are too many. @returns whether there is room for one more */
async function makeRoom(
  queries: Transaction<ServiceTables>,
  isVerified: number,
  nowMs: number,
  maxNodes: number,
): Promise<boolean> {
  const { count } = await queries
    .selectFrom('node')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  if (Number(count) < maxNodes) return true
  const silent = nowMs - SILENT_MS
  // A verified node may replace any unverified node; an unverified node only a silent one.
  const out = await queries
    .selectFrom('node')
    .select('node_id')
    .where(({ and, or, eb }) =>
      isVerified === 1
        ? or([eb('is_verified', '=', 0), eb('last_seen', '<', silent)])
        : and([eb('is_verified', '=', 0), eb('last_seen', '<', silent)]),
    )
    .orderBy('is_verified')
    .orderBy('last_seen')
    .limit(1)
    .executeTakeFirst()
  if (out === undefined) return false
  await forget(queries, out.node_id)
  return true
}

async function forget(queries: Transaction<ServiceTables>, nodeId: Uint8Array): Promise<void> {
  await queries.deleteFrom('heartbeat').where('node_id', '=', nodeId).execute()
  await queries.deleteFrom('node').where('node_id', '=', nodeId).execute()
}

/** Deletes what is older than 30 days. */
export async function deleteOldReports(services: ServiceQueries, nowMs: number): Promise<void> {
  await services.transaction().execute(async (queries) => {
    await queries
      .deleteFrom('heartbeat')
      .where('hour', '<', nowMs - KEPT_MS)
      .execute()
    await queries
      .deleteFrom('node')
      .where('last_seen', '<', nowMs - KEPT_MS)
      .execute()
  })
}
