import type { Kysely, Transaction } from 'kysely'
import { INDEX_TABLES, type TableName, type Tables } from './schema.ts'

/** A cell as it is bound. */
export type Cell = string | number | Uint8Array | null

/** A row of a table, with a value for each column. */
export type Row<T extends TableName> = Readonly<Tables[T]>

/** Inserts of many rows, and any query, within one transaction. */
export interface IndexWriter {
  readonly queries: Transaction<Tables>
  /**
   * Adds rows.
   * @throws when a row with the same key exists
   */
  insert<T extends TableName>(table: T, rows: readonly Row<T>[]): Promise<void>
  /** Adds rows, or replaces those with the same key. Two of `rows` with the same key are not allowed. */
  replace<T extends TableName>(table: T, rows: readonly Row<T>[]): Promise<void>
}

/** Makes what binds a row of this table: its cells in the order of the columns, which are those of the definition. */
export function cellsOf(table: TableName): {
  readonly columns: readonly string[]
  readonly of: (row: object) => Cell[]
} {
  const columns = Object.keys(INDEX_TABLES[table].columns)
  return { columns, of: (row) => columns.map((column) => (row as Readonly<Record<string, Cell>>)[column]!) }
}

/** The index belongs to another process that writes it. The message is one line for the operator. */
export class IndexInUse extends Error {
  override readonly name = 'IndexInUse'
}

/** The database of the index: SQLite or PostgreSQL. */
export interface IndexDatabase {
  readonly dialect: 'sqlite' | 'postgres'
  /** for reading, and for small writes that need no bulk load */
  readonly queries: Kysely<Tables>
  /** Runs `work` in one transaction, which is stored durably or not at all. */
  write<T>(work: (writer: IndexWriter) => Promise<T>): Promise<T>
  /**
   * Makes this process the one that writes the blocks, until the lock is closed or lost.
   * @returns undefined while another process is
   */
  lock(): Promise<IndexLock | undefined>
  close(): Promise<void>
}

/**
 * The index in the hands of the one process that writes its blocks. With PostgreSQL, all of this goes over the connection that holds the
 * lock: a process that has lost it can no longer store anything, however late it notices.
 */
export interface IndexLock extends Pick<IndexDatabase, 'queries' | 'write' | 'close'> {
  /** Whether the connection that holds the lock has ended. */
  isLost(): boolean
}
