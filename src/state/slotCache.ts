import { NAME_WORDS, VALUE_WORDS } from './slotWords.ts'

/**
 * Values of storage slots that were read or written lately, in two generations as in `BoundedCache`. Names and values are numbers in typed
 * arrays: a look-up of a slot, the most frequent of all, makes no object and no string, and an entry takes a third of the memory.
 */
export class SlotCache {
  readonly #most: number
  readonly #factors: Int32Array
  #recent = new Generation()
  #older = new Generation()

  /**
   * @param hashSeed secret where others choose the slots that are looked up: otherwise they could
   * choose slots that collide
   */
  constructor(limitBytes: number, hashSeed: bigint) {
    this.#most = Math.max(MIN_SLOTS, Math.floor(limitBytes / 2 / ENTRY_BYTES))
    this.#factors = createFactors(hashSeed)
  }

  /** Writes the value of the slot with this name, if it is known, to `value`. */
  read(name: Int32Array, value: Int32Array): boolean {
    const hash = hashOf(name, this.#factors)
    if (this.#recent.read(name, hash, value)) return true
    if (!this.#older.read(name, hash, value)) return false
    this.#add(name, hash, value)
    return true
  }

  write(name: Int32Array, value: Int32Array): void {
    const hash = hashOf(name, this.#factors)
    if (!this.#recent.replace(name, hash, value)) this.#add(name, hash, value)
  }

  delete(name: Int32Array): void {
    const hash = hashOf(name, this.#factors)
    this.#recent.delete(name, hash)
    this.#older.delete(name, hash)
  }

  clear(): void {
    this.#recent = new Generation()
    this.#older = new Generation()
  }

  #add(name: Int32Array, hash: number, value: Int32Array): void {
    // The slot's entry in the older generation is no longer found, and is dropped with that
    // generation.
    this.#recent.add(name, hash, value)
    if (this.#recent.size < this.#most) return
    const emptied = this.#older
    this.#older = this.#recent
    this.#recent = emptied
    emptied.clear()
  }
}

const MIN_SLOTS = 16
/** An entry: the next one of its bucket or {@link DELETED}, hash, name, value. */
const NEXT = 0
const HASH = 1
const NAME = 2
const VALUE = NAME + NAME_WORDS
const ENTRY = VALUE + VALUE_WORDS
/** With its bucket, and the half of a grown array that is free on average. */
const ENTRY_BYTES = 4 * (ENTRY + 1) * 1.5
const FIRST_BITS = 8
const DELETED = -1

/**
 * A hash table. A bucket holds the place of its first entry, an entry the place of the next in its
 * bucket; 0: no entry.
 */
class Generation {
  #bits = FIRST_BITS
  #buckets = new Int32Array(1 << FIRST_BITS)
  #entries = new Int32Array(ENTRY << FIRST_BITS)
  /** where the next entry goes */
  #end = ENTRY

  /** Entries that were added. */
  get size(): number {
    return this.#end / ENTRY - 1
  }

  read(name: Int32Array, hash: number, value: Int32Array): boolean {
    const at = this.#find(name, hash)
    if (at === 0) return false
    const entries = this.#entries
    for (let i = 0; i < VALUE_WORDS; i++) value[i] = entries[at + VALUE + i]!
    return true
  }

  replace(name: Int32Array, hash: number, value: Int32Array): boolean {
    const at = this.#find(name, hash)
    if (at !== 0) this.#entries.set(value, at + VALUE)
    return at !== 0
  }

  /** The slot must not be there. */
  add(name: Int32Array, hash: number, value: Int32Array): void {
    if (this.#end === this.#entries.length) this.#grow()
    const at = this.#end
    const entries = this.#entries
    entries[at + HASH] = hash
    for (let i = 0; i < NAME_WORDS; i++) entries[at + NAME + i] = name[i]!
    for (let i = 0; i < VALUE_WORDS; i++) entries[at + VALUE + i] = value[i]!
    this.#chain(at)
    this.#end = at + ENTRY
  }

  /** Deletes an entry. Its place is not reused before the whole generation is dropped. */
  delete(name: Int32Array, hash: number): void {
    const at = this.#find(name, hash)
    if (at === 0) return
    const entries = this.#entries
    const bucket = hash >>> (32 - this.#bits)
    const next = entries[at + NEXT]!
    if (this.#buckets[bucket] === at) {
      this.#buckets[bucket] = next
    } else {
      let before = this.#buckets[bucket]!
      while (entries[before + NEXT] !== at) before = entries[before + NEXT]!
      entries[before + NEXT] = next
    }
    entries[at + NEXT] = DELETED
  }

  clear(): void {
    this.#buckets.fill(0)
    this.#end = ENTRY
  }

  #find(name: Int32Array, hash: number): number {
    const entries = this.#entries
    let at = this.#buckets[hash >>> (32 - this.#bits)]!
    while (at !== 0 && !(entries[at + HASH] === hash && isNamed(entries, at + NAME, name))) at = entries[at + NEXT]!
    return at
  }

  #chain(at: number): void {
    const bucket = this.#entries[at + HASH]! >>> (32 - this.#bits)
    this.#entries[at + NEXT] = this.#buckets[bucket]!
    this.#buckets[bucket] = at
  }

  #grow(): void {
    const entries = new Int32Array(this.#entries.length * 2)
    entries.set(this.#entries)
    this.#entries = entries
    this.#bits++
    this.#buckets = new Int32Array(1 << this.#bits)
    for (let at = ENTRY; at < this.#end; at += ENTRY) if (entries[at + NEXT] !== DELETED) this.#chain(at)
  }
}

function isNamed(entries: Int32Array, at: number, name: Int32Array): boolean {
  for (let i = NAME_WORDS - 1; i >= 0; i--) if (entries[at + i] !== name[i]) return false
  return true
}

/**
 * Multilinear over halves of 16 bits with secret factors (Lemire and Kaser, "Strongly universal string hashing is fast"): whatever the names,
 * the upper 17 bits of the sum collide as rarely as random ones.
 */
export function hashOf(name: Int32Array, factors: Int32Array): number {
  let sum = factors[0]!
  for (let i = 0; i < NAME_WORDS; i++) {
    const word = name[i]!
    sum = (sum + Math.imul(word & 0xffff, factors[2 * i + 1]!) + Math.imul(word >>> 16, factors[2 * i + 2]!)) | 0
  }
  return sum
}

/** Factors of {@link hashOf}, by splitmix64. */
export function createFactors(seed: bigint): Int32Array {
  let state = seed
  return Int32Array.from({ length: 2 * NAME_WORDS + 1 }, () => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n)
    let mixed = BigInt.asUintN(64, (state ^ (state >> 30n)) * 0xbf58476d1ce4e5b9n)
    mixed = BigInt.asUintN(64, (mixed ^ (mixed >> 27n)) * 0x94d049bb133111ebn)
    return Number(BigInt.asIntN(32, mixed >> 32n))
  })
}
