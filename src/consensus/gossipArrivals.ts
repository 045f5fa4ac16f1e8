/** More sets of one height than anybody is still interested in. */
const MAX_SETS = 64

/** Keys of sets that are not of a round. */
export const PARTS = -1
export const LAST_PRECOMMITS = -2

/** Key of the things of one kind (0 to 3) and round. */
export function setKey(round: number, kind: number): number {
  return round * 4 + kind
}

/** When things of the present height came, in ticks. What is not remembered came long ago. */
export class Arrivals {
  readonly #sets = new Map<number, Uint32Array>()

  clear(): void {
    this.#sets.clear()
  }

  forget(key: number): void {
    this.#sets.delete(key)
  }

  /** @param size of the set */
  note(key: number, index: number, size: number, tick: number): void {
    let set = this.#sets.get(key)
    if (set === undefined) {
      if (this.#sets.size >= MAX_SETS) this.#sets.delete(this.#sets.keys().next().value!)
      set = new Uint32Array(size)
      this.#sets.set(key, set)
    }
    if (index < set.length) set[index] = tick
  }

  tick(key: number, index: number): number {
    return this.#sets.get(key)?.[index] ?? 0
  }
}
