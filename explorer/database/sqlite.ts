import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { Kysely, SqliteDialect } from 'kysely'
import { type Cell, cellsOf, type IndexDatabase, IndexInUse, type IndexWriter } from './indexDatabase.ts'
import type { TableName, Tables } from './schema.ts'

/** How long a connection waits for another one's transaction. */
const BUSY_TIMEOUT_MS = 10_000
const SQLITE_BUSY = 5
const CACHE_KIB = 65_536
/** Pages of the log of commits after which they are written into the file: 32 MiB. */
const WAL_PAGES = 8_192

/**
 * Opens the SQLite file at `path`, which is made if it does not exist. Its queries run in the calling thread: a thread that writes many
 * rows opens a connection of its own.
 * @param isReader whether it only reads
 * @throws IndexInUse when another connection that is not a reader is open, of this process or another
 */
export function openSqlite(path: string, isReader = false): IndexDatabase {
  // Only tests use a database in memory, which no other process can open.
  const lock = isReader || path === ':memory:' ? undefined : lockFile(path)
  const { database, ...connection } = connectSqlite<Tables>(path, isReader)
  const { queries } = connection
  const write: IndexDatabase['write'] = (work) =>
    queries.transaction().execute((transaction) => work(createWriter(database, transaction)))
  return {
    ...connection,
    write,
    // The process that opened the file for writing has the lock already.
    lock: () => Promise.resolve({ queries, write, isLost: () => false, close: () => Promise.resolve() }),
    close: async () => {
      await queries.destroy()
      lock?.close()
    },
  }
}

/**
 * Locks the file at `path` for one process that writes, by an SQLite database next to it with a transaction that never ends. A transaction
 * in the file itself would block readers. The operating system takes the lock away from a process that has ended, however it ended.
 * @throws IndexInUse
 */
function lockFile(path: string): DatabaseSync {
  const lock = new DatabaseSync(`${path}-lock`, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    if ((error as { readonly errcode?: number }).errcode !== SQLITE_BUSY) throw error
    throw new IndexInUse(
      `another explorer is writing to ${path}: stop it, or set EXPLORER_DATABASE to another file or a PostgreSQL database`,
    )
  }
}

/** Opens an SQLite file without locking it, for whichever tables the caller has there. */
export function connectSqlite<T>(path: string, isReader = false) {
  const database = new DatabaseSync(path, { readOnly: isReader, timeout: BUSY_TIMEOUT_MS })
  // Readers see the last commit while the writer is at work. A commit is in the file before it is reported: a power loss undoes none.
  if (!isReader) database.exec('pragma journal_mode = wal; pragma synchronous = full')
  // Pages that many commits change are written into the file itself once for all of them.
  if (!isReader) database.exec(`pragma wal_autocheckpoint = ${WAL_PAGES}`)
  database.exec(`pragma cache_size = -${CACHE_KIB}; pragma foreign_keys = on`)
  const queries = new Kysely<T>({ dialect: new SqliteDialect({ database: kyselyDatabase(database) }) })
  return { dialect: 'sqlite' as const, database, queries }
}

function createWriter(database: DatabaseSync, queries: IndexWriter['queries']): IndexWriter {
  const run = (verb: string, table: TableName, rows: readonly object[]): Promise<void> => {
    if (rows.length === 0) return Promise.resolve()
    const cells = cellsOf(table)
    const names = cells.columns.map((name) => `"${name}"`).join(', ')
    const places = cells.columns.map(() => '?').join(', ')
    const statement = cached(database, `${verb} into "${table}" (${names}) values (${places})`)
    for (const row of rows) statement.run(...cells.of(row))
    return Promise.resolve()
  }
  return {
    queries,
    insert: (table, rows) => run('insert', table, rows),
    replace: (table, rows) => run('insert or replace', table, rows),
  }
}

/** Prepared statements by their text, for each connection. */
const statements = new WeakMap<DatabaseSync, Map<string, StatementSync>>()
const MAX_STATEMENTS = 256

function cached(database: DatabaseSync, sql: string): StatementSync {
  let own = statements.get(database)
  if (own === undefined) {
    own = new Map()
    statements.set(database, own)
  }
  let statement = own.get(sql)
  if (statement === undefined) {
    statement = database.prepare(sql)
    if (own.size === MAX_STATEMENTS) own.clear()
    own.set(sql, statement)
  }
  return statement
}

/** Kysely's statement to end a transaction that failed. */
const ROLLBACK = 'rollback'
const NOTHING_CHANGED = { changes: 0, lastInsertRowid: 0 } as const

/** `node:sqlite` as Kysely expects a database: it was written for better-sqlite3, whose parameters are one array. */
function kyselyDatabase(database: DatabaseSync) {
  return {
    close: () => database.close(),
    prepare: (sql: string) => {
      const statement = cached(database, sql)
      return {
        reader: statement.columns().length > 0,
        all: (parameters: readonly unknown[]) => statement.all(...(parameters as Cell[])),
        run: (parameters: readonly unknown[]) => {
          // When the disk is full, SQLite has rolled back by itself, and refuses to do it again.
          if (sql === ROLLBACK && !database.isTransaction) return NOTHING_CHANGED
          return statement.run(...(parameters as Cell[]))
        },
        iterate: (parameters: readonly unknown[]) => statement.iterate(...(parameters as Cell[])),
      }
    },
  }
}
