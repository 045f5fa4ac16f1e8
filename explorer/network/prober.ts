import type { Kysely } from 'kysely'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { type Addresses, REAL_ADDRESSES } from '../../src/primitives/publicAddresses.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { Tables } from '../database/schema.ts'
import type { ServiceQueries } from '../database/services.ts'
import { SILENT_MS } from './nodeBook.ts'
import { type KnownBlock, locate, ProbeProblem, probe } from './probe.ts'

interface ProberOptions {
  readonly queries: Kysely<Tables>
  readonly services: ServiceQueries
  readonly logger: Pick<Logger, 'warn'>
  /** whether addresses in private networks and on this machine are asked as well */
  readonly allowsPrivate: boolean
  readonly addresses?: Addresses
  /** milliseconds between two checks for a due address */
  readonly pollMs?: number
  /** milliseconds between two requests to one server */
  readonly serverPauseMs?: number
}

/** At most two probes start per second. */
const POLL_MS = 500
/** Most probes at once. A DNS look-up takes one of the four threads that files are read with. */
const MAX_PROBES = 2
/** How often an RPC address is asked. */
const EVERY_MS = 300_000
/** The same for an address without a result: it is new, or its server was just asked for another node. */
const SOON_MS = 60_000
/** Between two requests to one server, whatever names it has; longer than a request can take, so that there is one at a time. */
const SERVER_PAUSE_MS = 3_000
/** How far the requested block is below the newest one. */
const BLOCKS_BELOW = 10

/**
 * Asks the RPC addresses of nodes that sign their reports, in the background. Several explorers over one database share the work: the
 * first one to mark an address as asked probes it.
 */
export function startProber(options: ProberOptions): { stop(): Promise<void> } {
  const { services, logger, pollMs = POLL_MS, serverPauseMs = SERVER_PAUSE_MS } = options
  const stopped = new AbortController()
  const probes = new Set<Promise<void>>()
  const servers = new Map<string, number>()
  const { resolve, isPublic } = options.addresses ?? REAL_ADDRESSES
  const addresses: Addresses = { resolve, isPublic: options.allowsPrivate ? () => true : isPublic }
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let isFailing = false

  const look = async (): Promise<void> => {
    const known = await knownBlock(options.queries)
    const due = known === undefined ? undefined : await claim(services)
    if (known === undefined || due === undefined) return
    const asking = ask(due, known).catch(report)
    probes.add(asking)
    void asking.finally(() => probes.delete(asking))
  }

  const ask = async ({ node_id, rpc_address }: Due, known: KnownBlock): Promise<void> => {
    const url = new URL(rpc_address)
    let result: { readonly rpc_latency: number | null; readonly rpc_problem: string | null }
    try {
      // A look-up cannot be cancelled, so a stop does not wait for it.
      const address = await unlessAborted(stopped.signal, locate(url, addresses))
      if (!takeServer(servers, address.address, performance.now(), serverPauseMs)) return
      const rpc_latency = await probe(url, address, known, stopped.signal)
      result = { rpc_latency, rpc_problem: null }
    } catch (error) {
      if (stopped.signal.aborted) return
      if (!(error instanceof ProbeProblem)) throw error
      result = { rpc_latency: null, rpc_problem: error.message }
    }
    // Of this address: the node may have reported another one by now.
    await services
      .updateTable('node')
      .set(result)
      .where('node_id', '=', node_id)
      .where('rpc_address', '=', rpc_address)
      .execute()
  }

  const report = (error: unknown): void => {
    if (!isFailing && !stopped.signal.aborted) logger.warn({ error }, 'cannot check RPC addresses of nodes')
    isFailing = true
  }

  const poll = (): void => {
    if (probes.size >= MAX_PROBES) {
      timer = setTimeout(poll, pollMs).unref()
      return
    }
    looking = look()
      .then(() => {
        isFailing = false
      }, report)
      .finally(() => {
        if (!stopped.signal.aborted) timer = setTimeout(poll, pollMs).unref()
      })
  }
  timer = setTimeout(poll, pollMs).unref()
  return {
    stop: async () => {
      stopped.abort()
      clearTimeout(timer)
      await looking
      await Promise.all(probes)
    },
  }
}

interface Due {
  readonly node_id: Uint8Array
  readonly rpc_address: string
}

/** The node whose address is due for longest, marked as asked now; undefined: no address is due, or another explorer was faster. */
async function claim(services: ServiceQueries): Promise<Due | undefined> {
  const nowMs = Date.now()
  const due = await services
    .selectFrom('node')
    .select(['node_id', 'rpc_address', 'probed_at'])
    .where('is_verified', '=', 1)
    .where('last_seen', '>=', nowMs - SILENT_MS)
    .where('rpc_address', 'is not', null)
    .where(({ or, and, eb }) =>
      or([
        eb('probed_at', '<', nowMs - EVERY_MS),
        and([eb('rpc_latency', 'is', null), eb('rpc_problem', 'is', null), eb('probed_at', '<', nowMs - SOON_MS)]),
      ]),
    )
    .orderBy('probed_at')
    .limit(1)
    .executeTakeFirst()
  if (due === undefined) return undefined
  const claimed = await services
    .updateTable('node')
    .set({ probed_at: nowMs })
    .where('node_id', '=', due.node_id)
    .where('probed_at', '=', due.probed_at)
    .returning('node_id')
    .execute()
  return claimed.length === 0 ? undefined : { node_id: due.node_id, rpc_address: due.rpc_address! }
}

async function knownBlock(queries: Kysely<Tables>): Promise<KnownBlock | undefined> {
  const chain = await queries.selectFrom('ingest').selectAll().executeTakeFirst()
  if (chain === undefined) return undefined
  const height = Math.max(chain.first_height, chain.height - BLOCKS_BELOW)
  const block = await queries.selectFrom('block').select('hash').where('height', '=', height).executeTakeFirst()
  return block && { evmChainId: chain.evm_chain_id, height, hash: bytesToHex(block.hash) }
}

/** @returns false when this server was asked a moment ago */
function takeServer(servers: Map<string, number>, address: string, nowMs: number, pauseMs: number): boolean {
  for (const [server, atMs] of servers) if (atMs <= nowMs - pauseMs) servers.delete(server)
  if (servers.has(address)) return false
  servers.set(address, nowMs)
  return true
}

/** @throws the signal's reason, as soon as it is aborted */
function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const abort = (): void => reject(signal.reason)
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)
  work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  return promise
}
