/**
 * A map that drops entries that were not used recently, so that the costs of all entries stay below a limit. It has two generations.
 * An entry that is found in the older one moves to the newer one. When the newer one reaches half of the limit, the older one is
 * dropped and the newer one takes its place.
 */
export class BoundedCache<Value> {
  readonly #half: number
  readonly #costOf: (key: string, value: Value) => number
  #recent = new Map<string, Value>()
  #older = new Map<string, Value>()
  #cost = 0

  constructor(limit: number, costOf: (key: string, value: Value) => number) {
    this.#half = limit / 2
    this.#costOf = costOf
  }

  get(key: string): Value | undefined {
    const value = this.#recent.get(key)
    if (value !== undefined) return value
    const old = this.#older.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  delete(key: string): void {
    const value = this.#recent.get(key)
    if (value !== undefined) this.#cost -= this.#costOf(key, value)
    this.#recent.delete(key)
    this.#older.delete(key)
  }

  clear(): void {
    this.#recent = new Map()
    this.#older = new Map()
    this.#cost = 0
  }

  set(key: string, value: Value): void {
    const replaced = this.#recent.get(key)
    if (replaced !== undefined) this.#cost -= this.#costOf(key, replaced)
    this.#recent.set(key, value)
    this.#older.delete(key)
    this.#cost += this.#costOf(key, value)
    if (this.#cost > this.#half) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#cost = 0
    }
  }
}
