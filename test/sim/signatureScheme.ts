import type { ConsensusKey } from '../../src/consensus/consensusKey.ts'
import { bytesKey, concatBytes, equalBytes } from '../../src/primitives/bytes.ts'
import {
  ed25519Address,
  ed25519Key,
  signEd25519,
  type VerifySignature,
  verifyEd25519,
} from '../../src/primitives/ed25519.ts'
import { sha256 } from '../../src/primitives/hash.ts'
import type { Random } from '../fuzz/random.ts'

/** A validator's key, whatever signs with it. */
export interface SimKey {
  /** 32 bytes */
  readonly publicKey: Uint8Array
  /** 20 bytes */
  readonly address: Uint8Array
  sign(message: Uint8Array): Uint8Array
}

/** The key as the signer uses it. */
export function consensusKeyOf({ address, publicKey, sign }: SimKey): ConsensusKey {
  return { address, publicKey, sign: ({ signBytes }) => sign(signBytes) }
}

/** How keys are made and signatures checked. */
export interface SignatureScheme {
  createKey(random: Random): SimKey
  readonly verify: VerifySignature
}

/** Real keys, which take a hundred times longer. */
export function ed25519Scheme(): SignatureScheme {
  return {
    createKey: (random) => {
      const key = ed25519Key(random.bytes(32))
      const { publicKey } = key
      return { publicKey, address: ed25519Address(publicKey), sign: (message) => signEd25519(key, message) }
    },
    verify: verifyEd25519,
  }
}

/** sha256 over a secret and the message, whose secrets only the simulator has: nobody in it can forge. */
export function keyedHashScheme(): SignatureScheme {
  const secrets = new Map<string, Uint8Array>()
  const mac = (secret: Uint8Array, message: Uint8Array): Uint8Array => sha256(concatBytes(secret, message))
  return {
    createKey: (random) => {
      const secret = random.bytes(32)
      const publicKey = sha256(secret)
      secrets.set(bytesKey(publicKey), secret)
      return {
        publicKey,
        address: ed25519Address(publicKey),
        sign: (message) => concatBytes(mac(secret, message), new Uint8Array(32)),
      }
    },
    verify: (publicKey, message, signature) => {
      const secret = secrets.get(bytesKey(publicKey))
      if (secret === undefined || signature.length !== 64) return false
      for (let i = 32; i < 64; i++) if (signature[i] !== 0) return false
      return equalBytes(mac(secret, message), signature.subarray(0, 32))
    },
  }
}
