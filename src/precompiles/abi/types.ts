import { type Address, toAddress } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes, padLeft } from '../../primitives/bytes.ts'
import { AbiError, WORD_BYTES } from './reader.ts'
import { readTuple, tupleHeadBytes, writeTuple } from './tuple.ts'
import type { AbiFields, AbiType, AbiValue, AbiValues } from './type.ts'

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
      if (value < 0n || value > max) throw new RangeError(`${value} is no uint${bits}`)
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
      if (value !== BigInt.asIntN(bits, value)) throw new RangeError(`${value} is no int${bits}`)
      return bigIntToBytes(BigInt.asUintN(WORD_BITS, value), WORD_BYTES)
    },
  }
}

/** Of any length. What pads the last word is not looked at, and may be missing, as for code from the Solidity compiler. */
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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Most texts are a few characters, for which a decoder takes longest to begin. */
function shortAscii(encoded: Uint8Array): string | undefined {
  if (encoded.length > SHORT_TEXT) return undefined
  let text = ''
  for (const byte of encoded) {
    if (byte > 0x7f) return undefined
    text += String.fromCharCode(byte)
  }
  return text
}

/** UTF-8; other bytes are refused, though compiled Solidity lets them pass. */
export const string: AbiType<string> = {
  name: 'string',
  isDynamic: true,
  headBytes: WORD_BYTES,
  read(reader, at) {
    const encoded = reader.view(at + WORD_BYTES, reader.size(at))
    try {
      return shortAscii(encoded) ?? utf8.decode(encoded)
    } catch {
      throw new AbiError('not UTF-8')
    }
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
