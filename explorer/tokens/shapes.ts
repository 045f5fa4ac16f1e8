import { z } from 'zod'
import { address, amount, hash, height, movement, transaction } from '../api/shapes.ts'
import { traceState } from '../contracts/shapes.ts'

/* What the API tells of tokens. Names are what contracts say of themselves: anybody may call a token anything. */

/** `next` of these lists is a text that names the last row: many rows may be at one place of the chain. */
export const tokenPage = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(25).describe('entries per page'),
  before: z
    .string()
    .regex(/^[0-9]{1,78}\.([0-9]{1,7}|0x[0-9a-f]{40})$/)
    .optional()
    .describe('`next` of the previous page'),
})

/** A page of a list of tokens, holders or transfers. */
export function tokenPageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('`before` of the next page; null: this is the last page'),
  })
}

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

export const transactionDetail = transaction.extend({
  detail: z
    .record(z.string(), z.unknown())
    .describe('input and fee fields of an EVM transaction; messages, memo and events of a native one'),
  movements: z.array(movement),
  tokenTransfers: z.array(tokenTransfer).describe('last 100'),
  hasMoreTokenTransfers: z.boolean(),
  logs: z.int(),
  calls: z.int().describe('number of calls, including its own; 0: no trace'),
  trace: traceState,
})

export type Token = z.infer<typeof token>
export type TokenHolder = z.infer<typeof tokenHolder>
export type TokenHolding = z.infer<typeof tokenHolding>
export type TokenTransfer = z.infer<typeof tokenTransfer>
