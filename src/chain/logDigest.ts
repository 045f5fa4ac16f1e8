import { bytesKey } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'

/** Digests in each of the two generations that are kept. */
const GENERATION = 4_096

let recent = new Map<string, Hash>()
let older = new Map<string, Hash>()

/**
 * keccak256 of a log's address or topic, for bloom filters and the index of logs: most of them are the same few contracts,
 * events and holders again. The hash is shared and not to be written to.
 */
export function logDigest(item: Uint8Array): Hash {
  const key = bytesKey(item)
  const known = recent.get(key)
  if (known !== undefined) return known
  const digest = older.get(key) ?? keccak256(item)
  if (recent.size >= GENERATION) {
    older = recent
    recent = new Map()
  }
  recent.set(key, digest)
  return digest
}
