import { ACCOUNT_TABLES } from '../accounts/tables.ts'
import { BLOCK_TABLES } from '../blocks/tables.ts'
import { CONTRACT_TABLES } from '../contracts/tables.ts'
import { GOVERNANCE_TABLES } from '../governance/tables.ts'
import { INGEST_TABLES } from '../ingest/tables.ts'
import { STAKE_TABLES } from '../stake/tables.ts'
import { STATISTICS_TABLES } from '../statistics/tables.ts'
import { TOKEN_TABLES } from '../tokens/tables.ts'
import { TRANSACTION_TABLES } from '../transactions/tables.ts'
import { migrationsOf, type RowsOf } from './defineTable.ts'

/** The tables of the index, by their names. */
export const INDEX_TABLES = {
  ...INGEST_TABLES,
  ...BLOCK_TABLES,
  ...TRANSACTION_TABLES,
  ...ACCOUNT_TABLES,
  ...TOKEN_TABLES,
  ...GOVERNANCE_TABLES,
  ...STATISTICS_TABLES,
  ...CONTRACT_TABLES,
  ...STAKE_TABLES,
}

export type Tables = RowsOf<typeof INDEX_TABLES>
export type TableName = keyof Tables

export const INDEX_MIGRATIONS = migrationsOf(INDEX_TABLES)
