import type { Address } from '../../primitives/address.ts'
import { hexToBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { InvalidArgument } from '../jsonrpc/errors.ts'
import type { ParamReader } from '../jsonrpc/method.ts'

/**
 * A value of the wrong type, with the text of Go's encoding/json, which geth's clients compare
 * with.
 */
export class TypeMismatch extends InvalidArgument {
  /** what the value is, e.g. `number` or `hex string without 0x prefix` */
  readonly found: string
  /** e.g. `hexutil.Uint64` */
  readonly goType: string

  constructor(found: string, goType: string, target = 'value') {
    super(`json: cannot unmarshal ${found} into Go ${target} of type ${goType}`)
    this.found = found
    this.goType = goType
  }
}

/** Returns Go's name for the kind of a JSON value. */
export function jsonKind(json: unknown): string {
  if (json === null || json === undefined) return 'null'
  if (Array.isArray(json)) return 'array'
  if (typeof json === 'boolean') return 'bool'
  return typeof json
}

export const readBool: ParamReader<boolean> = (json) => {
  if (typeof json !== 'boolean') throw new TypeMismatch(jsonKind(json), 'bool')
  return json
}

/** Returns a reader of a QUANTITY of at most `bits` bits; `goType` goes into its errors. */
export function quantity(bits: 64 | 256, goType: string): ParamReader<bigint> {
  return (json) => {
    if (typeof json !== 'string') throw new TypeMismatch('non-string', goType)
    // geth reads the empty string as zero.
    if (json === '') return 0n
    const read = quantityDigits(json)
    if ('fault' in read) throw new TypeMismatch(read.fault, goType)
    if (read.digits.length > bits / 4) throw new TypeMismatch(`hex number > ${bits} bits`, goType)
    if (!/^[0-9a-f]+$/i.test(read.digits)) throw new TypeMismatch('invalid hex string', goType)
    return BigInt(`0x${read.digits}`)
  }
}

/** Reads a 64-bit unsigned integer. */
export const readUint64: ParamReader<bigint> = quantity(64, 'hexutil.Uint64')

/** Reads a 256-bit unsigned integer. */
export const readUint256: ParamReader<bigint> = quantity(256, 'hexutil.Big')

const readIndexBits = quantity(64, 'hexutil.Uint')

/**
 * Reads the index of a transaction or uncle in its block. Beyond 2^53 it is not exact, but no block
 * is that large.
 */
export const readIndex: ParamReader<number> = (json) => Number(readIndexBits(json))

/** Reads a count or an index: a JSON number, as several methods are called, or a QUANTITY. */
export const readCount: ParamReader<number> = (json) => {
  if (typeof json !== 'number') return readIndex(json)
  if (!Number.isSafeInteger(json) || json < 0) throw new TypeMismatch(`number ${json}`, 'int')
  return json
}

/**
 * Reads a block number where a tag is allowed too (`hexutil.DecodeUint64`): geth does not wrap its
 * errors there.
 * @throws InvalidArgument
 */
export function decodeBlockNumber(text: string): number {
  if (text === '') throw new InvalidArgument('empty hex string')
  const read = quantityDigits(text)
  if ('fault' in read) throw new InvalidArgument(read.fault)
  if (!/^[0-9a-f]+$/i.test(read.digits)) throw new InvalidArgument('invalid hex string')
  const number = BigInt(`0x${read.digits}`)
  if (number >= 1n << 64n) throw new InvalidArgument('hex number > 64 bits')
  if (number >= 1n << 63n) throw new InvalidArgument('block number larger than int64')
  return Number(number)
}

/**
 * Returns the digits of a QUANTITY, or geth's text for what is wrong with it (common/hexutil). The
 * caller handles the empty string.
 */
function quantityDigits(text: string): { digits: string } | { fault: string } {
  if (!/^0x/i.test(text)) return { fault: 'hex string without 0x prefix' }
  const digits = text.slice(2)
  if (digits === '') return { fault: 'hex string "0x"' }
  if (digits.length > 1 && digits.startsWith('0')) return { fault: 'hex number with leading zero digits' }
  return { digits }
}

/** Reads DATA of any length; the empty string means no bytes, as in geth. */
export const readData: ParamReader<Uint8Array> = (json) =>
  decodeDigits(dataDigits(json, 'hexutil.Bytes'), 'hexutil.Bytes')

/** Reads 20 bytes. Letters may be upper or lower case; a checksum is not enforced. */
export const readAddress: ParamReader<Address> = fixedData(20, 'common.Address')

/** Reads 32 bytes. */
export const readHash: ParamReader<Hash> = fixedData(32, 'common.Hash')

/** Returns a reader of DATA of exactly `length` bytes. */
function fixedData(length: number, goType: string): ParamReader<Uint8Array> {
  return (json) => {
    const digits = dataDigits(json, goType)
    if (digits.length !== length * 2) {
      throw new InvalidArgument(`hex string has length ${digits.length}, want ${length * 2} for ${goType}`)
    }
    return decodeDigits(digits, goType)
  }
}

/** Returns the digits of DATA with an even length. @throws TypeMismatch */
function dataDigits(json: unknown, goType: string): string {
  if (typeof json !== 'string') throw new TypeMismatch('non-string', goType)
  if (json === '') return ''
  if (!/^0x/i.test(json)) throw new TypeMismatch('hex string without 0x prefix', goType)
  if (json.length % 2 !== 0) throw new TypeMismatch('hex string of odd length', goType)
  return json.slice(2)
}

function decodeDigits(digits: string, goType: string): Uint8Array {
  try {
    return hexToBytes(`0x${digits}`)
  } catch {
    throw new TypeMismatch('invalid hex string', goType)
  }
}

type FieldReaders = Readonly<Record<string, ParamReader<unknown>>>

type FieldsOf<F extends FieldReaders> = {
  readonly [K in keyof F]?: F[K] extends ParamReader<infer T> ? T | undefined : never
}

/**
 * Returns a reader of a JSON object. A field that is absent or null is absent in the result, and
 * unknown keys are ignored, because clients send extras. `structName` and `goType` go into errors
 * as Go writes them.
 */
export function objectReader<F extends FieldReaders>(
  structName: string,
  goType: string,
  fields: F,
): ParamReader<FieldsOf<F>> {
  const readers = Object.entries(fields)
  return (json) => {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new TypeMismatch(jsonKind(json), goType)
    }
    const source = json as Readonly<Record<string, unknown>>
    const out: Record<string, unknown> = {}
    for (const [name, read] of readers) {
      const value = Object.hasOwn(source, name) ? source[name] : undefined
      if (value === undefined || value === null) continue
      out[name] = readField(structName, name, read, value)
    }
    return out as FieldsOf<F>
  }
}

