import { bytesKeyOf } from '../primitives/bytes.ts'
import { Column, columnKey, prefixEnd } from '../storage/columns.ts'
import type { DatabaseView } from '../storage/database.ts'
import { indexKey } from './history.ts'
import { createFactors, hashOf } from './slotCache.ts'
import { ADDRESS_WORDS, NAME_WORDS, writeNameAt } from './slotWords.ts'

/** A contract of whose slots some were looked up in the database in vain. */
interface Contract {
  readonly address: Uint8Array
  /** how often that was since the last {@link SlotFilter.extend} */
  missed: number
  /** from which key on the filter has not read yet what the database has of the contract; undefined: no part of it is in the filter */
  next: Uint8Array | undefined
  /** everything that the database has of the contract is in the filter */
  isComplete: boolean
  isBeingRead: boolean
}

type RangeReader = Pick<DatabaseView, 'entries' | 'rangesFlush'>

/** Fewer look-ups in vain between two calls of `extend` are not worth a range read. */
const LEAST_MISSED = 16
/** Entries that are read for each of them: four in the order of their keys take about as long as one look-up in vain. */
const READ_FOR_MISSED = 4
/** Contracts of which a part is read before a root is computed, and entries of all of them: some 30 ms. */
const MOST_PARTS = 32
const MOST_READ = 1 << 15
/** Contracts that are known at a time, with or without slots in the filter; one takes about 300 bytes. After `extend` there are half of them at most. */
const MOST_CONTRACTS = 8_192
/** Slots in the filter: four bytes each, and at least as many free, so it has 16 MiB at most. */
const MOST_SLOTS = 1 << 21
/** Of one contract when the filter begins with it. */
const MOST_OF_CONTRACT = MOST_SLOTS >> 2

/** What makes the filter's secrets others than that of the caches. */
const FIRST_SEED = 0x5851_f42d_4c95_7f2dn
const SECOND_SEED = 0x1405_7b7e_f767_814fn

/**
 * Knows without a look at the database that it has nothing of a slot: neither a value nor a record of former ones. The look-up of a slot that
 * is not there is the slowest of all, as no cache and no file can answer it alone, and a contract that gets new slots looks up many.
 *
 * The filter has contracts whose slots are looked up in vain, as many entries of them as the look-ups pay for: it reads them in the
 * order of their keys, a part before each root, and gets from `add` what blocks write meanwhile. It holds hashes of 32 bits, so it may take a
 * slot for one that is there, never the other way round. When it is full, it begins anew.
 */
export class SlotFilter {
  readonly #factors: readonly [Int32Array, Int32Array]
  readonly #mostSlots: number
  #contracts = new Map<string, Contract>()
  /** those that missed something since the last `extend` */
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

  /** Whether slots were looked up in vain since the last {@link extend}. */
  get isBehind(): boolean {
    return this.#missing.length > 0
  }

  /** Whether the database surely has nothing of the slot with this name. */
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

  /** To be called with each slot of which a block writes something to the database, before anybody asks for it again. */
  add(name: Int32Array): void {
    if (this.#contractOf(name)?.next !== undefined) this.#addHash(name)
  }

  /**
   * Reads of the contracts that missed slots as many entries as pay off. It begins with no contract and reads none on where range reads
   * would flush delayed writes.
   * @param snapshot of the present head
   * @param slotCount gives how many slots of an account are set
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

  /** The upper halves of two hashes, of which the lower ones are worth less; see `hashOf`. */
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

/** The address in a name; the next call overwrites it. */
function addressBytes(name: Int32Array): Uint8Array {
  for (let i = 0; i < addressMemory.length; i++) addressMemory[i] = name[i >> 2]! >>> ((i & 3) << 3)
  return addressMemory
}

function addressKey(name: Int32Array): string {
  return bytesKeyOf(addressBytes(name), 0, addressMemory.length)
}

const FIRST_BITS = 8

/** Numbers of 32 bits, by open addressing. 0 marks a free cell, and so is kept as 1. */
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
    const kept = hash || 1
    const cell = this.#cellOf(kept)
    if (this.#cells[cell] !== 0) return
    this.#cells[cell] = kept
    this.#size++
    if (this.#size * 2 > this.#cells.length) this.#grow()
  }

  /** Where the hash is, or the free cell where it belongs. */
  #cellOf(kept: number): number {
    const cells = this.#cells
    const mask = cells.length - 1
    let cell = kept >>> (32 - this.#bits)
    while (cells[cell] !== 0 && cells[cell] !== kept) cell = (cell + 1) & mask
    return cell
  }

  #grow(): void {
    const former = this.#cells
    this.#bits++
    this.#cells = new Int32Array(1 << this.#bits)
    for (const kept of former) if (kept !== 0) this.#cells[this.#cellOf(kept)] = kept
  }
}
