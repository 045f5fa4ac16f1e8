import { bytesKeyOf } from '../primitives/bytes.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseView } from '../storage/database.ts'
import { indexKey } from './history.ts'
import { createFactors, hashOf } from './slotCache.ts'
import { ADDRESS_WORDS, NAME_WORDS, writeNameAt } from './slotWords.ts'

/** A contract with missed look-ups: slots that were looked up in the database and are not there. */
interface Contract {
  readonly address: Uint8Array
  /** missed look-ups since the last {@link SlotFilter.extend} */
  missed: number
  /**
   * first key of the contract that the filter has not yet read; undefined: no part of the contract
   * is in the filter
   */
  next: Uint8Array | undefined
  /** all entries of the contract in the database are in the filter */
  isComplete: boolean
  isBeingRead: boolean
}

type RangeReader = Pick<DatabaseView, 'entries' | 'rangesFlush'>

/** Fewer missed look-ups between two calls of `extend` are not worth a range read. */
const LEAST_MISSED = 16
/**
 * Entries to read for each missed look-up: four in the order of their keys take about as long as
 * one missed look-up.
 */
const READ_FOR_MISSED = 4
/**
 * Limits of the range reads before a root is computed, in contracts and in entries of all of them:
 * some 30 ms.
 */
const MOST_PARTS = 32
const MOST_READ = 1 << 15
/** Contracts that are known at a time, with or without slots in the filter; one takes about 300 bytes. After `extend` there are half of them at most. */
const MOST_CONTRACTS = 8_192
/** Slots in the filter: four bytes each, and at least as many free, so it has 16 MiB at most. */
const MOST_SLOTS = 1 << 21
/** Of one contract when the filter begins with it. */
const MOST_OF_CONTRACT = MOST_SLOTS >> 2

/** Constants that make the filter's secrets differ from the caches' secret. */
const FIRST_SEED = 0x5851_f42d_4c95_7f2dn
const SECOND_SEED = 0x1405_7b7e_f767_814fn

/**
 * Knows without a database read that the database has no entry for a slot: neither a value nor a
 * record of previous values. The look-up of an absent slot is the slowest kind, since no single
 * cache or file can answer it, and a contract that writes new slots looks up many of them.
 *
 * The filter holds contracts with missed look-ups, and as many of their entries as pay off for
 * these look-ups. It reads the entries in the order of their keys, a part before each root, and
 * `add` brings those that blocks write meanwhile. It holds hashes of 32 bits, so it may take an
 * absent slot for a present one, but never a present slot for an absent one. When it is full, it
 * starts again from empty.
 */
export class SlotFilter {
  readonly #factors: readonly [Int32Array, Int32Array]
  readonly #mostSlots: number
  #contracts = new Map<string, Contract>()
  /** contracts with missed look-ups since the last `extend` */
  #missing: Contract[] = []
  #hashes = new HashSet()
  /** the contract that was asked for last, by the words of its address */
  readonly #recentWords = new Int32Array(ADDRESS_WORDS)
  #recent: Contract | undefined
  #hasRecent = false

  /** @param hashSeed secret, see `SlotCache` */
  constructor(hashSeed: bigint, mostSlots = MOST_SLOTS) {
    this.#factors = [createFactors(hashSeed ^ FIRST_SEED), createFactors(hashSeed ^ SECOND_SEED)]
    this.#mostSlots = mostSlots
  }

  /** Whether look-ups missed since the last {@link extend}. */
  get isBehind(): boolean {
    return this.#missing.length > 0
  }

  /** Whether the database certainly has no entry for the slot with this name. */
  isAbsent(name: Int32Array): boolean {
    return this.#contractOf(name)?.isComplete === true && !this.#hashes.has(this.#hash(name))
  }

