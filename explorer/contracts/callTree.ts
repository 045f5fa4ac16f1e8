import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { CALL_KINDS } from './tables.ts'

/** A call of a transaction, as it is stored. */
export interface Call {
  /** place in the whole tree, each caller before its callees; 0 is the transaction's own call */
  readonly ordinal: number
  readonly depth: number
  /** see {@link CALL_KINDS} */
  readonly kind: number
  /** 0x…, in lower case */
  readonly from: string
  /** null: a creation that failed */
  readonly to: string | null
  /** acoin that it moved. DELEGATECALL and CALLCODE run in the caller's own account and move none. */
  readonly value: bigint
  readonly gas: number
  readonly gasUsed: number
  /** 0x…; shorter than `inputSize` bytes when it was cut. Empty for ordinal 0: the transaction has it. */
  readonly input: string
  readonly inputSize: number
  /** 0x…, in the same way; empty for a creation: it is the code of the contract */
  readonly output: string
  readonly outputSize: number
  /** whether its effects stayed: neither it nor any of its callers failed */
  readonly isEffective: boolean
  /** its own error */
  readonly error: string | null
}

/** The calls of one transaction. */
export interface CallTree {
  /** with those that are left out */
  readonly count: number
  /** in their order; without gaps when it is not cut */
  readonly calls: readonly Call[]
  readonly isCut: boolean
}

/** Calls of one transaction that are always stored. Later calls are stored only if {@link isListed}. */
const MAX_CALLS = 10_000
/** Bytes of the data of one call, and of all calls of a transaction together. Beyond that, only selectors are stored. */
const MAX_INPUT = 2_048
const MAX_OUTPUT = 1_024
const MAX_DATA = 256 * 1024
const SELECTOR = 4
/** Characters of a reason. */
const MAX_ERROR = 200
const MAX_DEPTH = 1_024

const KINDS: ReadonlyMap<unknown, number> = new Map(
  Object.entries(CALL_KINDS).map(([name, kind]) => [name.toUpperCase(), kind]),
)
const HEX = /^0x(?:[0-9a-f]{2})*$/
const ADDRESS = /^0x[0-9a-f]{40}$/
const QUANTITY = /^0x[0-9a-f]{1,64}$/
const CREATIONS: ReadonlySet<number> = new Set([CALL_KINDS.create, CALL_KINDS.create2])
const OWN_ACCOUNT: ReadonlySet<number> = new Set([CALL_KINDS.delegatecall, CALL_KINDS.callcode])

/** Whether it is one of its accounts' internal calls: it moves coins, creates a contract or destroys one. */
export function isListed({ ordinal, kind, value }: Call): boolean {
  return ordinal > 0 && (value > 0n || CREATIONS.has(kind) || kind === CALL_KINDS.selfdestruct)
}

/**
 * Reads callTracer's answer for one transaction.
 * @returns undefined when it has another form
 */
export function readCallTree(trace: unknown): CallTree | undefined {
  const calls: Call[] = []
  let count = 0
  let plain = 0
  let dataLeft = MAX_DATA
  const open: { readonly frame: unknown; readonly depth: number; readonly isEffective: boolean }[] = [
    { frame: trace, depth: 0, isEffective: true },
  ]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const call = readCall(next.frame, count, next.depth, next.isEffective)
    const inner = (next.frame as { readonly calls?: unknown } | null)?.calls ?? []
    if (call === undefined || !Array.isArray(inner) || next.depth > MAX_DEPTH) return undefined
    count++
    for (const frame of inner.toReversed()) {
      open.push({ frame, depth: next.depth + 1, isEffective: call.isEffective })
    }
    if (!isListed(call)) {
      plain++
      if (plain > MAX_CALLS) continue
    }
    const input = cut(call.input, dataLeft > 0 ? MAX_INPUT : SELECTOR)
    const output = cut(call.output, dataLeft > 0 ? MAX_OUTPUT : 0)
    dataLeft -= sizeOf(input) + sizeOf(output)
    calls.push({ ...call, input, output })
  }
  return { count, calls, isCut: count > calls.length }
}

