import type { Generated } from 'kysely'

/*
 * A table is defined once, in the file tables.ts of its feature. What needs its columns follows from the definition: the types of its rows
 * (schema.ts, services.ts), the SQL that creates it in both databases (`migrationsOf`), and the row writer (indexDatabase.ts), which takes
 * rows with named fields.
 *
 * Cells are the same in SQLite and in PostgreSQL. Bytes are bytes (addresses 20, hashes 32); amounts are the bytes of amount.ts, which sort
 * as the numbers do; times are milliseconds since 1970; flags are 0 and 1; JSON is text. A `position` is a place in the chain: position.ts.
 */

declare const CELL: unique symbol

/** A column whose cells are of the type `T`. */
export interface Column<T> {
  /** in the words of migrate.ts */
  readonly type: 'INT' | 'BYTES' | 'text' | 'NUMBERED'
  readonly isNullable?: boolean
  readonly isUnique?: boolean
  /** the migration that adds the column; undefined: the one that creates the table */
  readonly since?: string
  /** never set: carries the type of the cells */
  readonly [CELL]?: T
}

export const int: Column<number> = { type: 'INT' }
export const bytes: Column<Uint8Array> = { type: 'BYTES' }
export const text: Column<string> = { type: 'text' }
/** A number that the database assigns: the next one for each new row. */
export const numbered: Column<Generated<number>> = { type: 'NUMBERED' }

export function nullable<T>(column: Column<T>): Column<T | null> {
  return { ...(column as Column<T | null>), isNullable: true }
}

export function unique<T>(column: Column<T>): Column<T> {
  return { ...column, isUnique: true }
}

/** A nullable column that a later migration adds to its table. It comes after the columns before it, and is null in older rows. */
export function addedBy<T>(migration: string, column: Column<T>): Column<T | null> {
  return { ...nullable(column), since: migration }
}

interface Index<N> {
  readonly columns: readonly N[]
  /** SQL: the rows that are in the index; undefined: all of them */
  readonly where?: string
  /** the migration that creates the index; undefined: the one that creates the table */
  readonly since?: string
}

type Columns = Readonly<Record<string, Column<unknown>>>

export interface TableDefinition<C extends Columns = Columns> {
  /** the migration that creates the table */
  readonly since: string
  /** in their order in the table */
  readonly columns: C
  /** the columns that identify a row */
  readonly key: readonly string[]
  /** by their names */
  readonly indexes?: Readonly<Record<string, Index<string>>>
  /** Whether SQLite stores the rows in the order of their key, without a second number. By default so, unless the key is one number. */
  readonly isKeyed?: boolean
}

/** Defines a table; its name is the one under which its feature lists it. */
export function defineTable<const C extends Columns>(
  definition: TableDefinition<C> & {
    readonly key: readonly (keyof C)[]
    readonly indexes?: Readonly<Record<string, Index<keyof C>>>
  },
): TableDefinition<C> {
  return definition
}

type Definitions = Readonly<Record<string, TableDefinition>>

/** The rows of a table, as Kysely expects them. */
type RowOf<D> =
  D extends TableDefinition<infer C> ? { -readonly [N in keyof C]: C[N] extends Column<infer T> ? T : never } : never

/** The rows of these tables by the names of the tables, as Kysely expects them. */
export type RowsOf<D> = { -readonly [N in keyof D]: RowOf<D[N]> }

/**
 * The migrations that create these tables: SQL by the names of the migrations, in their order. A release adds tables, indexes and columns
 * with a migration of their own (`since`) and changes nothing that an earlier release had, as each migration runs once in a database. BYTES,
 * INT, KEYED and NUMBERED stand for what differs between the databases (migrate.ts).
 */
export function migrationsOf(tables: Definitions): Readonly<Record<string, string>> {
  const statements = new Map<string, string[]>()
  const add = (migration: string, statement: string): void => {
    statements.set(migration, [...(statements.get(migration) ?? []), `${statement};\n`])
  }
  for (const [name, table] of Object.entries(tables)) {
    add(table.since, createTable(name, table))
    for (const [column, own] of Object.entries(table.columns)) {
      if (own.since !== undefined) add(own.since, `alter table ${name} add column ${column} ${cellType(own)}`)
    }
    for (const [index, { columns, where, since = table.since }] of Object.entries(table.indexes ?? {})) {
      const condition = where === undefined ? '' : ` where ${where}`
      add(since, `create index ${index} on ${name} (${columns.join(', ')})${condition}`)
    }
  }
  const sorted = [...statements].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([name, own]) => [name, own.join('')]))
}

function createTable(name: string, { columns, key, isKeyed = !isNumber(columns, key) }: TableDefinition): string {
  const [first] = key
  const lines = Object.entries(columns).flatMap(([column, own]) => {
    if (own.since !== undefined) return []
    if (key.length > 1 || column !== first) return [`${column} ${cellType(own)}`]
    // SQLite allows null in a key that is not a number, unless the rows are stored in its order.
    const required = isKeyed || own.type !== 'text' ? '' : ' not null'
    return [`${column} ${own.type}${required} primary key`]
  })
  if (key.length > 1) lines.push(`primary key (${key.join(', ')})`)
  return `create table ${name} (\n  ${lines.join(',\n  ')}\n)${isKeyed ? ' KEYED' : ''}`
}

function isNumber(columns: Columns, key: readonly string[]): boolean {
  const [first] = key
  return key.length === 1 && (columns[first!]!.type === 'INT' || columns[first!]!.type === 'NUMBERED')
}

function cellType({ type, isNullable, isUnique }: Column<unknown>): string {
  return `${type}${isNullable === true ? '' : ' not null'}${isUnique === true ? ' unique' : ''}`
}
