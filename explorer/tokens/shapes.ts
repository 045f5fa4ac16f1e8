import { z } from 'zod'
import { address, amount, hash, height } from '../api/shapes.ts'

/* Tokens as the API shows them. A contract chooses its own name, which may be misleading. */

const tokenKind = z.enum(['erc20', 'erc721', 'erc1155'])

const tokenName = z.object({
  address,
  kind: tokenKind,
  name: z.string().nullable(),
  symbol: z.string().nullable(),
  decimals: z.int().nullable(),
})

export const token = tokenName.extend({
  holders: z.int(),
  transfers: z.int(),
  supply: amount.describe('minted minus burnt'),
  isExact: z.boolean().describe("false: the transfers do not add up, so balances may differ from the contract's"),
})

export const tokenHolder = z.object({ address, amount: amount.describe('sum over all ids') })

export const tokenHolding = z.object({ token: tokenName, amount: amount.describe('sum over all ids') })

export const tokenTransfer = z.object({
  height,
  transaction: hash,
  token: tokenName,
  from: address.nullable().describe('null: minted'),
  to: address.nullable().describe('null: burnt'),
  amount,
  id: amount.nullable().describe('id of an ERC-721 or ERC-1155 token'),
})

export type Token = z.infer<typeof token>
export type TokenHolder = z.infer<typeof tokenHolder>
export type TokenHolding = z.infer<typeof tokenHolding>
export type TokenTransfer = z.infer<typeof tokenTransfer>
