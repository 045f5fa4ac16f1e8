import type { Authority } from '../evm/authorization.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'

const ADDRESS_BYTES = 20
const AUTHORITY_BYTES = ADDRESS_BYTES + 8
/** Transactions whose authorities are cached, and transactions that are with another thread: some 8 MB at most. */
const MOST_TRANSACTIONS = 4_096
/** Milliseconds after which a thread that was asked for authorities is believed to have ended. */
const PATIENCE_MS = 5_000

/**
 * The signers of EIP-7702 authorizations by the transaction that holds them, which other threads recover: one signature takes 50 µs. A
 * transaction that was refused after that is not worth the same work again.
 */
export class RecoveredAuthorities {
  /** packed, by `bytesKey` of the transaction's hash; oldest first */
  readonly #known = new Map<string, Uint8Array>()
  /** since when another thread recovers them */
  readonly #asked = new Map<string, number>()
  readonly #now: () => number

  /** @param now milliseconds, monotonic */
  constructor(now: () => number) {
    this.#now = now
  }

  get(hash: Hash): readonly Authority[] | undefined {
    const packed = this.#known.get(bytesKey(hash))
    return packed && unpackAuthorities(packed)
  }

  /** Whether the asking thread is to recover them: none does it at the moment. */
  ask(hash: Hash): boolean {
    const key = bytesKey(hash)
    const sinceMs = this.#asked.get(key)
    const nowMs = this.#now()
    if (sinceMs !== undefined && nowMs - sinceMs < PATIENCE_MS) return false
    this.#asked.delete(key)
    forgetOldest(this.#asked)
    this.#asked.set(key, nowMs)
    return true
  }

  put(hash: Hash, packed: Uint8Array): void {
    const key = bytesKey(hash)
    this.#asked.delete(key)
    forgetOldest(this.#known)
    this.#known.set(key, packed)
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  if (map.size >= MOST_TRANSACTIONS) map.delete(map.keys().next().value!)
}

/** Signers and nonces in one array, for another thread. */
export function packAuthorities(authorities: readonly Authority[]): Uint8Array {
  const packed = new Uint8Array(authorities.length * AUTHORITY_BYTES)
  const view = new DataView(packed.buffer)
  for (const [index, { address, nonce }] of authorities.entries()) {
    packed.set(address, index * AUTHORITY_BYTES)
    view.setBigUint64(index * AUTHORITY_BYTES + ADDRESS_BYTES, nonce)
  }
  return packed
}

function unpackAuthorities(packed: Uint8Array): Authority[] {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  return Array.from({ length: packed.length / AUTHORITY_BYTES }, (_, index) => {
    const at = index * AUTHORITY_BYTES
    return { address: packed.subarray(at, at + ADDRESS_BYTES), nonce: view.getBigUint64(at + ADDRESS_BYTES) }
  })
}