/**
 * Like {@link objectReader}, for an object in which an unknown key is an error (Go:
 * DisallowUnknownFields).
 */
export function strictObjectReader<F extends FieldReaders>(
  structName: string,
  goType: string,
  fields: F,
): ParamReader<FieldsOf<F>> {
  const read = objectReader(structName, goType, fields)
  return (json) => {
    const values = read(json)
    for (const name of Object.keys(json as object)) {
      if (Object.hasOwn(fields, name)) continue
      throw new InvalidArgument(`json: unknown field ${JSON.stringify(name.slice(0, MAX_SHOWN_NAME))}`)
    }
    return values
  }
}

/** Most characters of an unknown key that an error shows. */
const MAX_SHOWN_NAME = 100

function readField(structName: string, name: string, read: ParamReader<unknown>, value: unknown): unknown {
  try {
    return read(value)
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error
    throw new TypeMismatch(error.found, error.goType, `struct field ${structName}.${name}`)
  }
}

/** Returns a reader of a JSON array; `goType` is the array's. */
export function listReader<T>(read: ParamReader<T>, goType: string): ParamReader<readonly T[]> {
  return (json) => {
    if (!Array.isArray(json)) throw new TypeMismatch(jsonKind(json), goType)
    return json.map((item: unknown) => read(item))
  }
}

/** Returns a reader of a JSON object with free keys; null values are left out. */
export function recordReader<K, V>(
  readKey: ParamReader<K>,
  readValue: ParamReader<V>,
  goType: string,
): ParamReader<readonly (readonly [K, V])[]> {
  return (json) => {
    if (typeof json !== 'object' || json === null || Array.isArray(json)) {
      throw new TypeMismatch(jsonKind(json), goType)
    }
    return Object.entries(json)
      .filter(([, value]) => value !== null)
      .map(([key, value]) => [readKey(key), readValue(value)] as const)
  }
}
