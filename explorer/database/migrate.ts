import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type { IndexDatabase } from './indexDatabase.ts'
import { INDEX_MIGRATIONS } from './schema.ts'

/**
 * What the types that SQL names differently are called. `KEYED`: SQLite keeps rows in the order of their key, without a second number.
 * `NUMBERED`: the database assigns the next number to each new row.
 */
const WORDS: Readonly<Record<IndexDatabase['dialect'], Readonly<Record<string, string>>>> = {
  sqlite: { BYTES: 'blob', INT: 'integer', KEYED: 'without rowid', NUMBERED: 'integer' },
  postgres: { BYTES: 'bytea', INT: 'bigint', KEYED: '', NUMBERED: 'bigserial' },
}

/**
 * Brings the tables up to date: every migration that the database has not had yet, in the order of their names, each once, also when
 * several processes start at the same time.
 * @param texts the migrations by their names; by default those of the index
 * @param table where the database notes which it has had
 * @throws when one fails, or the database has had one that this version does not know
 */
export async function migrate<T>(
  { queries, dialect }: { readonly queries: Kysely<T>; readonly dialect: IndexDatabase['dialect'] },
  texts: Readonly<Record<string, string>> = INDEX_MIGRATIONS,
  table = 'kysely_migration',
): Promise<void> {
  const migrations = Object.fromEntries(
    Object.entries(texts).map(([name, text]): [string, Migration] => [
      name,
      { up: (on) => run(on, text, WORDS[dialect]) },
    ]),
  )
  const migrator = new Migrator({
    db: queries,
    provider: { getMigrations: () => Promise.resolve(migrations) },
    migrationTableName: table,
    migrationLockTableName: `${table}_lock`,
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

async function run(on: Kysely<unknown>, text: string, words: Readonly<Record<string, string>>): Promise<void> {
  const own = text.replace(/\b(BYTES|INT|KEYED|NUMBERED)\b/g, (word) => words[word]!)
  for (const statement of own.split(';').filter((part) => part.trim() !== '')) await sql.raw(statement).execute(on)
}
