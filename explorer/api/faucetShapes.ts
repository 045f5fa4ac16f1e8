import { z } from 'zod'
import { GRANT_STATES } from '../database/faucetTables.ts'
import { address, amount, hash, height } from './shapes.ts'

const time = z.iso.datetime()

const limit = z.object({
  left: z.int().describe('grants that there may be now'),
  retryAt: time.nullable().describe('when there may be more, where none is left; null: there may be now'),
})

export const faucet = z.object({
  isOn: z.boolean(),
  problem: z
    .enum(['none', 'off', 'otherChain', 'empty'])
    .describe('otherChain: it gives coins of testnet and devnet alone; empty: its account has too few coins'),
  address: address.nullable().describe('of the account that pays; null: this explorer has no faucet'),
  balance: amount.nullable(),
  amount: amount.describe('what an address gets, in 24 hours'),
  limits: z
    .object({ client: limit.describe('of whoever asks for this, by client address'), all: limit })
    .nullable()
    .describe('besides that of an address; null: this explorer has no faucet'),
})

export const grant = z.object({
  id: z.int(),
  address,
  amount,
  created: time,
  state: z.enum(GRANT_STATES).describe('waiting, sent (in no block yet), paid, failed'),
  transaction: hash.nullable().describe('null: not signed yet'),
  height: height.nullable(),
  problem: z.string().nullable(),
})

export const grantProblem = z.object({
  error: z.string(),
  retryAt: time.nullable().describe('when there may be coins again; null: not known'),
})

export type Faucet = z.infer<typeof faucet>
export type GrantView = z.infer<typeof grant>
