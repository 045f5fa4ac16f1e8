import type { CallScope } from '../jsonrpc/callScope.ts'
import { RPC_CODES } from '../jsonrpc/errors.ts'

/** One method of CometBFT's RPC, under GET /rpc/<name> and POST /rpc. The result is JSON-ready, or {@link RawJson}. */
export interface CometMethod {
  readonly name: string
  readonly params: readonly CometParam[]
  /**
   * Runs the method.
   * @param args in the order of `params`; undefined: omitted
   * @param scope the client and the deadline
   * @throws CometError
   */
  run(args: readonly unknown[], scope: CallScope): unknown
}

/** A parameter of a method; every parameter may be omitted. */
interface CometParam<T = unknown> {
  readonly name: string
  readonly type: CometType<T>
}

export type CometTable = ReadonlyMap<string, CometMethod>

type ArgsOf<P extends readonly CometParam[]> = {
  [I in keyof P]: P[I] extends CometParam<infer T> ? T | undefined : never
}

/** Declares a method with typed arguments; the last is the scope of the call. */
export function defineCometMethod<const P extends readonly CometParam[]>(method: {
  readonly name: string
  readonly params: P
  readonly run: (...args: [...ArgsOf<P>, scope: CallScope]) => unknown
}): CometMethod {
  return { name: method.name, params: method.params, run: (args, scope) => method.run(...(args as ArgsOf<P>), scope) }
}

export function createCometTable(methods: readonly CometMethod[]): CometTable {
  return new Map(methods.map((method) => [method.name, method]))
}

/**
 * CometBFT's error object (rpc/jsonrpc/types): each code has a fixed message, and the reason is in
 * `data`.
 */
export class CometError extends Error {
  override readonly name = 'CometError'
  readonly code: number
  readonly data: string

  constructor(code: number, message: string, data: string) {
    super(message)
    this.code = code
    this.data = data
  }
}

/**
 * Returns the error of a method that cannot answer; CometBFT calls every reason an internal error.
 */
export function cometFailure(reason: string): CometError {
  return new CometError(RPC_CODES.internal, 'Internal error', reason)
}

export class CometParamError extends Error {
  override readonly name = 'CometParamError'
}

/**
 * How a parameter is written, in a query and in JSON (rpc/jsonrpc/server/http_uri_handler.go and http_json_handler.go, libs/json).
 * Both readers throw {@link CometParamError} with CometBFT's texts.
 */
export interface CometType<T> {
  /** @param text not empty */
  fromQuery(text: string): T | undefined
  fromJson(value: unknown): T | undefined
}

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n
const MAX_UINT64 = 2n ** 64n - 1n

/** A hash in hex; its base64 is shorter. */
const HASH_DIGITS = /^(?:0x)?[0-9a-f]{64}$/i

/**
 * Sign and digits of the longest 64-bit integer. Reading millions of digits would take a second.
 */
const MAX_INTEGER_LENGTH = 20

/** Reads an integer: 5 or "5" in a query; "5" in JSON, and also 5, which CometBFT refuses. */
function integer(goType: string, min: bigint, max: bigint): CometType<bigint> {
  const parse = (digits: string): bigint => {
    if (digits === '' || digits === '-') throw new CometParamError('unexpected end of JSON input')
    const [start = ''] = /^-?[0-9]*/.exec(digits) ?? []
    if (start.length < digits.length) {
      const where = start === '' ? 'looking for beginning of value' : 'after top-level value'
      throw new CometParamError(`invalid character '${digits[start.length]}' ${where}`)
    }
    const value = start.length > MAX_INTEGER_LENGTH ? undefined : BigInt(start)
    if (value !== undefined && value >= min && value <= max) return value
    throw new CometParamError(`json: cannot unmarshal number ${start} into Go value of type ${goType}`)
  }
  const refuse = (json: string): never => {
    throw new CometParamError(`invalid 64-bit integer encoding ${JSON.stringify(json)}, expected string`)
  }
  return {
    fromQuery: (text) => {
      if (/^0x/i.test(text)) throw new CometParamError(`got a hex string arg, but expected '${goType}'`)
      if (/^-?[0-9]+$/.test(text)) return parse(text)
      return isQuoted(text) ? parse(text.slice(1, -1)) : refuse(text)
    },
    fromJson: (value) => {
      if (value === null || value === undefined) return undefined
      if (typeof value === 'string') return parse(value)
      return Number.isSafeInteger(value) ? parse(String(value)) : refuse(JSON.stringify(value))
    },
  }
}

