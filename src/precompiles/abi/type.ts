import type { AbiReader } from './reader.ts'

/**
 * A type of Solidity's ABI as a value: what a signature calls it, and how its values are read and written. The functions of
 * `types.ts` make them; the source of the rules is the Contract ABI Specification of the Solidity documentation.
 */
export interface AbiType<T> {
  /** as signatures have it: `uint256`, `(string,uint256)[]` */
  readonly name: string
  /** whether its head is an offset to where the value is */
  readonly isDynamic: boolean
  /** bytes in the head of what holds it: 32, or more for a tuple without dynamic members */
  readonly headBytes: number
  /**
   * The value whose encoding begins at `at`.
   * @throws AbiError
   */
  read(reader: AbiReader, at: number): T
  /** @throws RangeError (a bug) for a value that the type does not have */
  encode(value: T): Uint8Array
}

/** The values of a type. */
export type AbiValue<T> = T extends AbiType<infer V> ? V : never

/** Names and types of parameters or members, in order. */
export type AbiFields = Readonly<Record<string, AbiType<unknown>>>

/** Values by the names of {@link AbiFields}. */
export type AbiValues<F extends AbiFields> = { readonly [K in keyof F]: AbiValue<F[K]> }
