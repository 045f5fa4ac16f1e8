import { bytes, defineTable, int, nullable } from '../database/defineTable.ts'

export const ACCOUNT_TABLES = {
  /** Coins that moved from one account to another. Null is where coins come from (minted) or go to (burnt). */
  coin_movement: defineTable({
    since: '0001_blocks',
    columns: {
      position: int,
      /** order within the position */
      ordinal: int,
      sender: nullable(bytes),
      recipient: nullable(bytes),
      amount: bytes,
      /** see {@link MOVEMENT_KINDS} */
      kind: int,
    },
    key: ['position', 'ordinal'],
    indexes: {
      coin_movement_sender: { columns: ['sender', 'position'] },
      coin_movement_recipient: { columns: ['recipient', 'position'] },
    },
  }),
  coin_balance: defineTable({
    since: '0001_blocks',
    columns: {
      address: bytes,
      amount: bytes,
      /** the newest position that changed it */
      position: int,
    },
    key: ['address'],
    indexes: {
      coin_balance_amount: { columns: ['amount'] },
    },
  }),
} as const

/** Why coins moved. */
export const MOVEMENT_KINDS = { transfer: 0, fee: 1, mint: 2, burn: 3 } as const
