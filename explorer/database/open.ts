import { resolve } from 'node:path'
import type { IndexDatabase } from './indexDatabase.ts'
import { migrate } from './migrate.ts'
import { openPostgres } from './postgres.ts'
import { openSqlite } from './sqlite.ts'

/**
 * Opens the database at `place`, a `postgres://` address or the path of an SQLite file, and brings its tables up to date.
 * @throws when it cannot be reached, or was made by a later version
 */
export async function openDatabase(place: string): Promise<IndexDatabase> {
  const database = isPostgres(place) ? openPostgres(place) : openSqlite(resolve(place))
  try {
    await migrate(database)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Opens a connection that only reads, for answers. The one of {@link openDatabase} must have been opened before. */
export function openReader(place: string): IndexDatabase {
  return isPostgres(place) ? openPostgres(place) : openSqlite(resolve(place), true)
}

export function isPostgres(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place)
}
