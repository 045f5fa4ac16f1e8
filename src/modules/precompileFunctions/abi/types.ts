import { type Address, toAddress } from '../../../primitives/address.ts'
import { bigIntToBytes, concatBytes, decodeUtf8, padLeft } from '../../../primitives/bytes.ts'
import { AbiError, type AbiReader, WORD_BYTES } from './reader.ts'

/**
 * A type of Solidity's ABI as a value: its name in signatures, and how its values are read and written.
 * The rules are those of the Contract ABI Specification in Solidity's documentation.
 */
export interface AbiType<T> {
  /** in signatures: `uint256`, `(string,uint256)[]` */
  readonly name: string
  /** whether its head is the offset of the value */
  readonly isDynamic: boolean
  /** bytes that it takes in the head of the tuple or array around it: 32, or more for a tuple without dynamic members */
  readonly headBytes: number
  /**
   * Reads the value whose encoding begins at `at`.
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

const ADDRESS_PADDING = 12
const WORD_BITS = 256
const SHORT_TEXT = 64

/** 20 bytes, padded on the left. */
export const address: AbiType<Address> = {
  name: 'address',
  isDynamic: false,
  headBytes: WORD_BYTES,
  read(reader, at) {
    const word = reader.word(at)
    for (let i = 0; i < ADDRESS_PADDING; i++) if (word[i] !== 0) throw new AbiError('not an address')
    return toAddress(new Uint8Array(word.subarray(ADDRESS_PADDING)))
  },
  encode: (value) => padLeft(value, WORD_BYTES),
}

export const bool: AbiType<boolean> = {
  name: 'bool',
  isDynamic: false,
  headBytes: WORD_BYTES,
  read(reader, at) {
    const value = reader.number(at)
    if (value > 1n) throw new AbiError('neither true nor false')
    return value === 1n
  },
  encode: (value) => bigIntToBytes(value ? 1n : 0n, WORD_BYTES),
}

export const uint8: AbiType<bigint> = unsigned(8)
export const uint32: AbiType<bigint> = unsigned(32)
export const uint64: AbiType<bigint> = unsigned(64)
export const uint256: AbiType<bigint> = unsigned(256)
export const int64: AbiType<bigint> = signed(64)
export const int256: AbiType<bigint> = signed(256)

function unsigned(bits: number): AbiType<bigint> {
  const max = (1n << BigInt(bits)) - 1n
  return {
    name: `uint${bits}`,
    isDynamic: false,
    headBytes: WORD_BYTES,
    read(reader, at) {
      const value = reader.number(at)
      if (value > max) throw new AbiError(`more than ${bits} bits`)
      return value
    },
    encode(value) {
      if (value < 0n || value > max) throw new RangeError(`${value} is not a uint${bits}`)
      return bigIntToBytes(value, WORD_BYTES)
    },
  }
}

/** Two's complement, extended to the whole word. */
function signed(bits: number): AbiType<bigint> {
  return {
    name: `int${bits}`,
    isDynamic: false,
    headBytes: WORD_BYTES,
    read(reader, at) {
      const value = BigInt.asIntN(WORD_BITS, reader.number(at))
      if (value !== BigInt.asIntN(bits, value)) throw new AbiError(`more than ${bits} bits`)
      return value
    },
    encode(value) {
      if (value !== BigInt.asIntN(bits, value)) throw new RangeError(`${value} is not an int${bits}`)
      return bigIntToBytes(BigInt.asUintN(WORD_BITS, value), WORD_BYTES)
    },
  }
}

/** Of any length. The padding of the last word is not checked and may be missing, as in code from the Solidity compiler. */
export const bytes: AbiType<Uint8Array> = {
  name: 'bytes',
  isDynamic: true,
  headBytes: WORD_BYTES,
  read: (reader, at) => reader.bytes(at + WORD_BYTES, reader.size(at)),
  encode(value) {
    const padded = new Uint8Array(Math.ceil(value.length / WORD_BYTES) * WORD_BYTES)
    padded.set(value)
    return concatBytes(bigIntToBytes(BigInt(value.length), WORD_BYTES), padded)
  },
}

/** Decodes short ASCII texts, the usual ones: faster than a TextDecoder. */
function shortAscii(encoded: Uint8Array): string | undefined {
  if (encoded.length > SHORT_TEXT) return undefined
  let text = ''
  for (const byte of encoded) {
    if (byte > 0x7f) return undefined
    text += String.fromCharCode(byte)
  }
  return text
}

/** UTF-8; other bytes are refused, though compiled Solidity accepts them. */
export const string: AbiType<string> = {
  name: 'string',
  isDynamic: true,
  headBytes: WORD_BYTES,
  read(reader, at) {
    const encoded = reader.view(at + WORD_BYTES, reader.size(at))
    const text = shortAscii(encoded) ?? decodeUtf8(encoded)
    if (text === undefined) throw new AbiError('not UTF-8')
    return text
  },
  encode: (value) => bytes.encode(new TextEncoder().encode(value)),
}

/** `item[]` */
export function array<const T extends AbiType<unknown>>(item: T): AbiType<readonly AbiValue<T>[]> {
  return {
    name: `${item.name}[]`,
    isDynamic: true,
    headBytes: WORD_BYTES,
    read(reader, at) {
      const length = reader.size(at)
      const start = at + WORD_BYTES
      reader.expect(start, length * item.headBytes)
      return readTuple(reader, start, repeat(item, length)) as AbiValue<T>[]
    },
    encode: (values) =>
      concatBytes(bigIntToBytes(BigInt(values.length), WORD_BYTES), writeTuple(repeat(item, values.length), values)),
  }
}

/** A struct: its members by name. */
export function tuple<const F extends AbiFields>(fields: F): AbiType<AbiValues<F>> {
  const names = Object.keys(fields)
  const types = Object.values(fields)
  const isDynamic = types.some((type) => type.isDynamic)
  return {
    name: `(${types.map((type) => type.name).join(',')})`,
    isDynamic,
    headBytes: isDynamic ? WORD_BYTES : tupleHeadBytes(types),
    read(reader, at) {
      const values = readTuple(reader, at, types)
      const members: Record<string, unknown> = {}
      for (const [index, name] of names.entries()) members[name] = values[index]
      return members as AbiValues<F>
    },
    encode: (value) =>
      writeTuple(
        types,
        names.map((name) => value[name]),
      ),
  }
}

function repeat(item: AbiType<unknown>, length: number): readonly AbiType<unknown>[] {
  return new Array<AbiType<unknown>>(length).fill(item)
}

/** Bytes of a tuple's head, which holds each value or its offset. */
function tupleHeadBytes(types: readonly AbiType<unknown>[]): number {
  return types.reduce((sum, type) => sum + type.headBytes, 0)
}

/**
 * Reads values one after another from `start` on; the offsets of dynamic ones count from there.
 * @throws AbiError
 */
export function readTuple(reader: AbiReader, start: number, types: readonly AbiType<unknown>[]): unknown[] {
  const values: unknown[] = []
  let head = start
  for (const type of types) {
    values.push(type.read(reader, type.isDynamic ? start + reader.size(head) : head))
    head += type.headBytes
  }
  return values
}

/** The inverse of {@link readTuple}: the heads, then the dynamic values, without gaps. */
export function writeTuple(types: readonly AbiType<unknown>[], values: readonly unknown[]): Uint8Array {
  const parts = types.map((type, index) => type.encode(values[index]))
  let tail = tupleHeadBytes(types)
  const total = parts.reduce((sum, part, index) => (types[index]!.isDynamic ? sum + part.length : sum), tail)
  const out = new Uint8Array(total)
  let head = 0
  for (const [index, type] of types.entries()) {
    const part = parts[index]!
    if (type.isDynamic) {
      out.set(bigIntToBytes(BigInt(tail), WORD_BYTES), head)
      out.set(part, tail)
      tail += part.length
    } else {
      out.set(part, head)
    }
    head += type.headBytes
  }
  return out
}
