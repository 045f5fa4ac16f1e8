import { toQuantity } from '../../primitives/bytes.ts'

/** A value that JSON.stringify writes without conversion. */
type Json = null | boolean | number | string | readonly Json[] | JsonObject

export type JsonObject = { readonly [key: string]: Json }

/** Formats a QUANTITY, or null where there is no value. */
export function toNullableQuantity(value: bigint | number | undefined): `0x${string}` | null {
  return value === undefined ? null : toQuantity(value)
}
