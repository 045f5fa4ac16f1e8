import { defineTable, int, text } from '../database/defineTable.ts'

export const INGEST_TABLES = {
  /** One row: which chain this is an index of, and how far it has come. */
  ingest: defineTable({
    since: '0001_blocks',
    columns: {
      /** always 1 */
      id: int,
      chain_id: text,
      evm_chain_id: int,
      /** the first block in the index */
      first_height: int,
      /** the newest block in the index; one less than `first_height` before the first block */
      height: int,
      /** the balances that movements are added to are those after this block: see ingest/openingBalances.ts */
      opening_height: int,
    },
    key: ['id'],
  }),
} as const
