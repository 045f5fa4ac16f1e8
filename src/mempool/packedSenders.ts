import type { Address } from '../primitives/address.ts'
import { concatBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'

const HASH_BYTES = 32
const ADDRESS_BYTES = 20

/** Asks about many transactions at once: one array crosses to another thread, not thousands. */
export function packHashes(hashes: readonly Hash[]): Uint8Array {
  return concatBytes(...hashes)
}

/** The answer to `packHashes`, in its order: 20 bytes each, zeros where the sender is not known. */
export function packSenders(hashes: Uint8Array, senderOf: (hash: Hash) => Address | undefined): Uint8Array {
  const out = new Uint8Array((hashes.length / HASH_BYTES) * ADDRESS_BYTES)
  for (let index = 0; index * HASH_BYTES < hashes.length; index++) {
    const sender = senderOf(hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES))
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
