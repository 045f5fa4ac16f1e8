import { join, parse, resolve } from 'node:path'
import type { Kysely } from 'kysely'
import { FAUCET_TABLES } from '../faucet/tables.ts'
import { NETWORK_TABLES } from '../network/tables.ts'
import { VERIFICATION_TABLES } from '../verify/tables.ts'
import { migrationsOf, type RowsOf } from './defineTable.ts'
import { migrate } from './migrate.ts'
import { isPostgres } from './open.ts'
import { connectPostgres } from './postgres.ts'
import { connectSqlite } from './sqlite.ts'

/*
 * Tables next to the index: data that the node cannot provide again. In SQLite they are in a file of their own. So they remain when the
 * index is deleted to be rebuilt, and the thread that answers can write without waiting for the index thread. In PostgreSQL they are in
 * the database of the index.
 */

const SERVICE_TABLES = { ...NETWORK_TABLES, ...FAUCET_TABLES, ...VERIFICATION_TABLES }

export type ServiceTables = RowsOf<typeof SERVICE_TABLES>
export type ServiceQueries = Kysely<ServiceTables>

export const SERVICE_MIGRATIONS = migrationsOf(SERVICE_TABLES)

/**
 * Opens the tables next to the index at `place`, and brings them up to date.
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

/** The file next to the index: `index-services.sqlite` for `index.sqlite`. */
function servicesPath(index: string): string {
  const { dir, name, ext } = parse(resolve(index))
  return join(dir, `${name}-services${ext}`)
}
