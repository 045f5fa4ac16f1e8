import type { Address } from '../../../primitives/address.ts'
import type { LinearMemory } from './linearMemory.ts'

const ADDRESS_BYTES = 20
/** Of an address: an entry has one more, which says that it is taken. */
const WORDS = ADDRESS_BYTES / 4
const ENTRY_WORDS = WORDS + 1
/** A power of two. */
const ENTRIES = 256
/** Knuth's multiplier, 2^32 divided by the golden ratio. */
const SPREAD = 0x9e3779b1

/**
 * Tells a tracer the addresses in the calls of a run, out of the machine's memory. A warm call is cheap, and a copy of its addresses takes
 * longer than the call itself: so an address that was told lately is not told again.
 */
export class PartyReports {
  readonly #told = new Uint32Array(ENTRIES * ENTRY_WORDS)
  readonly #factor: number
  readonly #memory: LinearMemory
  readonly #onParty: (address: Address) => void

  /** @param hashSeed of the entries: without it addresses could be looked for that take each other's entry, call after call */
  constructor(memory: LinearMemory, hashSeed: bigint, onParty: (address: Address) => void) {
    // An odd factor keeps all bits.
    this.#factor = (SPREAD ^ Number(hashSeed & 0xffff_ffffn)) | 1
    this.#memory = memory
    this.#onParty = onParty
  }

  tell(pointer: number): void {
    const { view } = this.#memory
    const told = this.#told
    const first = Math.imul(view.getUint32(pointer), this.#factor)
    const both = Math.imul(first + view.getUint32(pointer + ADDRESS_BYTES - 4), this.#factor)
    const entry = (both >>> 24) * ENTRY_WORDS
    let isTold = told[entry + WORDS] === 1
    for (let word = 0; isTold && word < WORDS; word++) {
      isTold = told[entry + word] === view.getUint32(pointer + 4 * word)
    }
    if (isTold) return
    for (let word = 0; word < WORDS; word++) told[entry + word] = view.getUint32(pointer + 4 * word)
    told[entry + WORDS] = 1
    this.#onParty(this.#memory.copy(pointer, ADDRESS_BYTES))
  }
}
