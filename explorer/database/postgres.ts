import { once } from 'node:events'
import { Kysely, PostgresDialect, sql } from 'kysely'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { type Cell, COLUMNS, type IndexDatabase, type IndexWriter, type Row } from './indexDatabase.ts'
import type { TableName, Tables } from './schema.ts'

const MAX_CONNECTIONS = 10
/** how long a new connection may take */
const CONNECT_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 60_000
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
      // A transaction of Kysely does not give its connection away, which COPY needs: this one has a pool of just that connection.
      const own = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: poolOfOne(client) }) })
      let isBroken = false
      try {
        return await own.transaction().execute((transaction) => work(createWriter(client, transaction)))
      } catch (error) {
        isBroken = true
        throw error
      } finally {
        client.release(isBroken)
      }
    },
    close: () => queries.destroy(),
  }
}

/** The same for tables of other names. */
export function connectPostgres<T>(address: string) {
  const pool = new pg.Pool({
    connectionString: address,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    types: TYPES,
  })
  // A connection that fails while nobody uses it leaves the pool; the next query makes another.
  pool.on('error', () => undefined)
  return { dialect: 'postgres' as const, pool, queries: new Kysely<T>({ dialect: new PostgresDialect({ pool }) }) }
}

function poolOfOne(client: pg.PoolClient) {
  const shared = new Proxy(client, { get: (target, key) => (key === 'release' ? () => undefined : bound(target, key)) })
  return { connect: () => Promise.resolve(shared), end: () => Promise.resolve(), options: {} }
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
      const { columns, key } = COLUMNS[table]
      const staged = `staged_${table}`
      await sql
        .raw(`create temp table if not exists "${staged}" (like "${table}") on commit delete rows`)
        .execute(queries)
      await copy(client, table, staged, rows)
      const names = columns.map((name) => `"${name}"`)
      const changes = names.slice(key).map((name) => `${name} = excluded.${name}`)
      await sql
        .raw(
          `insert into "${table}" select * from "${staged}" on conflict (${names.slice(0, key).join(', ')}) do ${changes.length === 0 ? 'nothing' : `update set ${changes.join(', ')}`}`,
        )
        .execute(queries)
      await sql.raw(`truncate "${staged}"`).execute(queries)
    },
  }
}

/** Sends rows of `table` to `target`, which has the same columns, by COPY. */
async function copy(client: pg.PoolClient, table: TableName, target: string, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return
  const names = COLUMNS[table].columns.map((name) => `"${name}"`).join(', ')
  const stream = client.query(copyFrom(`copy "${target}" (${names}) from stdin`))
  const ended = once(stream, 'finish')
  let text = ''
  for (const row of rows) {
    text += `${row.map(copyText).join('\t')}\n`
    if (text.length < COPY_CHARACTERS) continue
    if (!stream.write(text)) await Promise.race([once(stream, 'drain'), ended])
    text = ''
  }
  stream.end(text)
  await ended
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }

/** A cell in COPY's text format (https://www.postgresql.org/docs/current/sql-copy.html). It takes no character 0: see {@link withoutZeros}. */
function copyText(cell: Cell): string {
  if (cell === null) return '\\N'
  if (typeof cell === 'number') return String(cell)
  if (typeof cell !== 'string') return `\\\\x${Buffer.from(cell.buffer, cell.byteOffset, cell.length).toString('hex')}`
  return cell.replace(/[\\\t\n\r]/g, (character) => ESCAPES[character]!)
}
