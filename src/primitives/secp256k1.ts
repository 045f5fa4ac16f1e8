import { createRequire } from 'node:module'
import { setWord } from './bytes.ts'
import { keccak256 } from './hash.ts'
import { PACKAGE_ROOT } from './location.ts'

const require = createRequire(PACKAGE_ROOT)

/** Loads the library at the first use, because most threads only recover keys, with the native addon. */
function loadNoble(): typeof import('@noble/curves/secp256k1.js')['secp256k1'] {
  return (require('@noble/curves/secp256k1.js') as typeof import('@noble/curves/secp256k1.js')).secp256k1
}

/** Order of the curve's base point. */
export const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
/** EIP-2: the largest s of a valid signature. */
export const SECP256K1_HALF_ORDER = SECP256K1_ORDER / 2n

/**
 * Returns whether a library of curves has refused its input, for which it throws a plain `Error`.
 * Anything else that is thrown is a bug or the failure of this machine: it says nothing of a key or
 * a signature, and other nodes may not have it.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error
}

/** Recovers the 64-byte public key (without the 0x04 prefix); undefined when no key fits. */
type RecoverPublicKey = (digest: Uint8Array, recovery: 0 | 1, signature: Uint8Array) => Uint8Array | undefined

/** Recovers with @noble/curves: about 1.4 ms. */
export const recoverWithNoble: RecoverPublicKey = (digest, recovery, signature) => {
  const { Signature } = loadNoble()
  try {
    const point = Signature.fromBytes(signature, 'compact').addRecoveryBit(recovery).recoverPublicKey(digest)
    return point.toBytes(false).subarray(1)
  } catch (error) {
    if (!isRefusal(error)) throw error
    return undefined
  }
}

/** With the native addon: about 50 µs. Undefined when no prebuilt binary can be loaded (the package would then use slow code). */
export const recoverNatively: RecoverPublicKey | undefined = nativeRecovery()

/** The part of the package `secp256k1` that is used. */
interface NativeSecp256k1 {
  ecdsaRecover(
    signature: Uint8Array,
    recovery: number,
    digest: Uint8Array,
    compressed: boolean,
    output: Uint8Array,
  ): Uint8Array
  ecdsaVerify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean
  publicKeyConvert(publicKey: Uint8Array, compressed: boolean, output: Uint8Array): Uint8Array
}

function loadNative(): NativeSecp256k1 | undefined {
  try {
    return require('secp256k1/bindings.js') as NativeSecp256k1
  } catch {
    return undefined
  }
}

function nativeRecovery(): RecoverPublicKey | undefined {
  const native = loadNative()
  if (native === undefined) return undefined
  // V8 permanently moves a small array out of its heap when it is passed to native code, so the same arrays are used for all calls.
  const digestInput = new Uint8Array(new ArrayBuffer(32))
  const signatureInput = new Uint8Array(new ArrayBuffer(64))
  const output = new Uint8Array(new ArrayBuffer(65))
  return (digest, recovery, signature) => {
    digestInput.set(digest)
    signatureInput.set(signature)
    try {
      native.ecdsaRecover(signatureInput, recovery, digestInput, false, output)
    } catch (error) {
      if (!isRefusal(error)) throw error
      return undefined
    }
    return output.slice(1)
  }
}

/** Whether a 64-byte signature (r, s) of a digest was made with this key (33 bytes); a high s is refused. */
type VerifySignature = (digest: Uint8Array, signature: Uint8Array, publicKey: Uint8Array) => boolean
/** The 64 bytes (x, y) of a key of 33 bytes; undefined when it is not a point of the curve. */
type DecompressPublicKey = (publicKey: Uint8Array) => Uint8Array | undefined

/** With @noble/curves. */
export const verifyWithNoble: VerifySignature = (digest, signature, publicKey) => {
  try {
    return loadNoble().verify(signature, digest, publicKey, { prehash: false, lowS: true })
  } catch (error) {
    if (!isRefusal(error)) throw error
    return false
  }
}

/** With the native addon. */
export const verifyNatively: VerifySignature | undefined = nativeVerification()

