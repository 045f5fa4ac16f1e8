import { openReader } from '../../explorer/database/open.ts'
import type { TableName } from '../../explorer/database/schema.ts'
import type { Comparison } from './compareIndex.ts'

/** What an index says of the chain, by table; the columns by which its rows are in one order. */
const TABLES = {
  block: ['height'],
  tx: ['position'],
  account_tx: ['address', 'position'],
  coin_movement: ['position', 'ordinal'],
  coin_balance: ['address'],
  token: ['address'],
  token_transfer: ['position', 'ordinal'],
  token_balance: ['key'],
  log: ['position', 'ordinal'],
  internal_call: ['position', 'ordinal'],
  contract: ['address'],
  statistics_hour: ['hour'],
  proposal_vote: ['number'],
  proposal_deposit: ['number'],
  validator: ['operator'],
  delegation: ['delegator', 'validator'],
  staking_event: ['position', 'ordinal'],
  validator_power: ['validator', 'height'],
  absence: ['validator', 'first_height'],
} as const satisfies Partial<Record<TableName, readonly string[]>>
const TOLD = 3

/** Compares two indexes of one chain up to the block that both have, row by row. */
export async function differencesOfIndexes(first: string, second: string): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = []
  for (const [table, order] of Object.entries(TABLES)) {
    const [a, b] = [await rowsOf(first, table as TableName, order), await rowsOf(second, table as TableName, order)]
    const differences: string[] = []
    for (let at = 0; at < Math.max(a.length, b.length) && differences.length < TOLD; at++) {
      if (a[at] !== b[at]) differences.push(`${table} row ${at}: ${a[at] ?? 'none'} and ${b[at] ?? 'none'}`)
    }
    comparisons.push({ name: table, compared: a.length, differences })
  }
  return comparisons
}

/** Rows in their order, as texts that are the same in both databases. */
async function rowsOf(database: string, table: TableName, order: readonly string[]): Promise<string[]> {
  const { queries, close } = await openReader(database)
  try {
    let select = queries.selectFrom(table).selectAll()
    for (const column of order) select = select.orderBy(column as never)
    const rows = (await select.execute()) as Readonly<Record<string, unknown>>[]
    return rows.map((row) =>
      Object.keys(row)
        .toSorted()
        .map((name) => `${name}=${textOf(row[name])}`)
        .join(' '),
    )
  } finally {
    await close()
  }
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)
}
