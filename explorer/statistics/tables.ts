import { bytes, defineTable, int } from '../database/defineTable.ts'

export const STATISTICS_TABLES = {
  /** Numbers of the blocks of one hour of UTC. */
  statistics_hour: defineTable({
    since: '0006_statistics',
    columns: {
      /** hours since 1970 */
      hour: int,
      blocks: int,
      evm_count: int,
      native_count: int,
      /** of both kinds */
      failed_count: int,
      gas_used: int,
      fees: bytes,
      /** by transactions from account to account, fees not counted */
      moved: bytes,
      /** that got their first coins */
      new_accounts: int,
    },
    key: ['hour'],
  }),
} as const
