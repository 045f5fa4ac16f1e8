import { compileWords } from './compileWords.ts'

const LIMB = (1n << 64n) - 1n

/** The functions of the engine's words under their names. */
const ENTRY = `
export { add, sub, mul, and, or, xor, not, lt, gt, slt, sgt, eq, isZero, byte, shl, shr, sar, clz, signExtend } from './word'
export { div, sdiv, mod, smod } from './division'
export { addmod, mulmod } from './modular'
export { exp, byteLength } from './exponent'
export { keccak256 } from '../keccak/keccak'
export function room(length: u32): usize { return heap.alloc(length) }
`

/** The words' functions compiled, with a few words and bytes of memory. */
export async function loadWordModule() {
  const { memory, call } = await compileWords(ENTRY)
  const bytes = call('room', 1 << 20) >>> 0
  const words = call('room', 32 * 8) >>> 0

  const write = (slot: number, value: bigint): void => {
    const view = new DataView(memory.buffer, words + slot * 32, 32)
    for (let limb = 0; limb < 4; limb++) view.setBigUint64(limb * 8, (value >> BigInt(limb * 64)) & LIMB, true)
  }
  const read = (slot: number): bigint => {
    const view = new DataView(memory.buffer, words + slot * 32, 32)
    let value = 0n
    for (let limb = 3; limb >= 0; limb--) value = (value << 64n) | view.getBigUint64(limb * 8, true)
    return value
  }

  return {
    /** The word that an operation writes when `out` is the place of operand `into`, or one of its own. */
    compute(name: string, operands: readonly bigint[], into = operands.length): bigint {
      for (const [slot, value] of operands.entries()) write(slot, value)
      if (into === operands.length) write(into, LIMB)
      call(name, ...operands.map((_, slot) => words + slot * 32), words + into * 32)
      return read(into)
    },
    /** What an operation of a word with itself, both at one address, writes there. */
    computeWithSame(name: string, operand: bigint): bigint {
      write(0, operand)
      call(name, words, words, words)
      return read(0)
    },
    /** The operands after an operation that writes elsewhere. */
    operandsAfter(name: string, operands: readonly bigint[]): bigint[] {
      this.compute(name, operands)
      return operands.map((_, slot) => read(slot))
    },
    /** What a comparison or length returns. */
    ask(name: string, operands: readonly bigint[]): number {
      for (const [slot, value] of operands.entries()) write(slot, value)
      return call(name, ...operands.map((_, slot) => words + slot * 32))
    },
    /** The hash of bytes that lie `shift` bytes past an aligned address, as a word. */
    keccak(data: Uint8Array, shift = 0): bigint {
      new Uint8Array(memory.buffer).set(data, bytes + shift)
      call('keccak256', bytes + shift, data.length, words)
      return read(0)
    },
    /** The hash of bytes between others, all `around`. */
    keccakBetween(around: number, data: Uint8Array): bigint {
      new Uint8Array(memory.buffer, bytes, data.length + 128).fill(around)
      return this.keccak(data, 61)
    },
  }
}
