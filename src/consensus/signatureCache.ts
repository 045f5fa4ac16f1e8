import type { VerifySignature } from '../chain/consensus/commit.ts'
import { bytesKey, equalBytes } from '../primitives/bytes.ts'

interface Verified {
  readonly publicKey: Uint8Array
  readonly message: Uint8Array
}

/**
 * The same verifier, remembering the last `capacity` to 2 × `capacity` good signatures: each precommit is seen as a vote and
 * again in the next block's last commit, and checking is the dearest thing that consensus does.
 */
export function cacheSignatures(verify: VerifySignature, capacity: number): VerifySignature {
  let recent = new Map<string, Verified>()
  let older = new Map<string, Verified>()
  return (publicKey, message, signature) => {
    const key = bytesKey(signature)
    const known = recent.get(key) ?? older.get(key)
    if (known !== undefined && equalBytes(known.publicKey, publicKey) && equalBytes(known.message, message)) return true
    if (!verify(publicKey, message, signature)) return false
    if (recent.size >= capacity) {
      older = recent
      recent = new Map()
    }
    recent.set(key, { publicKey, message })
    return true
  }
}
