import { z } from 'zod'
import { address, amount, hash, height } from '../api/shapes.ts'

export const account = z.object({
  address,
  bech32: z.string(),
  balance: amount,
  transactions: z.int().nullable().describe('null: too many to count'),
  isContract: z.boolean().describe('true: the index has its creation or one of its logs'),
})

export const movement = z.object({
  height,
  transaction: hash.nullable().describe('null: moved by the modules at the start or end of the block'),
  kind: z.enum(['transfer', 'fee', 'mint', 'burn']),
  from: address.nullable().describe('null: minted'),
  to: address.nullable().describe('null: burnt'),
  amount,
})

export type Account = z.infer<typeof account>
export type Movement = z.infer<typeof movement>
