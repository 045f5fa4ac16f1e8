import type { Address } from '../primitives/address.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'

// Slots as numbers of 32 bits, so that one is looked up without any object for it. A name is the address, its bytes in groups of four, and
// then the key. Keys and values are words, the least significant number first, as in the engine's memory.

export const ADDRESS_WORDS = 5
export const VALUE_WORDS = 8
export const NAME_WORDS = ADDRESS_WORDS + VALUE_WORDS

/** Input and output of a look-up: one object for all look-ups of a caller. */
export interface SlotWords {
  /** address and key */
  readonly name: Int32Array
  readonly value: Int32Array
  /** the value at the transaction's start (EIP-2200) */
  readonly original: Int32Array
}

export function createSlotWords(): SlotWords {
  return {
    name: new Int32Array(NAME_WORDS),
    value: new Int32Array(VALUE_WORDS),
    original: new Int32Array(VALUE_WORDS),
  }
}

/** @param slot 32 bytes, big-endian */
export function writeName(name: Int32Array, address: Address, slot: Uint8Array): void {
  writeNameAt(name, address, 0, slot, 0)
}

/** {@link writeName}, where the bytes of the address begin at `addressAt` of `address` and those of the slot at `slotAt` of `slot`. */
export function writeNameAt(
  name: Int32Array,
  address: Uint8Array,
  addressAt: number,
  slot: Uint8Array,
  slotAt: number,
): void {
  for (let i = 0; i < ADDRESS_WORDS; i++) {
    const at = addressAt + 4 * i
    name[i] = address[at]! | (address[at + 1]! << 8) | (address[at + 2]! << 16) | (address[at + 3]! << 24)
  }
  for (let i = 0; i < VALUE_WORDS; i++) {
    const at = slotAt + 28 - 4 * i
    name[ADDRESS_WORDS + i] = (slot[at]! << 24) | (slot[at + 1]! << 16) | (slot[at + 2]! << 8) | slot[at + 3]!
  }
}

/** @param bytes big-endian, at most 32 */
export function writeValue(value: Int32Array, bytes: Uint8Array): void {
  value.fill(0)
  const { length } = bytes
  for (let i = 0; i < length; i++) value[i >> 2]! |= bytes[length - 1 - i]! << ((i & 3) << 3)
}

/** Returns the big-endian bytes of the value without leading zeros. */
export function valueBytes(value: Int32Array): Uint8Array {
  let length = 4 * VALUE_WORDS
  while (length > 0 && byteOf(value, length - 1) === 0) length--
  if (length === 0) return EMPTY_BYTES
  const bytes = new Uint8Array(length)
  for (let i = 0; i < length; i++) bytes[length - 1 - i] = byteOf(value, i)
  return bytes
}

/** Returns the 32 bytes of the key in a name. */
export function keyBytesOf(name: Int32Array): Uint8Array {
  const bytes = new Uint8Array(4 * VALUE_WORDS)
  for (let i = 0; i < bytes.length; i++)
    bytes[bytes.length - 1 - i] = (name[ADDRESS_WORDS + (i >> 2)]! >>> ((i & 3) << 3)) & 0xff
  return bytes
}

/** Returns byte `index` of the value, the least significant first. */
function byteOf(value: Int32Array, index: number): number {
  return (value[index >> 2]! >>> ((index & 3) << 3)) & 0xff
}
