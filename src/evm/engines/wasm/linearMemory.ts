import { EMPTY_BYTES } from '../../../primitives/bytes.ts'
import type { WasmMemory } from '../../../primitives/webAssembly.ts'

const LIMB = 64n
const LIMB_MAX = 0xffffffffffffffffn

/**
 * Reads and writes of an instance's memory. A word is 256 bits, least significant byte first; all other bytes are big-endian
 * as in the yellow paper. The views are created again when the memory has grown.
 */
export class LinearMemory {
  readonly #memory: WasmMemory
  #bytes: Uint8Array
  #view: DataView

  constructor(memory: WasmMemory) {
    this.#memory = memory
    this.#bytes = new Uint8Array(memory.buffer)
    this.#view = new DataView(memory.buffer)
  }

  /** The whole memory. Do not store it: the array becomes empty once the memory grows. */
  get bytes(): Uint8Array {
    // the buffer of a memory that has grown is detached
    if (this.#bytes.length === 0) this.#retake()
    return this.#bytes
  }

  get view(): DataView {
    if (this.#bytes.length === 0) this.#retake()
    return this.#view
  }

  /** Returns a copy of `length` bytes; without bytes always the same empty array. */
  copy(pointer: number, length: number): Uint8Array {
    return length === 0 ? EMPTY_BYTES : this.bytes.slice(pointer, pointer + length)
  }

  /**
   * Returns `before` if the memory has the same bytes at `pointer`, else a copy of as many. For
   * arrays that are never written to.
   */
  copyUnlessEqual(pointer: number, before: Uint8Array): Uint8Array {
    const { bytes } = this
    for (let i = 0; i < before.length; i++) {
      if (bytes[pointer + i] !== before[i]) return this.copy(pointer, before.length)
    }
    return before
  }

  /** Fills `target` from the memory at `pointer`. */
  read(pointer: number, target: Uint8Array): Uint8Array {
    const { bytes } = this
    for (let i = 0; i < target.length; i++) target[i] = bytes[pointer + i]!
    return target
  }

  write(pointer: number, bytes: Uint8Array): void {
    this.bytes.set(bytes, pointer)
  }

  /** Fills `target` from `start` to `end` with the numbers of 32 bits at `pointer`. */
  readNumbers(pointer: number, target: Int32Array, start: number, end: number): void {
    const { view } = this
    for (let i = start; i < end; i++) target[i] = view.getInt32(pointer + 4 * (i - start), true)
  }

  writeNumbers(pointer: number, numbers: Int32Array): void {
    const { view } = this
    for (let i = 0; i < numbers.length; i++) view.setInt32(pointer + 4 * i, numbers[i]!, true)
  }

  readWord(pointer: number): bigint {
    const { view } = this
    const low = view.getBigUint64(pointer, true)
    const second = view.getBigUint64(pointer + 8, true)
    const third = view.getBigUint64(pointer + 16, true)
    const high = view.getBigUint64(pointer + 24, true)
    if (third === 0n && high === 0n) return second === 0n ? low : (second << LIMB) | low
    return (((((high << LIMB) | third) << LIMB) | second) << LIMB) | low
  }

  isZeroWord(pointer: number): boolean {
    const { view } = this
    for (let i = 0; i < 32; i += 4) if (view.getUint32(pointer + i) !== 0) return false
    return true
  }

  /** Writes `value`, which is not negative, modulo 2^256. */
  writeWord(pointer: number, value: bigint): void {
    const { view } = this
    let rest = value
    for (let i = 0; i < 32; i += 8) {
      view.setBigUint64(pointer + i, rest, true)
      rest = rest <= LIMB_MAX ? 0n : rest >> LIMB
    }
  }

  /** Writes the integer in `bytes` (big-endian, at most 32) as a word. */
  writeBytesAsWord(pointer: number, bytes: Uint8Array): void {
    const memory = this.bytes
    const { length } = bytes
    for (let i = 0; i < length; i++) memory[pointer + i] = bytes[length - 1 - i]!
    for (let i = length; i < 32; i++) memory[pointer + i] = 0
  }

  #retake(): void {
    this.#bytes = new Uint8Array(this.#memory.buffer)
    this.#view = new DataView(this.#memory.buffer)
  }
}
