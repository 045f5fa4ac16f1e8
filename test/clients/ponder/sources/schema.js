import { onchainTable } from 'ponder'

export const transfer = onchainTable('transfer', (column) => ({
  id: column.text().primaryKey(),
  value: column.bigint().notNull(),
  gasUsed: column.bigint().notNull(),
}))

export const call = onchainTable('call', (column) => ({
  id: column.text().primaryKey(),
  value: column.bigint().notNull(),
  gasUsed: column.bigint().notNull(),
}))
