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
 * What the explorer stores beside the index: what the node cannot tell again. In SQLite it is a file of its own, so that it is still
 * there when the index is deleted to be made anew, and so that the thread that answers can write without waiting for the thread that
 * indexes. In PostgreSQL its tables are in the database of the index.
 */

const SERVICE_TABLES = { ...NETWORK_TABLES, ...FAUCET_TABLES, ...VERIFICATION_TABLES }

export type ServiceTables = RowsOf<typeof SERVICE_TABLES>
export type ServiceQueries = Kysely<ServiceTables>

export const SERVICE_MIGRATIONS = migrationsOf(SERVICE_TABLES)

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
