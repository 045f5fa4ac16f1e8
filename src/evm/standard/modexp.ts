import { type Hardfork, includesFork } from '../../chain/genesis/hardfork.ts'
import { loadBuiltModule } from '../../primitives/builtModule.ts'
import { bytesToBigInt, EMPTY_BYTES, stripZeros, toBuffer } from '../../primitives/bytes.ts'
import { padRight, type StandardPrecompile } from './standardPrecompile.ts'

/** EIP-7823. */
const MAX_LENGTH = 1_024n
/** The longest base and modulus: longer ones cost more than 5 Ggas, which no block and no call has. */
const MAX_PAYABLE_LENGTH = 1n << 20n
/** The longest exponent: each byte costs at least 2 gas, so that no gas pays for longer ones either. */
const MAX_EXPONENT_LENGTH = 1n << 32n

/** 0x05: base ** exponent % modulus (EIP-198, gas of EIP-2565 and EIP-7883, bounds of EIP-7823). */
export const modexp: StandardPrecompile = {
  gas: (input, fork) => modexpGas(sizesOf(input), fork),
  run,
}

function run(input: Uint8Array, fork: Hardfork): Uint8Array | string {
  const { baseLength, exponentLength, modulusLength } = sizesOf(input)
  if (includesFork(fork, 'osaka')) {
    if (baseLength > MAX_LENGTH || exponentLength > MAX_LENGTH || modulusLength > MAX_LENGTH) {
      return 'one or more of base/exponent/modulus length exceeded 1024 bytes'
    }
  }
  if (modulusLength === 0n) return EMPTY_BYTES
  if (baseLength > MAX_PAYABLE_LENGTH || modulusLength > MAX_PAYABLE_LENGTH || exponentLength > MAX_EXPONENT_LENGTH) {
    return 'out of gas'
  }
  const base = Number(baseLength)
  const exponent = Number(exponentLength)
  const length = Number(modulusLength)
  const exponentStart = 96 + base
  const modulusStart = exponentStart + exponent
  const modulus = bytesToBigInt(padRight(input.subarray(modulusStart), length))
  if (modulus === 0n) return new Uint8Array(length)
  const value = modexpPower(
    bytesToBigInt(padRight(input.subarray(96), base)) % modulus,
    exponentOf(input, exponentStart, exponent),
    modulus,
  )
  const output = new Uint8Array(length)
  toBuffer(output).write(value.toString(16).padStart(length * 2, '0'), 'hex')
  return output
}

/** Reads the exponent without leading zeros. Zeros after the end of the input, possibly very many, are only counted. */
function exponentOf(input: Uint8Array, start: number, length: number): Exponent {
  const bytes = stripZeros(input.subarray(start, start + length))
  const zerosBefore = Math.min(length, Math.max(input.length - start, 0)) - bytes.length
  return { bytes, length: bytes.length === 0 ? 0 : length - zerosBefore }
}

function sizesOf(input: Uint8Array): ModexpSizes {
  const header = padRight(input, 96)
  const baseLength = bytesToBigInt(header.subarray(0, 32))
  const exponentLength = bytesToBigInt(header.subarray(32, 64))
  const modulusLength = bytesToBigInt(header.subarray(64, 96))
  const headLength = exponentLength < 32n ? Number(exponentLength) : 32
  const start = baseLength < BigInt(input.length) ? 96 + Number(baseLength) : input.length
  const exponentHead = bytesToBigInt(padRight(input.subarray(start), headLength))
  return { baseLength, exponentLength, modulusLength, exponentHead }
}

/** The header of MODEXP's input, and the exponent's first 32 bytes (fewer when it is shorter). */
interface ModexpSizes {
  readonly baseLength: bigint
  readonly exponentLength: bigint
  readonly modulusLength: bigint
  readonly exponentHead: bigint
}

/** Returns the gas of MODEXP: EIP-2565, from Osaka on EIP-7883. Exact for every size, even beyond any gas limit. */
function modexpGas(sizes: ModexpSizes, fork: Hardfork): bigint {
  const { baseLength, exponentLength, modulusLength, exponentHead } = sizes
  const isOsaka = includesFork(fork, 'osaka')
  const longest = baseLength > modulusLength ? baseLength : modulusLength
  const words = (longest + 7n) / 8n
  const excess = exponentLength > 32n ? exponentLength - 32n : 0n
  let iterations = excess * (isOsaka ? 16n : 8n) + BigInt(Math.max(bitLength(exponentHead) - 1, 0))
  if (iterations < 1n) iterations = 1n
  if (isOsaka) {
    const gas = (longest > 32n ? 2n * words * words : 16n) * iterations
    return gas > 500n ? gas : 500n
  }
  const gas = (words * words * iterations) / 3n
  return gas > 200n ? gas : 200n
}

function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length
}

/** An exponent: its bytes, which do not start with a zero, and as many zeros after them as make up `length`. */
interface Exponent {
  readonly bytes: Uint8Array
  readonly length: number
}

/**
 * Exponents of at most this many bits are left to JavaScript's integers: moving the numbers to
 * WebAssembly would take longer.
 */
const SHORT_EXPONENT_BITS = 4

