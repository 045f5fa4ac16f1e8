import { createECDH, ECDH } from 'node:crypto'
import { EVMError, type ExecResult, type PrecompileFunc } from '@ethereumjs/evm'
import { bigIntToBytes, bytesToBigInt, concatBytes, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import { blake2f } from '../../standard/blake2f.ts'

const P256_VERIFY_GAS = 6_900n
const ONE = new Uint8Array(32).with(31, 1)

/** EIP-152: 1 gas for each round. */
const runBlake2f: PrecompileFunc = ({ data, gasLimit }) => {
  if (data.length !== 213 || data[212]! > 1) return failedPrecompile('invalid input length', gasLimit)
  const executionGasUsed = BigInt(new DataView(data.buffer, data.byteOffset, 4).getUint32(0))
  if (executionGasUsed > gasLimit) return failedPrecompile('out of gas', gasLimit)
  return { executionGasUsed, returnValue: blake2f(data) }
}

/** Runs EIP-7951: digest, r, s and the public key's x and y. The output is empty when the signature does not verify. */
const runP256Verify: PrecompileFunc = ({ data, gasLimit }) => {
  if (gasLimit < P256_VERIFY_GAS) return failedPrecompile('out of gas', gasLimit)
  const word = (index: number) => bytesToBigInt(data.subarray(index * 32, index * 32 + 32))
  const valid = data.length === 160 && verifyP256(data.subarray(0, 32), word(1), word(2), { x: word(3), y: word(4) })
  return { executionGasUsed: P256_VERIFY_GAS, returnValue: valid ? ONE : EMPTY_BYTES }
}

/** Precompiles that are too slow for their gas in `@ethereumjs/evm`, by their key in its table. */
export const FASTER: ReadonlyMap<string, PrecompileFunc> = new Map([
  ['09'.padStart(40, '0'), runBlake2f],
  ['0100'.padStart(40, '0'), runP256Verify],
])

/**
 * Returns the result of a precompile that fails and takes all gas; `reason` is geth's message or
 * the name of an error of the EVM.
 */
export function failedPrecompile(reason: string, gasLimit: bigint): ExecResult {
  return {
    executionGasUsed: gasLimit,
    returnValue: EMPTY_BYTES,
    exceptionError: new EVMError(reason as EVMError['error']),
  }
}

const CURVE = 'prime256v1'
/** Field, coefficients and order of P-256 (SP 800-186, section 3.2.1.3). */
const P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn
const A = P - 3n
const B = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n

interface Point {
  readonly x: bigint
  readonly y: bigint
}

const exchange = createECDH(CURVE)

/**
 * Verifies an ECDSA signature over P-256 (EIP-7951), written independently of the one in
 * standard/p256.ts and some seven times as fast as in JavaScript. Node.js cannot verify a bare
 * digest, but its key exchange multiplies points. A base point yields u₁·G; a peer's key yields the
 * x of u₂·Q, whose y follows from the x of (u₂ + 1)·Q. Scalars are 32 bytes. Returns false for
 * everything that is out of range or not on the curve.
 */
export function verifyP256(digest: Uint8Array, r: bigint, s: bigint, key: Point): boolean {
  if (r <= 0n || r >= N || s <= 0n || s >= N || !isOnCurve(key)) return false
  const inverse = inverseModulo(s, N)
  const u1 = (bytesToBigInt(digest) * inverse) % N
  const u2 = (r * inverse) % N
  const right = multiply(key, u2)
  if (u1 === 0n) return right.x % N === r
  const left = multiplyBase(u1)
  // x of the sum, modulo N, is r: x itself is r or r + N
  return isSum(left, right, r) || (r + N < P && isSum(left, right, r + N))
}

function isOnCurve({ x, y }: Point): boolean {
  return x < P && y < P && (y * y - (x * x * x + A * x + B)) % P === 0n
}

function multiplyBase(scalar: bigint): Point {
  exchange.setPrivateKey(bigIntToBytes(scalar, 32))
  return toPoint(exchange.getPublicKey())
}

/** Returns scalar · point; 0 < scalar < N. */
function multiply(point: Point, scalar: bigint): Point {
  if (scalar === 1n) return point
  if (scalar === N - 1n) return { x: point.x, y: P - point.y }
  const encoded = concatBytes(Uint8Array.of(4), bigIntToBytes(point.x, 32), bigIntToBytes(point.y, 32))
  const product = liftX(xOfProduct(encoded, scalar))
  const next = bytesToBigInt(xOfProduct(encoded, scalar + 1n))
  return isSum(product, point, next) ? product : { x: product.x, y: P - product.y }
}

function xOfProduct(encodedPoint: Uint8Array, scalar: bigint): Uint8Array {
  exchange.setPrivateKey(bigIntToBytes(scalar, 32))
  return exchange.computeSecret(encodedPoint)
}

/** Returns the point with this x and an even y. */
function liftX(x: Uint8Array): Point {
  return toPoint(ECDH.convertKey(concatBytes(Uint8Array.of(2), x), CURVE) as Buffer)
}

function toPoint(encoded: Uint8Array): Point {
  return { x: bytesToBigInt(encoded.subarray(1, 33)), y: bytesToBigInt(encoded.subarray(33)) }
}

/**
 * Returns whether `x` is that of a + b, by the curve's law of addition without its divisions; false
 * where a + b is infinite.
 */
function isSum(a: Point, b: Point, x: bigint): boolean {
  let rise = a.y - b.y
  let run = a.x - b.x
  if (run === 0n) {
    if (rise !== 0n) return false
    rise = 3n * a.x * a.x + A
    run = 2n * a.y
  }
  return ((x + a.x + b.x) * run * run - rise * rise) % P === 0n
}

/** Returns the inverse of `value`, which is not 0, modulo a prime. */
function inverseModulo(value: bigint, modulus: bigint): bigint {
  let [low, high] = [value, modulus]
  let [lowFactor, highFactor] = [1n, 0n]
  while (low > 1n) {
    const quotient = high / low
    ;[low, high] = [high - quotient * low, low]
    ;[lowFactor, highFactor] = [highFactor - quotient * lowFactor, lowFactor]
  }
  return lowFactor < 0n ? lowFactor + modulus : lowFactor
}