export const int64 = integer('int64', MIN_INT64, MAX_INT64)
export const int = integer('int', MIN_INT64, MAX_INT64)
export const uint = integer('uint', 0n, MAX_UINT64)

/** A text: in a query between quotation marks, and also without them, which CometBFT refuses. */
export const text: CometType<string> = {
  fromQuery: (value) => (isQuoted(value) ? value.slice(1, -1) : value),
  fromJson: (value) => stringOf(value, 'string'),
}

export const bool: CometType<boolean> = {
  fromQuery: (value) => {
    if (value === 'true') return true
    if (value === 'false') return false
    throw new CometParamError(`invalid character '${value[0]}' looking for beginning of value`)
  },
  fromJson: (value) => {
    if (value === null || value === undefined) return undefined
    if (typeof value === 'boolean') return value
    throw new CometParamError(`json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type bool`)
  },
}

/**
 * A hash: 0x and hex in a query, base64 in JSON. CometBFT reads characters between quotation marks in a query as the bytes themselves,
 * which is useless for a hash: here they may be hex, and so may the text in JSON.
 */
export const bytes: CometType<Uint8Array> = {
  fromQuery: (text) => {
    const inner = isQuoted(text) ? text.slice(1, -1) : text
    if (HASH_DIGITS.test(inner)) return fromHex(inner.replace(/^0x/i, ''))
    if (isQuoted(text)) return new TextEncoder().encode(inner)
    if (/^0x/i.test(text)) return fromHex(text.slice(2))
    throw new CometParamError(`invalid character '${text[0]}' looking for beginning of value`)
  },
  fromJson: (value) => {
    const text = stringOf(value, '[]uint8')
    if (text === undefined) return undefined
    return HASH_DIGITS.test(text) ? fromHex(text.replace(/^0x/i, '')) : fromBase64(text)
  },
}

/** A hash that is hex in JSON as well. */
export const hexBytes: CometType<Uint8Array> = {
  fromQuery: bytes.fromQuery,
  fromJson: (value) => {
    const text = stringOf(value, 'string')
    return text === undefined ? undefined : fromHex(text.replace(/^0x/i, ''))
  },
}

/**
 * A transaction: in a query 0x and hex, or the bytes themselves between quotation marks, as in
 * CometBFT. Hex between quotation marks is read too, because no transaction begins with the
 * characters `0x`. In JSON base64.
 */
export const transaction: CometType<Uint8Array> = {
  fromQuery: (text) => {
    const inner = isQuoted(text) ? text.slice(1, -1) : text
    if (/^0x/i.test(inner)) return fromHex(inner.slice(2))
    if (isQuoted(text)) return new TextEncoder().encode(inner)
    throw new CometParamError(`invalid character '${text[0]}' looking for beginning of value`)
  },
  fromJson: (value) => {
    const text = stringOf(value, '[]uint8')
    return text === undefined ? undefined : fromBase64(text)
  },
}

/** Decodes base64. @throws CometParamError */
export function fromBase64(text: string): Uint8Array {
  const strange = /[^0-9A-Za-z+/]/.exec(text.replace(/={0,2}$/, ''))
  if (strange !== null) throw new CometParamError(`illegal base64 data at input byte ${strange.index}`)
  if (text.length % 4 !== 0) throw new CometParamError(`illegal base64 data at input byte ${text.length}`)
  return new Uint8Array(Buffer.from(text, 'base64'))
}

function fromHex(digits: string): Uint8Array {
  const [strange] = /[^0-9a-f]/i.exec(digits) ?? []
  if (strange !== undefined) {
    const point = strange.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
    throw new CometParamError(`encoding/hex: invalid byte: U+${point} '${strange}'`)
  }
  if (digits.length % 2 !== 0) throw new CometParamError('encoding/hex: odd length hex string')
  return new Uint8Array(Buffer.from(digits, 'hex'))
}

function stringOf(value: unknown, goType: string): string | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'string') return value
  throw new CometParamError(`json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${goType}`)
}

/** Returns Go's name for the kind of a JSON value other than null. */
export function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value
}

function isQuoted(text: string): boolean {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"')
}
