import { z } from 'zod'
import { address, amount, hash, height, time } from '../api/shapes.ts'
import { GRANT_STATES } from './tables.ts'

const limit = z.object({
  left: z.int().describe('grants available now'),
  retryAt: time.nullable().describe('when the next grant is available; null: a grant is available now'),
})

export const faucet = z.object({
  isOn: z.boolean(),
  problem: z
    .enum(['none', 'off', 'otherChain', 'empty'])
    .describe('otherChain: the faucet gives coins on testnets and devnets only; empty: its account has too few coins'),
  address: address.nullable().describe('address of the faucet account; null: this explorer has no faucet'),
  balance: amount.nullable(),
  amount: amount.describe('amount that an address gets per 24 hours'),
  limits: z
    .object({ client: limit.describe('limit of the client, by its IP address'), all: limit })
    .nullable()
    .describe('limits in addition to that of an address; null: this explorer has no faucet'),
})

export const grant = z.object({
  id: z.int(),
  address,
  amount,
  created: time,
  state: z.enum(GRANT_STATES).describe('waiting, sent (not in a block yet), paid, failed'),
  transaction: hash.nullable().describe('hash of the payment; null: not signed yet'),
  height: height.nullable(),
  problem: z.string().nullable(),
})

export const grantProblem = z.object({
  error: z.string(),
  retryAt: time.nullable().describe('when a grant is available again; null: unknown'),
})

export type Faucet = z.infer<typeof faucet>
export type GrantView = z.infer<typeof grant>
