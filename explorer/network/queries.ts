import type { Kysely } from 'kysely'
import { equalBytes } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { cursorPage, type NumberPage, type NumberPageRequest } from '../api/cursors.ts'
import { viewTime } from '../api/views.ts'
import type { Tables } from '../database/schema.ts'
import type { ServiceQueries } from '../database/services.ts'
import { type NodeRow, SILENT_MS } from './nodeBook.ts'
import type { Network, NetworkNode, NodeDetail } from './shapes.ts'

/* Nodes that report. Their blocks are compared with those of the index. */

type Databases = Pick<Api, 'queries' | 'services'>

/** Lags that count as one: each from this many blocks up to the next one. */
const LAG_STEPS = [0, 3, 10, 100, 1_000] as const
/** A month. */
const MAX_HOURS = 720

/** How many nodes report, with the versions and lags of the verified ones. */
export async function countNodes(services: ServiceQueries): Promise<Network> {
  const rows = await services.selectFrom('node').select(['is_verified', 'last_seen', 'version', 'lag']).execute()
  const nowMs = Date.now()
  const now = rows.filter(({ last_seen }) => !isSilent(last_seen, nowMs))
  const verified = now.filter(({ is_verified }) => is_verified === 1)
  const byVersion = Map.groupBy(verified, ({ version }) => version)
  return {
    verified: verified.length,
    unverified: now.length - verified.length,
    silent: rows.filter(({ is_verified, last_seen }) => is_verified === 1 && isSilent(last_seen, nowMs)).length,
    versions: [...byVersion]
      .map(([version, nodes]) => ({ version, nodes: nodes.length }))
      .sort((a, b) => b.nodes - a.nodes || (a.version < b.version ? -1 : 1)),
    lags: LAG_STEPS.map((from, index) => {
      const end = LAG_STEPS[index + 1]
      const nodes = verified.filter(({ lag }) => lag >= from && (end === undefined || lag < end)).length
      return { from, to: end === undefined ? null : end - 1, nodes }
    }),
  }
}

/** Lists nodes in the order of their first reports, the newest first; with `isVerified` only those that sign, or do not. */
export async function listNodes(
  { queries, services }: Databases,
  { isVerified }: { readonly isVerified: boolean | undefined },
  { limit, before }: NumberPageRequest,
): Promise<NumberPage<NetworkNode>> {
  let select = services.selectFrom('node').selectAll()
  if (before !== undefined) select = select.where('number', '<', before)
  if (isVerified !== undefined) select = select.where('is_verified', '=', isVerified ? 1 : 0)
  const rows = await select
    .orderBy('number', 'desc')
    .limit(limit + 1)
    .execute()
  const { items, next } = cursorPage(
    rows,
    limit,
    (row) => row,
    ({ number }) => number,
  )
  return { items: await viewNodes(queries, items), next }
}

/** A node with its last 30 days; undefined: no reporting node has this ID. */
export async function findNode({ queries, services }: Databases, nodeId: Uint8Array): Promise<NodeDetail | undefined> {
  const row = await services.selectFrom('node').selectAll().where('node_id', '=', nodeId).executeTakeFirst()
  if (row === undefined) return undefined
  const hours = await services
    .selectFrom('heartbeat')
    .selectAll()
    .where('node_id', '=', nodeId)
    .orderBy('hour', 'desc')
    .limit(MAX_HOURS)
    .execute()
  const [shown] = await viewNodes(queries, [row])
  return {
    ...shown!,
    hours: hours.map(({ hour, reports, height, lag, peers }) => ({
      time: viewTime(hour),
      reports,
      height,
      lag,
      peers,
    })),
  }
}

/** Compares their blocks with those of the index. */
async function viewNodes(queries: Kysely<Tables>, rows: readonly NodeRow[]): Promise<NetworkNode[]> {
  const heights = [...new Set(rows.map(({ height }) => height))]
  const blocks =
    heights.length === 0
      ? []
      : await queries.selectFrom('block').select(['height', 'hash']).where('height', 'in', heights).execute()
  const hashes = new Map(blocks.map(({ height, hash }) => [height, hash]))
  const nowMs = Date.now()
  return rows.map((row) => viewNode(row, hashes.get(row.height), nowMs))
}

function viewNode(row: NodeRow, hash: Uint8Array | undefined, nowMs: number): NetworkNode {
  const isVerified = row.is_verified === 1
  return {
    nodeId: Buffer.from(row.node_id).toString('hex'),
    isVerified,
    isSilent: isSilent(row.last_seen, nowMs),
    moniker: row.moniker,
    version: row.version,
    height: row.height,
    lag: row.lag,
    chain: hash === undefined ? 'unknown' : equalBytes(hash, row.block_hash) ? 'same' : 'other',
    peers: row.peers,
    firstSeen: viewTime(row.first_seen),
    lastSeen: viewTime(row.last_seen),
    rpc:
      row.rpc_address === null || !isVerified
        ? null
        : {
            url: row.rpc_address,
            latencyMs: row.rpc_latency,
            problem: row.rpc_problem,
            askedAt: row.probed_at === 0 ? null : viewTime(row.probed_at),
          },
  }
}

function isSilent(lastSeen: number, nowMs: number): boolean {
  return lastSeen < nowMs - SILENT_MS
}
