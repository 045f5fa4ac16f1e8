import { concatBytes } from '../../primitives/bytes.ts'
import { selectorOf, signatureOf } from './signature.ts'
import type { AbiFields, AbiValues } from './type.ts'
import { string, uint256 } from './types.ts'
import { encodeValues } from './values.ts'

/** A custom error: gives its revert data. */
export function defineError<const F extends AbiFields>(name: string, fields: F): (values: AbiValues<F>) => Uint8Array {
  const selector = selectorOf(signatureOf(name, fields))
  return (values) => concatBytes(selector, encodeValues(fields, values))
}

const errorString = defineError('Error', { text: string })
const panic = defineError('Panic', { code: uint256 })

/** Revert data of `require(false, text)`: `Error(string)`, which every client shows as text. */
export function encodeErrorString(text: string): Uint8Array {
  return errorString({ text })
}

/** Revert data of Solidity's `Panic(uint256)`. */
export function encodePanic(code: bigint): Uint8Array {
  return panic({ code })
}
