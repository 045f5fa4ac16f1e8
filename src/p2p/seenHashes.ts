/** Hashes of the last minute or so, in two generations: when the newer one is full or old, the older one is forgotten. */
export class SeenHashes {
  readonly #maxSize: number
  readonly #lifetimeMs: number
  #newer = new Set<string>()
  #older = new Set<string>()
  #sinceMs: number

  constructor(limits: { readonly maxSize: number; readonly lifetimeMs: number }, nowMs: number) {
    this.#maxSize = limits.maxSize / 2
    this.#lifetimeMs = limits.lifetimeMs / 2
    this.#sinceMs = nowMs
  }

  has(key: string): boolean {
    return this.#newer.has(key) || this.#older.has(key)
  }

  add(key: string, nowMs: number): void {
    if (this.#newer.size >= this.#maxSize || nowMs - this.#sinceMs > this.#lifetimeMs) {
      this.#older = this.#newer
      this.#newer = new Set()
      this.#sinceMs = nowMs
    }
    this.#newer.add(key)
  }
}
