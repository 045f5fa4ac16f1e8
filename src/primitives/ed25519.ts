import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { bytesKey, concatBytes, hexToBytes } from './bytes.ts'
import { sha256 } from './hash.ts'

export const ED25519_KEY_LENGTH = 32
const ED25519_SIGNATURE_LENGTH = 64

/** DER that precedes the 32 bytes of a key (RFC 8410). */
const PKCS8_PREFIX = hexToBytes('302e020100300506032b657004220420')
const SPKI_PREFIX = hexToBytes('302a300506032b6570032100')

/** More keys than a validator set and its recent changes have. Cached, because importing a key takes as long as a verification. */
const MAX_CACHED_KEYS = 1024

const publicKeys = new Map<string, KeyObject>()

export interface Ed25519Key {
  /** 32 bytes, RFC 8032's private key */
  readonly seed: Uint8Array
  /** 32 bytes */
  readonly publicKey: Uint8Array
  readonly keyObject: KeyObject
}

/**
 * Returns the key pair of a 32-byte seed.
 * @throws TypeError when `seed` has another length
 */
export function ed25519Key(seed: Uint8Array): Ed25519Key {
  if (seed.length !== ED25519_KEY_LENGTH) throw new TypeError(`an ed25519 seed is 32 bytes, not ${seed.length}`)
  const keyObject = createPrivateKey({
    key: Buffer.from(concatBytes(PKCS8_PREFIX, seed)),
    format: 'der',
    type: 'pkcs8',
  })
  const spki = createPublicKey(keyObject).export({ format: 'der', type: 'spki' })
  return { seed, publicKey: new Uint8Array(spki.subarray(SPKI_PREFIX.length)), keyObject }
}

/** Returns the 64-byte signature of the message itself (RFC 8032, no prehash). */
export function signEd25519(key: Pick<Ed25519Key, 'keyObject'>, message: Uint8Array): Uint8Array {
  return new Uint8Array(sign(null, message, key.keyObject))
}

/** Checks an ed25519 signature; simulations use another scheme. */
export type VerifySignature = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/**
 * Verifies a signature; false for malformed input too. Every node must decide alike: all run the
 * OpenSSL of the pinned Node.js release.
 */
export function verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== ED25519_KEY_LENGTH || signature.length !== ED25519_SIGNATURE_LENGTH) return false
  return verify(null, message, importPublicKey(publicKey), signature)
}

function importPublicKey(publicKey: Uint8Array): KeyObject {
  const cacheKey = bytesKey(publicKey)
  const cached = publicKeys.get(cacheKey)
  if (cached !== undefined) return cached
  const imported = createPublicKey({
    key: Buffer.from(concatBytes(SPKI_PREFIX, publicKey)),
    format: 'der',
    type: 'spki',
  })
  if (publicKeys.size >= MAX_CACHED_KEYS) publicKeys.clear()
  publicKeys.set(cacheKey, imported)
  return imported
}

/** Address of a consensus key or ID of a node key: sha256(publicKey)[:20] (CometBFT crypto/ed25519). */
export function ed25519Address(publicKey: Uint8Array): Uint8Array {
  return sha256(publicKey).slice(0, 20)
}
