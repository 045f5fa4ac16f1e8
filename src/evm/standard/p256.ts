import { createECDH } from 'node:crypto'
import { bigIntToBytes, bytesToBigInt, EMPTY_BYTES, toBuffer } from '../../primitives/bytes.ts'

import { createMcl, FieldCodec, FP_SIZE } from './mcl.ts'
import { type StandardPrecompile, toWord } from './standardPrecompile.ts'

/** 0x100: verifies an ECDSA signature over P-256 (EIP-7951). The output is empty when the signature does not verify. */
export const p256Verify: StandardPrecompile = {
  gas: () => 6_900n,
  run: (input) => (input.length === 160 && verifyP256(input) ? toWord(true) : EMPTY_BYTES),
}

/** Field and order of P-256 (SP 800-186, section 3.2.1.3). */
const P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const N_BYTES = bigIntToBytes(N, 32)

const mcl = createMcl('p256')
const { f } = mcl
const field = new FieldCodec(mcl, P, 32)
const exchange = createECDH('prime256v1')

const key = mcl.allocateG1()
const other = mcl.allocateG1()
const r = mcl.allocateFr()
const s = mcl.allocateFr()
const digest = mcl.allocateFr()
const factor = mcl.allocateFr()
const scalarBytes = mcl.allocate(32)
const encoded = new Uint8Array(65).fill(4, 0, 1)

/**
 * Verifies an ECDSA signature over P-256: digest, r, s and the key's x and y, 32 bytes each
 * (EIP-7951). Node.js cannot verify a bare digest, but its key exchange multiplies points at
 * OpenSSL's speed. With t = digest / r, a base point yields t·G, and a peer's key Q + t·G yields
 * the x of (r / s)·(Q + t·G), which is that of the signature's point. Returns false for everything
 * out of range.
 */
function verifyP256(input: Uint8Array): boolean {
  if (!readScalar(input, 32, r) || !readScalar(input, 64, s)) return false
  if (!readPoint(input, 96, key)) return false
  setScalar(input, 0, digest)
  f.mclBnFr_mul(factor, r, s)
  f.mclBnFr_inv(factor, factor)
  f.mclBnFr_mul(digest, digest, s)
  f.mclBnFr_mul(digest, digest, factor)
  if (f.mclBnFr_isZero(digest) === 0) {
    exchange.setPrivateKey(scalarOf(digest))
    readPoint(exchange.getPublicKey(), 1, other)
    f.mclBnG1_add(key, key, other)
    if (f.mclBnG1_isZero(key) === 1) return false
    f.mclBnG1_normalize(key, key)
  }
  field.write(key, encoded, 1)
  field.write(key + FP_SIZE, encoded, 33)
  f.mclBnFr_mul(r, r, r)
  f.mclBnFr_mul(r, r, factor)
  exchange.setPrivateKey(scalarOf(r))
  const x = bytesToBigInt(exchange.computeSecret(encoded))
  return x % N === bytesToBigInt(input.subarray(32, 64))
}

/** Reads a scalar from 1 to the order less 1. */
function readScalar(input: Uint8Array, offset: number, address: number): boolean {
  if (toBuffer(N_BYTES).compare(input, offset, offset + 32) <= 0) return false
  setScalar(input, offset, address)
  return f.mclBnFr_isZero(address) === 0
}

function setScalar(input: Uint8Array, offset: number, address: number): void {
  mcl.bytes.set(input.subarray(offset, offset + 32), scalarBytes)
  f.mclBnFr_setBigEndianMod(address, scalarBytes, 32)
}

/** Reads a point of the curve other than infinity. */
function readPoint(input: Uint8Array, offset: number, address: number): boolean {
  if (!field.read(input, offset, address) || !field.read(input, offset + 32, address + FP_SIZE)) return false
  field.setOne(address + 2 * FP_SIZE)
  return f.mclBnG1_isValid(address) === 1
}

/** Returns the 32 bytes of a scalar, big-endian. */
function scalarOf(address: number): Uint8Array {
  // it writes no zeros above the highest byte
  mcl.bytes.fill(0, scalarBytes, scalarBytes + 32)
  f.mclBnFr_getLittleEndian(scalarBytes, 32, address)
  return mcl.bytes.slice(scalarBytes, scalarBytes + 32).reverse()
}
