import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'

const HASH_BYTES = 32
const ADDRESS_BYTES = 20

/** Asks about many transactions at once: one array crosses to another thread, not thousands. */
export function packHashes(hashes: readonly Hash[]): Uint8Array {
  return concatBytes(...hashes)
}

/** What `packHashes` packed. */
export function unpackHashes(packed: Uint8Array): Hash[] {
  return Array.from({ length: packed.length / HASH_BYTES }, (_, index) =>
    packed.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES),
  )
}

/** The answer to `packHashes`, in its order: 20 bytes each, zeros where the sender is not known. */
export function packSenders(hashes: Uint8Array, senderOf: (hash: Hash) => Address | undefined): Uint8Array {
  const out = new Uint8Array((hashes.length / HASH_BYTES) * ADDRESS_BYTES)
  for (const [index, hash] of unpackHashes(hashes).entries()) {
    const sender = senderOf(hash)
    if (sender !== undefined) out.set(sender, index * ADDRESS_BYTES)
  }
  return out
}

export function unpackSenders(packed: Uint8Array): (Address | undefined)[] {
  return Array.from({ length: packed.length / ADDRESS_BYTES }, (_, index) => {
    const sender = packed.subarray(index * ADDRESS_BYTES, (index + 1) * ADDRESS_BYTES)
    return sender.some((byte) => byte !== 0) ? sender : undefined
  })
}
