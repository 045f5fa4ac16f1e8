import { once } from 'node:events'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { type Cell, cellsOf, type IndexDatabase, type IndexLock, type IndexWriter } from './indexDatabase.ts'
import { INDEX_TABLES, type TableName, type Tables } from './schema.ts'

const MAX_CONNECTIONS = 10
/** how long a new connection may take */
const CONNECT_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 10_000
/** The advisory lock of the process that writes the index: any number that nothing else in the database uses. */
const LOCK = 7_305_432_901
/** PostgreSQL notices in about ten seconds when the machine of the process that holds the lock is gone, not in two hours. */
const NOTICE_LOSS = 'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3'
/** Characters of a COPY that are sent at once. */
const COPY_CHARACTERS = 256 * 1024

// Numbers of the index stay below 2^53 (positions, times, gas), so they are numbers and not texts.
const TYPES = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

/** Opens the PostgreSQL database at this `postgres://` address. Connections are made when they are needed. */
export function openPostgres(address: string): IndexDatabase {
  const { pool, ...connection } = connectPostgres<Tables>(address)
  const { queries } = connection
  return {
    ...connection,
    write: async (work) => {
      const client = await pool.connect()
      let isBroken = false
      try {
        return await writeWith(client, createKysely(client), work)
      } catch (error) {
        isBroken = true
        throw error
      } finally {
        client.release(isBroken)
      }
    },
    lock: async () => {
      const client = await pool.connect()
      try {
        const { rows } = await client.query<{ is_held: boolean }>('select pg_try_advisory_lock($1) as is_held', [LOCK])
        if (rows[0]?.is_held === true) {
          await client.query(NOTICE_LOSS)
          return holdLock(client)
        }
      } catch (error) {
        client.release(true)
        throw error
      }
      client.release()
      return undefined
    },
    close: () => queries.destroy(),
  }
}

/** Connects to PostgreSQL, for whichever tables the caller has there. */
export function connectPostgres<T>(address: string) {
  const pool = new pg.Pool({
    connectionString: address,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    keepAlive: true,
    // A machine that is gone is noticed after this and ten probes, a second apart.
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: TYPES,
  })
  // An idle connection that fails leaves the pool; the next query opens another one.
  pool.on('error', () => undefined)
  pool.on('connect', (client) => {
    // Nor may a connection in use end the process when it fails between two queries: the next query fails.
    client.on('error', () => undefined)
  })
  return { dialect: 'postgres' as const, pool, queries: new Kysely<T>({ dialect: new PostgresDialect({ pool }) }) }
}

/** The lock of the session of `client`, which PostgreSQL takes away when that session ends, and not before. */
function holdLock(client: pg.PoolClient): IndexLock {
  let isLost = false
  for (const event of ['end', 'error']) {
    client.once(event, () => {
      isLost = true
    })
  }
  const queries = createKysely(client)
  return {
    queries,
    write: (work) => writeWith(client, queries, work),
    isLost: () => isLost,
    // The connection ends with it, and the lock with the connection.
    close: async () => client.release(true),
  }
}

async function writeWith<T>(
  client: pg.PoolClient,
  queries: Kysely<Tables>,
  work: (writer: IndexWriter) => Promise<T>,
): Promise<T> {
  return await queries.transaction().execute((transaction) => work(createWriter(client, transaction)))
}

/** A transaction of Kysely does not give its connection away, which COPY needs: this one has a pool of just that connection. */
function createKysely(client: pg.PoolClient): Kysely<Tables> {
  let isFree: Promise<unknown> = Promise.resolve()
  const connect = async (): Promise<pg.PoolClient> => {
    // One at a time: queries of two users of the connection would end up in one transaction.
    const before = isFree
    const { promise, resolve } = Promise.withResolvers<void>()
    isFree = promise
    await before
    return new Proxy(client, { get: (target, key) => (key === 'release' ? resolve : bound(target, key)) })
  }
  const pool = { connect, end: () => Promise.resolve(), options: {} }
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

function bound(target: pg.PoolClient, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key)
  return typeof value === 'function' ? value.bind(target) : value
}

function createWriter(client: pg.PoolClient, queries: IndexWriter['queries']): IndexWriter {
  return {
    queries,
    insert: (table, rows) => copy(client, table, table, rows),
    replace: async (table, rows) => {
      if (rows.length === 0) return
      const { columns, key } = INDEX_TABLES[table]
      const staged = `staged_${table}`
      await sql
        .raw(`create temp table if not exists "${staged}" (like "${table}") on commit delete rows`)
        .execute(queries)
      await copy(client, table, staged, rows)
      const own = key.map((name) => `"${name}"`)
      const others = Object.keys(columns).filter((name) => !key.includes(name))
      const changes = others.map((name) => `"${name}" = excluded."${name}"`)
      await sql
        .raw(
          `insert into "${table}" select * from "${staged}" on conflict (${own.join(', ')}) do ${changes.length === 0 ? 'nothing' : `update set ${changes.join(', ')}`}`,
        )
        .execute(queries)
      await sql.raw(`truncate "${staged}"`).execute(queries)
    },
  }
}

/** Sends rows of `table` to `target`, which has the same columns, by COPY. */
async function copy(client: pg.PoolClient, table: TableName, target: string, rows: readonly object[]): Promise<void> {
  if (rows.length === 0) return
  const cells = cellsOf(table)
  const names = cells.columns.map((name) => `"${name}"`).join(', ')
  const stream = client.query(copyFrom(`copy "${target}" (${names}) from stdin`))
  const ended = once(stream, 'finish')
  let text = ''
  for (const row of rows) {
    text += `${cells.of(row).map(copyText).join('\t')}\n`
    if (text.length < COPY_CHARACTERS) continue
    if (!stream.write(text)) await Promise.race([once(stream, 'drain'), ended])
    text = ''
  }
  stream.end(text)
  await ended
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/** A cell in COPY's text format (https://www.postgresql.org/docs/current/sql-copy.html). It takes no character 0, which no text of the index has. */
function copyText(cell: Cell): string {
  if (cell === null) return '\\N'
  if (typeof cell === 'number') return String(cell)
  if (typeof cell !== 'string') return `\\\\x${Buffer.from(cell.buffer, cell.byteOffset, cell.length).toString('hex')}`
  return cell.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!)
}