  /** Takes note of a slot that was looked up in the database and is not there. */
  noteMissed(name: Int32Array): void {
    let contract = this.#contractOf(name)
    if (contract === undefined) {
      if (this.#contracts.size >= MOST_CONTRACTS) return
      contract = createContract(name)
      this.#contracts.set(addressKey(name), contract)
      this.#recent = contract
    }
    if (!contract.isComplete && contract.missed++ === 0) this.#missing.push(contract)
  }

  /**
   * Adds a slot. Must be called for each slot for which a block writes an entry to the database,
   * before the slot is looked up again.
   */
  add(name: Int32Array): void {
    if (this.#contractOf(name)?.next !== undefined) this.#addHash(name)
  }

  /**
   * Reads entries of the contracts with missed look-ups, as many as pay off. It neither adds a
   * contract nor continues one where range reads would flush delayed writes.
   * @param snapshot of the current head
   * @param slotCount returns how many slots of an account are set
   * @throws DatabaseError
   */
  async extend(snapshot: RangeReader, slotCount: (address: Uint8Array) => number): Promise<void> {
    const missing = this.#missing
    this.#missing = []
    let parts = snapshot.rangesFlush === true ? 0 : MOST_PARTS
    let left = MOST_READ
    for (const contract of missing) {
      const { missed } = contract
      contract.missed = 0
      if (contract.isBeingRead) continue
      const isWorthIt = parts > 0 && left > 0 && missed >= LEAST_MISSED
      if (contract.next === undefined) {
        if (!isWorthIt || slotCount(contract.address) > MOST_OF_CONTRACT) {
          this.#forget(contract)
          continue
        }
        contract.next = columnKey(Column.slot, contract.address)
      }
      if (!isWorthIt) continue
      const budget = Math.min(missed * READ_FOR_MISSED, left)
      parts--
      left -= budget
      await this.#read(snapshot, contract, budget)
    }
    if (this.#contracts.size > MOST_CONTRACTS / 2) this.#beginAnew()
  }

  async #read(snapshot: RangeReader, contract: Contract, budget: number): Promise<void> {
    contract.isBeingRead = true
    try {
      let left = budget
      while (!contract.isComplete) {
        const start = contract.next!
        const isRecord = start[0] === Column.changeIndex
        const prefix = columnKey(Column.slot, contract.address)
        const end = prefixEnd(isRecord ? indexKey(prefix) : prefix)
        // One more, where the next part begins: `contract.next` stays before what blocks add meanwhile.
        let next: Uint8Array | undefined
        for await (const [key] of snapshot.entries({ start, end, limit: left + 1 })) {
          if (left-- === 0) {
            next = key.slice()
            break
          }
          const addressAt = isRecord ? 2 : 1
          writeNameAt(readName, key, addressAt, key, addressAt + contract.address.length)
          this.#addHash(readName)
        }
        if (next !== undefined) {
          contract.next = next
          return
        }
        if (isRecord) contract.isComplete = true
        else contract.next = indexKey(prefix)
      }
    } finally {
      contract.isBeingRead = false
    }
  }

  #addHash(name: Int32Array): void {
    if (this.#hashes.size >= this.#mostSlots) this.#beginAnew()
    this.#hashes.add(this.#hash(name))
  }

  #beginAnew(): void {
    this.#contracts = new Map()
    this.#missing = []
    this.#hashes = new HashSet()
    this.#hasRecent = false
  }

  #forget(contract: Contract): void {
    const key = bytesKeyOf(contract.address, 0, contract.address.length)
    if (this.#contracts.get(key) === contract) this.#contracts.delete(key)
    this.#hasRecent = false
  }

  #contractOf(name: Int32Array): Contract | undefined {
    const words = this.#recentWords
    let isRecent = this.#hasRecent
    for (let i = 0; isRecent && i < ADDRESS_WORDS; i++) isRecent = words[i] === name[i]
    if (isRecent) return this.#recent
    this.#recent = this.#contracts.get(addressKey(name))
    for (let i = 0; i < ADDRESS_WORDS; i++) words[i] = name[i]!
    this.#hasRecent = true
    return this.#recent
  }

  /** Returns the upper halves of two hashes: the lower halves are weaker, see `hashOf`. */
  #hash(name: Int32Array): number {
    const [first, second] = this.#factors
    return (hashOf(name, first) & 0xffff_0000) | (hashOf(name, second) >>> 16)
  }
}

/** Of the slot that is being read. */
const readName = new Int32Array(NAME_WORDS)

function createContract(name: Int32Array): Contract {
  const address = addressBytes(name).slice()
  return { address, missed: 0, next: undefined, isComplete: false, isBeingRead: false }
}

const addressMemory = new Uint8Array(4 * ADDRESS_WORDS)

/** Returns the address in a name; the next call overwrites it. */
function addressBytes(name: Int32Array): Uint8Array {
  for (let i = 0; i < addressMemory.length; i++) addressMemory[i] = name[i >> 2]! >>> ((i & 3) << 3)
  return addressMemory
}

function addressKey(name: Int32Array): string {
  return bytesKeyOf(addressBytes(name), 0, addressMemory.length)
}

const FIRST_BITS = 8

/**
 * A set of 32-bit numbers, by open addressing. 0 marks a free cell, so the number 0 is stored as 1.
 */
class HashSet {
  #bits = FIRST_BITS
  #cells = new Int32Array(1 << FIRST_BITS)
  #size = 0

  get size(): number {
    return this.#size
  }

  has(hash: number): boolean {
    return this.#cells[this.#cellOf(hash || 1)] !== 0
  }

  add(hash: number): void {
    const stored = hash || 1
    const cell = this.#cellOf(stored)
    if (this.#cells[cell] !== 0) return
    this.#cells[cell] = stored
    this.#size++
    if (this.#size * 2 > this.#cells.length) this.#grow()
  }

  /** Returns where the hash is, or the free cell where it belongs. */
  #cellOf(stored: number): number {
    const cells = this.#cells
    const mask = cells.length - 1
    let cell = stored >>> (32 - this.#bits)
    while (cells[cell] !== 0 && cells[cell] !== stored) cell = (cell + 1) & mask
    return cell
  }

  #grow(): void {
    const former = this.#cells
    this.#bits++
    this.#cells = new Int32Array(1 << this.#bits)
    for (const stored of former) if (stored !== 0) this.#cells[this.#cellOf(stored)] = stored
  }
}
