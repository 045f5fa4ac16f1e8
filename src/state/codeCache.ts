import { bytesKey, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { EMPTY_CODE_HASH, type Hash } from '../primitives/hash.ts'
import { BoundedCache } from './boundedCache.ts'
import { codeKey } from './flatCodec.ts'

interface KeyReader {
  get(key: Uint8Array): Uint8Array | undefined
}

/**
 * Contract codes by hash, one array object for each hash as long as it stays cached. Codes never change and are never
 * deleted, so one cache serves all heights of a thread.
 */
export class CodeCache {
  readonly #codes: BoundedCache<Uint8Array>

  constructor(limitBytes: number) {
    this.#codes = new BoundedCache(limitBytes, (_, code) => code.length + 200)
  }

  /** @throws Error when the store has no such code */
  get(reader: KeyReader, hash: Hash): Uint8Array {
    if (equalBytes(hash, EMPTY_CODE_HASH)) return EMPTY_BYTES
    const key = bytesKey(hash)
    const cached = this.#codes.get(key)
    if (cached !== undefined) return cached
    const code = reader.get(codeKey(hash))
    if (code === undefined) throw new Error('a contract code is missing: the database is damaged')
    this.#codes.set(key, code)
    return code
  }

  /** Takes up a code that was just written, unless its hash is there already. */
  keep(hash: Hash, code: Uint8Array): void {
    const key = bytesKey(hash)
    if (this.#codes.get(key) === undefined) this.#codes.set(key, code)
  }
}
