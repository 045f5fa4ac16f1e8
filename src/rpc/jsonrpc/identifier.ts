import { randomBytes } from 'node:crypto'
import { bytesToBigInt, toQuantity } from '../../primitives/bytes.ts'
import { jsonKind, TypeMismatch } from '../params/values.ts'
import type { ParamReader } from './method.ts'

/** 128 bits, so that no client can guess the identifier of another client's filter. */
const IDENTIFIER_BYTES = 16

/**
 * Returns the identifier of a filter or a subscription. It is a QUANTITY, without leading zeros:
 * execution-apis define it as `uint`, geth trims it, and clients that store it as a number send it
 * back in that form.
 */
export function newIdentifier(bytes: Uint8Array = randomBytes(IDENTIFIER_BYTES)): string {
  return toQuantity(bytesToBigInt(bytes))
}

/**
 * Reads an identifier, with or without leading zeros. Anything else is returned unchanged, and will
 * not be found.
 */
export const readIdentifier: ParamReader<string> = (json) => {
  if (typeof json !== 'string') throw new TypeMismatch(jsonKind(json), 'rpc.ID')
  return json.replace(/^0x0+(?=[0-9a-f])/, '0x')
}
