import type { IndexWriter, Row } from './indexDatabase.ts'
import type { TableName } from './schema.ts'

/** Takes one row of a table. */
export type AddRow = <T extends TableName>(table: T, row: Row<T>) => void

/** Rows of several tables, as they are gathered. */
export class RowSet {
  readonly #rows = new Map<TableName, Row<TableName>[]>()

  readonly add: AddRow = (table, row) => {
    const rows = this.#rows.get(table)
    if (rows === undefined) this.#rows.set(table, [row as Row<TableName>])
    else rows.push(row as Row<TableName>)
  }

  addAll(other: RowSet): void {
    for (const [table, rows] of other.#rows) for (const row of rows) this.add(table, row)
  }

  of<T extends TableName>(table: T): readonly Row<T>[] {
    return (this.#rows.get(table) ?? []) as unknown as readonly Row<T>[]
  }

  async insertInto(writer: Pick<IndexWriter, 'insert'>): Promise<void> {
    for (const [table, rows] of this.#rows) await writer.insert(table, rows)
  }
}
