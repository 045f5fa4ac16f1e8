import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { addedBy, bytes, defineTable, int, migrationsOf, text } from '../../../../explorer/database/defineTable.ts'
import { migrate } from '../../../../explorer/database/migrate.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { INDEX_MIGRATIONS } from '../../../../explorer/database/schema.ts'
import { openServices, SERVICE_MIGRATIONS } from '../../../../explorer/database/services.ts'
import { connectSqlite } from '../../../../explorer/database/sqlite.ts'
import { RELEASED_INDEX, RELEASED_SERVICES } from './releasedMigrations.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-tables-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

/** Statements of migrations, with spaces alike. The key of rows in its order is never null, whether SQL says so or not. */
function statements(migrations: Readonly<Record<string, string>>): Readonly<Record<string, readonly string[]>> {
  const alike = (statement: string): string => {
    const own = statement.trim().replace(/\s+/g, ' ')
    return own.endsWith('KEYED') ? own.replace('not null primary key', 'primary key') : own
  }
  return Object.fromEntries(
    Object.entries(migrations).map(([name, own]) => [
      name,
      own
        .split(';')
        .map(alike)
        .filter((part) => part !== ''),
    ]),
  )
}

it.each([
  ['index', INDEX_MIGRATIONS, RELEASED_INDEX],
  ['services', SERVICE_MIGRATIONS, RELEASED_SERVICES],
])('the definitions of the %s produce the SQL of the released migrations, under the same names', (_, own, released) => {
  expect(statements(own)).toEqual(statements(released))
  expect(Object.keys(own)).toEqual(Object.keys(released))
})

/** What SQLite says of its tables and indexes, except the tables in which Kysely notes migrations. */
async function schemaOf(queries: Kysely<unknown>): Promise<readonly unknown[]> {
  const { rows } = await sql<object>`
    select m.type, m.tbl_name, m.name, x.* from sqlite_master m, pragma_table_xinfo(m.name) x where m.type = 'table'
      and m.name not like '%_migration%' and m.name not like 'sqlite_%'
    union all
    select m.type, m.tbl_name, m.name, x.seqno, x.cid, x.name, x.desc, x.coll, x.key, 0
      from sqlite_master m, pragma_index_xinfo(m.name) x where m.type = 'index' and m.tbl_name not like '%_migration%'
    order by 1, 2, 3, 4`.execute(queries)
  return rows
}

it.each([
  ['index', INDEX_MIGRATIONS, RELEASED_INDEX],
  ['services', SERVICE_MIGRATIONS, RELEASED_SERVICES],
])(
  'a database of the %s is the same from the definitions and from the released migrations',
  async (_, own, released) => {
    const schemas: (readonly unknown[])[] = []
    for (const migrations of [own, released]) {
      const { dialect, queries } = connectSqlite<unknown>(':memory:')
      await migrate({ dialect, queries }, migrations)
      schemas.push(await schemaOf(queries))
      await queries.destroy()
    }
    expect(schemas[0]!.length).toBeGreaterThan(30)
    expect(schemas[0]).toEqual(schemas[1])
  },
)

it('opens databases that an earlier release created', async () => {
  const path = join(directory, 'index.sqlite')
  for (const [file, migrations, table] of [
    [path, RELEASED_INDEX, 'kysely_migration'],
    [join(directory, 'index-services.sqlite'), RELEASED_SERVICES, 'service_migration'],
  ] as const) {
    const { dialect, queries } = connectSqlite<unknown>(file)
    await migrate({ dialect, queries }, migrations, table)
    await queries.destroy()
  }
  const database = await openDatabase(path)
  // The writer binds cells by their names, in whatever order a row has them.
  const address = new Uint8Array(20).fill(7)
  await database.write((writer) => writer.insert('account_tx', [{ position: 5, address }]))
  expect(await database.queries.selectFrom('account_tx').selectAll().execute()).toEqual([{ address, position: 5 }])
  await database.close()
  const services = await openServices(path)
  expect(await services.selectFrom('node').selectAll().execute()).toEqual([])
  await services.destroy()
})

it('adds what a later migration brings to the tables that are there', () => {
  const pet = defineTable({
    since: '0001_pets',
    columns: { owner: bytes, name: text, age: int, nickname: addedBy('0003_nicknames', text) },
    key: ['owner', 'name'],
    indexes: {
      pet_age: { columns: ['age'] },
      pet_nickname: { columns: ['nickname'], where: 'nickname is not null', since: '0003_nicknames' },
    },
  })
  const toy = defineTable({ since: '0002_toys', columns: { number: int, name: text }, key: ['number'] })
  expect(statements(migrationsOf({ pet, toy }))).toEqual({
    '0001_pets': [
      'create table pet ( owner BYTES not null, name text not null, age INT not null, primary key (owner, name) ) KEYED',
      'create index pet_age on pet (age)',
    ],
    '0002_toys': ['create table toy ( number INT primary key, name text not null )'],
    '0003_nicknames': [
      'alter table pet add column nickname text',
      'create index pet_nickname on pet (nickname) where nickname is not null',
    ],
  })
})