function readCall(frame: unknown, ordinal: number, depth: number, isInEffective: boolean): Call | undefined {
  if (typeof frame !== 'object' || frame === null) return undefined
  const {
    type,
    from,
    to,
    value,
    gas,
    gasUsed,
    input,
    output = '0x',
    error,
  } = frame as Readonly<Record<string, unknown>>
  const kind = KINDS.get(type)
  const [gasNumber, gasUsedNumber, amount] = [quantityOf(gas), quantityOf(gasUsed), quantityOf(value ?? '0x0')]
  if (kind === undefined || !isText(from, ADDRESS) || !isText(input, HEX) || !isText(output, HEX)) return undefined
  if (to === undefined ? !CREATIONS.has(kind) : !isText(to, ADDRESS)) return undefined
  if (amount === undefined || gasNumber === undefined || gasUsedNumber === undefined) return undefined
  if (gasNumber > Number.MAX_SAFE_INTEGER || gasUsedNumber > Number.MAX_SAFE_INTEGER) return undefined
  if (error !== undefined && typeof error !== 'string') return undefined
  return {
    ordinal,
    depth,
    kind,
    from,
    to: (to as string | undefined) ?? null,
    value: OWN_ACCOUNT.has(kind) ? 0n : amount,
    gas: Number(gasNumber),
    gasUsed: Number(gasUsedNumber),
    input: ordinal === 0 ? '0x' : input,
    inputSize: sizeOf(input),
    output: CREATIONS.has(kind) && error === undefined ? '0x' : output,
    outputSize: sizeOf(output),
    isEffective: isInEffective && error === undefined,
    // PostgreSQL's text takes neither halves of characters nor the character 0.
    error: error === undefined ? null : error.slice(0, MAX_ERROR).toWellFormed().replaceAll('\0', ''),
  }
}

function isText(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value)
}

function quantityOf(value: unknown): bigint | undefined {
  return isText(value, QUANTITY) ? BigInt(value) : undefined
}

function sizeOf(hex: string): number {
  return hex.length / 2 - 1
}

function cut(hex: string, bytes: number): string {
  return hex.slice(0, 2 + 2 * bytes)
}

/** A call as it is stored: its fields in their order. */
type PackedCall = readonly [
  ordinal: number,
  depth: number,
  kind: number,
  from: string,
  to: string | null,
  value: string,
  gas: number,
  gasUsed: number,
  input: string,
  inputSize: number,
  output: string,
  outputSize: number,
  isEffective: 0 | 1,
  error: string | null,
]

/** Longest tree that is stored uncompressed, in characters: compression would save a hundred bytes and a tenth more time. */
const SHORT_TREE = 300

/**
 * The calls of a transaction as the bytes that are stored: JSON, compressed when it is long, because addresses and data repeat.
 */
export function packCalls(calls: readonly Call[]): Uint8Array {
  const packed = calls.map((call): PackedCall => {
    const { ordinal, depth, kind, from, to, value, gas, gasUsed, input, inputSize, output, outputSize, error } = call
    const numbers = [gas, gasUsed] as const
    const data = [input, inputSize, output, outputSize] as const
    return [ordinal, depth, kind, from, to, String(value), ...numbers, ...data, call.isEffective ? 1 : 0, error]
  })
  const text = JSON.stringify(packed)
  return text.length <= SHORT_TREE ? Buffer.from(text) : deflateRawSync(text)
}

/** Bytes of an unpacked tree: a safety limit, above those of {@link readCallTree}. */
const MAX_UNPACKED = 64 * 1024 * 1024

/** [ */
const PLAIN_START = 0x5b

/** Reverses {@link packCalls}. */
export function unpackCalls(bytes: Uint8Array): Call[] {
  // RFC 1951: a compressed text that begins with [ never has [ as its first byte.
  const isPlain = bytes[0] === PLAIN_START
  const text = isPlain ? Buffer.from(bytes) : inflateRawSync(bytes, { maxOutputLength: MAX_UNPACKED })
  const packed = JSON.parse(text.toString('utf8')) as readonly PackedCall[]
  return packed.map(
    ([
      ordinal,
      depth,
      kind,
      from,
      to,
      value,
      gas,
      gasUsed,
      input,
      inputSize,
      output,
      outputSize,
      isEffective,
      error,
    ]) => ({
      ordinal,
      depth,
      kind,
      from,
      to,
      value: BigInt(value),
      gas,
      gasUsed,
      input,
      inputSize,
      output,
      outputSize,
      isEffective: isEffective === 1,
      error,
    }),
  )
}
