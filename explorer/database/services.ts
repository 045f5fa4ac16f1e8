import { join, parse, resolve } from 'node:path'
import type { Generated, Kysely } from 'kysely'
import { FAUCET_MIGRATION, type FaucetTables } from '../faucet/tables.ts'
import { PROXY_MIGRATION, VERIFICATION_MIGRATION, type VerificationTables } from '../verify/tables.ts'
import { migrate } from './migrate.ts'
import { isPostgres } from './open.ts'
import { connectPostgres } from './postgres.ts'
import { connectSqlite } from './sqlite.ts'

/*
 * What the explorer stores beside the index: what the node cannot tell again. In SQLite it is a file of its own, so that it is still
 * there when the index is deleted to be made anew, and so that the thread that answers can write without waiting for the thread that
 * indexes. In PostgreSQL its tables are in the database of the index.
 */

/** A node that reports. Times are milliseconds since 1970. */
export interface NodeTable {
  /** in the order of their first reports */
  number: Generated<number>
  /** 20 bytes */
  node_id: Uint8Array
  /** 1: its reports are signed by the key of its node ID */
  is_verified: number
  /** when the newest signed report was signed: an older one is a replay */
  signed_at: number
  first_seen: number
  last_seen: number
  moniker: string
  version: string
  height: number
  block_hash: Uint8Array
  block_time: number
  peers: number
  /** blocks that it was behind the chain when it reported */
  lag: number
  rpc_address: string | null
  /** when its RPC address was asked last; 0: never */
  probed_at: number
  /** milliseconds that a right answer took; null: there was none */
  rpc_latency: number | null
  /** why there was none */
  rpc_problem: string | null
}

/** The reports of a node in an hour. */
interface HeartbeatTable {
  node_id: Uint8Array
  /** when the hour began */
  hour: number
  reports: number
  /** of the last report in the hour */
  height: number
  lag: number
  peers: number
}

export interface ServiceTables extends FaucetTables, VerificationTables {
  node: NodeTable
  heartbeat: HeartbeatTable
}

export type ServiceQueries = Kysely<ServiceTables>

/** As the index's migrations (migrations.ts). NUMBERED counts the rows. */
const SERVICE_MIGRATIONS: Readonly<Record<string, string>> = {
  '0001_network': `
    create table node (
      number NUMBERED primary key,
      node_id BYTES not null unique,
      is_verified INT not null,
      signed_at INT not null,
      first_seen INT not null,
      last_seen INT not null,
      moniker text not null,
      version text not null,
      height INT not null,
      block_hash BYTES not null,
      block_time INT not null,
      peers INT not null,
      lag INT not null,
      rpc_address text,
      probed_at INT not null,
      rpc_latency INT,
      rpc_problem text
    );
    create index node_last_seen on node (is_verified, last_seen);
    create table heartbeat (
      node_id BYTES not null,
      hour INT not null,
      reports INT not null,
      height INT not null,
      lag INT not null,
      peers INT not null,
      primary key (node_id, hour)
    ) KEYED;
    create index heartbeat_hour on heartbeat (hour);
  `,
  '0002_faucet': FAUCET_MIGRATION,
  '0003_verification': VERIFICATION_MIGRATION,
  '0004_proxies': PROXY_MIGRATION,
}

/**
 * Opens the tables beside the index at `place`, and brings them up to date.
 * @throws when the database cannot be reached, or was made by a later version
 */
export async function openServices(place: string): Promise<ServiceQueries> {
  const { dialect, queries } = isPostgres(place)
    ? connectPostgres<ServiceTables>(place)
    : connectSqlite<ServiceTables>(servicesPath(place))
  try {
    await migrate({ dialect, queries }, SERVICE_MIGRATIONS, 'service_migration')
    return queries
  } catch (error) {
    await queries.destroy()
    throw error
  }
}

/** The file beside the index: `index.sqlite` has `index-services.sqlite`. */
function servicesPath(index: string): string {
  const { dir, name, ext } = parse(resolve(index))
  return join(dir, `${name}-services${ext}`)
}
