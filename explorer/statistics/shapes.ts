import { z } from 'zod'
import { amount, time } from '../api/shapes.ts'

/** Numbers of an hour or a day. */
export const period = z.object({
  start: time,
  blocks: z.int(),
  evmTransactions: z.int(),
  nativeTransactions: z.int(),
  failed: z.int().describe('failed transactions of both kinds'),
  gasUsed: z.int(),
  fees: amount,
  moved: amount.describe('acoin moved between accounts by transactions, without fees'),
  newAccounts: z.int().describe('accounts that received their first coins'),
})