/** Returns base ** exponent modulo a modulus that is not 0; the base is below the modulus. */
function modexpPower(base: bigint, exponent: Exponent, modulus: bigint): bigint {
  if (modulus === 1n) return 0n
  if (exponent.bytes.length === 0) return 1n
  if (base <= 1n) return base
  if (exponent.length === 1 && exponent.bytes[0]! < 1 << SHORT_EXPONENT_BITS) {
    return base ** BigInt(exponent.bytes[0]!) % modulus
  }
  const twos = trailingZeros(modulus)
  if (twos === 0) return powerModuloOdd(base, exponent, modulus)
  const low = powerModuloTwo(BigInt.asUintN(twos, base), exponent, twos)
  const odd = modulus >> BigInt(twos)
  if (odd === 1n) return low
  // the number that is `high` modulo the odd part and `low` modulo 2 ** twos (Chinese remainder theorem)
  const high = powerModuloOdd(base % odd, exponent, odd)
  return high + odd * BigInt.asUintN(twos, (low - high) * inverseModuloTwo(odd, twos))
}

/** The exports of assembly/precompiles/modexp.ts. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  prepare(limbs: number, room: number): number
  setNumber(slot: number, address: number, length: number): void
  getResult(address: number, length: number): void
  powerModuloOdd(exponent: number, present: number, length: number, negatedInverse: number): void
  powerModuloTwo(exponent: number, present: number, length: number, mask: number): void
}

const SLOT = { modulus: 0, result: 1, square: 2 } as const
const LIMB_BITS = 28

const wasm = loadBuiltModule<Exports>('modexp')

function powerModuloOdd(base: bigint, exponent: Exponent, modulus: bigint): bigint {
  if (base === 0n || modulus === 1n) return 0n
  const length = byteLength(modulus)
  // R = 2 ** (28 · limbs) is at least four times the modulus; limbs go in pairs
  const limbs = 2 * Math.ceil((length * 8 + 2) / (2 * LIMB_BITS))
  const squaredR = (1n << BigInt(2 * LIMB_BITS * limbs)) % modulus
  const at = prepare(limbs, length, exponent)
  put(SLOT.modulus, modulus, at, length)
  put(SLOT.square, squaredR, at, length)
  put(SLOT.result, base, at, length)
  putBytes(exponent.bytes, at + length)
  const negatedInverse = Number(BigInt.asUintN(LIMB_BITS, -inverseModuloTwo(modulus, LIMB_BITS)))
  wasm.powerModuloOdd(at + length, exponent.bytes.length, exponent.length, negatedInverse)
  const result = get(at, length)
  return result === modulus ? 0n : result
}

function powerModuloTwo(base: bigint, longExponent: Exponent, bits: number): bigint {
  if (base === 0n) return 0n
  let exponent = longExponent
  const length = Math.ceil(bits / 8)
  if ((base & 1n) === 1n) {
    // the order of an odd number divides 2 ** bits
    exponent = lastBytes(exponent, length)
    if (exponent.length === 0) return 1n
  } else if (exponent.length > 4 || bytesToBigInt(lastBytes(exponent, 4).bytes) >= BigInt(bits)) {
    // each factor adds at least one trailing zero bit
    return 0n
  }
  const limbs = 2 * Math.ceil(bits / (2 * LIMB_BITS))
  const at = prepare(limbs, length, exponent)
  put(SLOT.result, base, at, length)
  putBytes(exponent.bytes, at + length)
  // where the second limb of the last pair is not needed, the bytes are cut below
  const topBits = Math.min(LIMB_BITS, Math.max(bits - LIMB_BITS * (limbs - 1), 0))
  wasm.powerModuloTwo(at + length, exponent.bytes.length, exponent.length, 2 ** topBits - 1)
  return BigInt.asUintN(bits, get(at, length))
}

/** Returns the exponent modulo 256 ** count, all of its bytes present. */
function lastBytes({ bytes, length }: Exponent, count: number): Exponent {
  const start = Math.max(length - count, 0)
  const last = new Uint8Array(length - start)
  last.set(bytes.subarray(start))
  const stripped = stripZeros(last)
  return { bytes: stripped, length: stripped.length }
}

function prepare(limbs: number, length: number, exponent: Exponent): number {
  const at = wasm.prepare(limbs, length + exponent.bytes.length)
  if (at === 0) throw new Error(`no memory for ${limbs} limbs`)
  return at
}

function put(slot: number, value: bigint, at: number, length: number): void {
  Buffer.from(wasm.memory.buffer, at, length).write(value.toString(16).padStart(length * 2, '0'), 'hex')
  wasm.setNumber(slot, at, length)
}

function putBytes(bytes: Uint8Array, at: number): void {
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes)
}

function get(at: number, length: number): bigint {
  wasm.getResult(at, length)
  return bytesToBigInt(new Uint8Array(wasm.memory.buffer, at, length))
}

function byteLength(value: bigint): number {
  return Math.ceil(value.toString(16).length / 2)
}

function trailingZeros(value: bigint): number {
  let zeros = 0
  while (BigInt.asUintN(32, value >> BigInt(zeros)) === 0n) zeros += 32
  const word = Number(BigInt.asUintN(32, value >> BigInt(zeros)))
  return zeros + 31 - Math.clz32(word & -word)
}

/** Returns the inverse of an odd value modulo 2 ** bits: each step of Newton's doubles the bits that are right. */
function inverseModuloTwo(value: bigint, bits: number): bigint {
  let inverse = 1n
  for (let known = 1; known < bits; ) {
    known = Math.min(2 * known, bits)
    inverse = BigInt.asUintN(known, inverse * (2n - BigInt.asUintN(known, value) * inverse))
  }
  return inverse
}
