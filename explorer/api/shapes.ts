import { z } from 'zod'

/*
 * Shapes of the API's answers. Amounts are decimal texts in acoin or a token's base units, times RFC 3339, hashes and data 0x…, addresses in
 * their checksummed form. The OpenAPI document is made from these.
 */

export const amount = z
  .string()
  .regex(/^[0-9]+$/)
  .describe('base units, decimal')
export const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .describe('EIP-55 checksummed')
export const hash = z.string().regex(/^0x[0-9a-f]{64}$/)
export const height = z.int().min(0)
export const time = z.iso.datetime()
/** A share from 0 to 1, written as the SDK writes decimals. */
export const share = z
  .string()
  .regex(/^[0-9]+(\.[0-9]{1,18})?$/)
  .describe('decimal: "0.1" is 10 %')

const limit = z.coerce.number().int().min(1).max(100).default(25).describe('entries per page')

/** Lists with number cursors: see cursors.ts. */
export const numberPageQuery = z.object({
  limit,
  before: z.coerce.number().int().min(0).optional().describe('`next` of the previous page'),
})

/** A page of a list with number cursors. */
export function numberPageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.number().int().nullable().describe('`before` of the next page; null: this is the last page'),
  })
}

/** Lists with text cursors `position.ordinal`. */
export const placePageQuery = z.object({
  limit,
  before: z
    .string()
    .regex(/^[0-9]{1,16}\.[0-9]{1,7}$/)
    .optional()
    .describe('`next` of the previous page'),
})

/** Lists with text cursors. */
export const textPageQuery = z.object({
  limit,
  before: z
    .string()
    .regex(/^[0-9]{1,78}\.([0-9]{1,7}|0x[0-9a-f]{40})$/)
    .optional()
    .describe('`next` of the previous page'),
})

/** A page of a list with text cursors. */
export function textPageOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    next: z.string().nullable().describe('`before` of the next page; null: this is the last page'),
  })
}

export const problem = z.object({ error: z.string() })
