import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IndexDatabase } from '../../../explorer/database/indexDatabase.ts'
import { openDatabase } from '../../../explorer/database/open.ts'
import { openServices, type ServiceQueries } from '../../../explorer/database/services.ts'
import { postgresPrograms, startPostgres } from '../../postgres/startPostgres.ts'

export interface TestDatabases {
  readonly database: IndexDatabase
  readonly services: ServiceQueries
  /** Closes and removes them. */
  close(): Promise<void>
}

/** Empty databases of an explorer: SQLite, or with TEST_POSTGRES=1 (`npm run test:postgres`) a PostgreSQL server of their own. */
export async function openTestDatabases(): Promise<TestDatabases> {
  const directory = mkdtempSync(join(tmpdir(), 'coind-explorer-'))
  const postgres = process.env.TEST_POSTGRES === '1' ? await startPostgres(postgresPrograms()!) : undefined
  const path = postgres?.url ?? join(directory, 'index.sqlite')
  const database = await openDatabase(path)
  const services = await openServices(path)
  return {
    database,
    services,
    close: async () => {
      await services.destroy()
      await database.close()
      postgres?.stop()
      rmSync(directory, { recursive: true })
    },
  }
}