function nativeVerification(): VerifySignature | undefined {
  const native = loadNative()
  if (native === undefined) return undefined
  const digestInput = new Uint8Array(new ArrayBuffer(32))
  const signatureInput = new Uint8Array(new ArrayBuffer(64))
  const keyInput = new Uint8Array(new ArrayBuffer(33))
  return (digest, signature, publicKey) => {
    digestInput.set(digest)
    signatureInput.set(signature)
    keyInput.set(publicKey)
    try {
      return native.ecdsaVerify(signatureInput, digestInput, keyInput)
    } catch (error) {
      if (!isRefusal(error)) throw error
      return false
    }
  }
}

const verify: VerifySignature = verifyNatively ?? verifyWithNoble

/** Verifies like {@link VerifySignature}, for bytes of any length. */
export function verifySignature(digest: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean {
  return signature.length === 64 && publicKey.length === 33 && verify(digest, signature, publicKey)
}

export const decompressWithNoble: DecompressPublicKey = (publicKey) => {
  try {
    return loadNoble().Point.fromBytes(publicKey).toBytes(false).subarray(1)
  } catch (error) {
    if (!isRefusal(error)) throw error
    return undefined
  }
}

export const decompressNatively: DecompressPublicKey | undefined = nativeDecompression()

function nativeDecompression(): DecompressPublicKey | undefined {
  const native = loadNative()
  if (native === undefined) return undefined
  const keyInput = new Uint8Array(new ArrayBuffer(33))
  const output = new Uint8Array(new ArrayBuffer(65))
  return (publicKey) => {
    keyInput.set(publicKey)
    try {
      native.publicKeyConvert(keyInput, false, output)
    } catch (error) {
      if (!isRefusal(error)) throw error
      return undefined
    }
    return output.slice(1)
  }
}

const decompress: DecompressPublicKey = decompressNatively ?? decompressWithNoble

/** Decompresses like {@link DecompressPublicKey}, for bytes of any length. */
export function decompressPublicKey(publicKey: Uint8Array): Uint8Array | undefined {
  return publicKey.length === 33 ? decompress(publicKey) : undefined
}

/** Returns the 33-byte form of a 64-byte key. */
export function compressPublicKey(publicKey: Uint8Array): Uint8Array {
  const out = new Uint8Array(33)
  out[0] = 2 + (publicKey[63]! & 1)
  out.set(publicKey.subarray(0, 32), 1)
  return out
}

const recover: RecoverPublicKey = recoverNatively ?? recoverWithNoble

/**
 * Returns the 64-byte public key that signed `digest`, or undefined when (r, s) is out of range or
 * belongs to no key. A high s is accepted: the caller checks EIP-2's bound.
 */
export function recoverPublicKey(digest: Uint8Array, recovery: 0 | 1, r: bigint, s: bigint): Uint8Array | undefined {
  if (r <= 0n || r >= SECP256K1_ORDER || s <= 0n || s >= SECP256K1_ORDER) return undefined
  setWord(words, 0, r)
  setWord(words, 32, s)
  return recover(digest, recovery, signature)
}

const signature = new Uint8Array(new ArrayBuffer(64))
const words = new DataView(signature.buffer)

/** Address of a 64-byte public key: the last 20 bytes of its keccak-256. */
export function publicKeyToAddress(publicKey: Uint8Array): Uint8Array {
  return keccak256(publicKey).slice(12)
}

/** Returns the 33-byte public key of a private key. @throws Error when the private key is invalid */
export function privateToPublicKey(privateKey: Uint8Array): Uint8Array {
  return loadNoble().getPublicKey(privateKey, true)
}

/** Signs deterministically (RFC 6979) with a low s. */
export function signDigest(digest: Uint8Array, privateKey: Uint8Array): { r: bigint; s: bigint; yParity: 0 | 1 } {
  const noble = loadNoble()
  const bytes = noble.sign(digest, privateKey, { prehash: false, format: 'recovered' })
  const { r, s, recovery } = noble.Signature.fromBytes(bytes, 'recovered')
  return { r, s, yParity: recovery === 1 ? 1 : 0 }
}
