import { WebAssembly } from '../../primitives/webAssembly.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

/** Bytes of the input: rounds, state, message block, offset counters, final flag. */
const LENGTH = 213

/** 0x09: the compression function of BLAKE2b (EIP-152), 1 gas a round. */
export const blake2fPrecompile: StandardPrecompile = {
  gas(input) {
    if (input.length !== LENGTH) return 0n
    return BigInt(((input[0]! << 24) | (input[1]! << 16) | (input[2]! << 8) | input[3]!) >>> 0)
  },
  run(input) {
    if (input.length !== LENGTH) return 'invalid input length'
    if (input[LENGTH - 1]! > 1) return 'invalid final flag'
    return blake2f(input)
  },
}

/**
 * Computes the compression function of BLAKE2b with any number of rounds, about 15 ns each. Plain
 * JavaScript takes a microsecond: at 1 gas for a round, one transaction could stop a chain for
 * seconds. So the code below assembles a WebAssembly module for it. `input` has the 213 bytes of
 * the precompile. Returns the 64 bytes of the new state.
 */
export function blake2f(input: Uint8Array): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, LENGTH)
  const state = Array.from({ length: 8 }, (_, index) => view.getBigUint64(4 + index * 8, true))
  for (let i = 0; i < 8; i++) {
    words[i] = state[i]!
    words[8 + i] = IV[i]!
  }
  words[12]! ^= view.getBigUint64(196, true)
  words[13]! ^= view.getBigUint64(204, true)
  if (input[LENGTH - 1] === 1) words[14]! ^= 0xffffffffffffffffn
  for (let i = 0; i < 16; i++) words[16 + i] = view.getBigUint64(68 + i * 8, true)
  for (let rounds = view.getUint32(0); rounds > 0; rounds -= CHUNK) run(Math.min(rounds, CHUNK))
  const output = new DataView(new ArrayBuffer(64))
  for (let i = 0; i < 8; i++) output.setBigUint64(i * 8, state[i]! ^ words[i]! ^ words[8 + i]!, true)
  return new Uint8Array(output.buffer)
}

/** Initialization vector of BLAKE2b (RFC 7693, section 2.6). */
const IV: readonly bigint[] = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
]

/** Message schedule, a round a row (RFC 7693, section 2.7). */
const SIGMA: readonly (readonly number[])[] = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
]

/** The words that each of a round's eight mixings works on. */
const MIXINGS: readonly (readonly [number, number, number, number])[] = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
]

/** Memory of the module: the 16 working words, then the 16 words of the message block. */
const MESSAGE_OFFSET = 128

/** WebAssembly's encoding of the instructions that are used (its core specification, chapter 5). */
const WASM = {
  header: [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
  section: { type: 1, function: 3, memory: 5, export: 7, code: 10 },
  type: { function: 0x60, i32: 0x7f, i64: 0x7e, empty: 0x40 },
  kind: { function: 0x00, memory: 0x02 },
  op: {
    block: 0x02,
    loop: 0x03,
    end: 0x0b,
    br: 0x0c,
    brIf: 0x0d,
    localGet: 0x20,
    localSet: 0x21,
    i64Load: 0x29,
    i64Store: 0x37,
    i32Const: 0x41,
    i64Const: 0x42,
    i32Eqz: 0x45,
    i32Sub: 0x6b,
    i64Add: 0x7c,
    i64Xor: 0x85,
    i64Rotr: 0x8a,
  },
} as const

const { op } = WASM
/** Local 0 is the number of rounds, then come the working words. */
const ROUNDS = 0
const word = (index: number) => index + 1

/**
 * Rounds of one call of the module, a multiple of the ten schedules. V8 cannot replace code by its optimized version while a
 * call runs, so that a long computation is split into several calls.
 */
const CHUNK = 10_000

const { memory, run } = instantiate()
const words = new BigUint64Array(memory.buffer, 0, 32)

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly run: (rounds: number) => void
}

function instantiate(): Exports {
  const { section, type, kind } = WASM
  const bytes = Uint8Array.from([
    ...WASM.header,
    ...sized(section.type, [1, type.function, 1, type.i32, 0]),
    ...sized(section.function, [1, 0]),
    ...sized(section.memory, [1, 0, 1]),
    ...sized(section.export, [2, ...named('memory'), kind.memory, 0, ...named('run'), kind.function, 0]),
    ...sized(section.code, [1, ...prefixed([1, 16, type.i64, ...body(), op.end])]),
  ])
  return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports as Exports
}

/** Loads the working words, mixes until no round is left, with the ten schedules in turn, and stores them. */
function body(): number[] {
  const code: number[] = []
  for (let i = 0; i < 16; i++) code.push(op.i32Const, 0, op.i64Load, 3, ...leb(i * 8), op.localSet, word(i))
  code.push(op.block, WASM.type.empty, op.loop, WASM.type.empty)
  for (const schedule of SIGMA) {
    code.push(op.localGet, ROUNDS, op.i32Eqz, op.brIf, 1)
    code.push(op.localGet, ROUNDS, op.i32Const, 1, op.i32Sub, op.localSet, ROUNDS)
    MIXINGS.forEach(([a, b, c, d], index) => {
      code.push(...half(a, b, c, d, schedule[index * 2]!, 32, 24))
      code.push(...half(a, b, c, d, schedule[index * 2 + 1]!, 16, 63))
    })
  }
  code.push(op.br, 0, op.end, op.end)
  for (let i = 0; i < 16; i++) code.push(op.i32Const, 0, op.localGet, word(i), op.i64Store, 3, ...leb(i * 8))
  return code
}

/** Emits half a mixing: a += b + message; d = (d ^ a) >>> first; c += d; b = (b ^ c) >>> second. */
function half(a: number, b: number, c: number, d: number, message: number, first: number, second: number): number[] {
  const sum = (x: number, y: number) => [op.localGet, word(x), op.localGet, word(y), op.i64Add]
  const rotated = (x: number, y: number, by: number) => [
    ...[op.localGet, word(x), op.localGet, word(y), op.i64Xor],
    ...[op.i64Const, ...signedLeb(by), op.i64Rotr, op.localSet, word(x)],
  ]
  const messageWord = [op.i32Const, 0, op.i64Load, 3, ...leb(MESSAGE_OFFSET + message * 8)]
  return [
    ...[...sum(a, b), ...messageWord, op.i64Add, op.localSet, word(a)],
    ...rotated(d, a, first),
    ...[...sum(c, d), op.localSet, word(c)],
    ...rotated(b, c, second),
  ]
}

function sized(id: number, content: readonly number[]): number[] {
  return [id, ...prefixed(content)]
}

function prefixed(content: readonly number[]): number[] {
  return [...leb(content.length), ...content]
}

function named(name: string): number[] {
  return prefixed([...new TextEncoder().encode(name)])
}

function leb(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb(value >> 7)]
}

/** Encodes a small positive number as signed LEB128: bit 6 of the last byte is the sign. */
function signedLeb(value: number): number[] {
  return value < 0x40 ? [value] : [value | 0x80, 0]
}
