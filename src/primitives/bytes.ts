/** Bytes, hex and integers. The code works with bytes; hex is only used at the edges (RPC, REST, CLI, logs). */

export const EMPTY_BYTES: Uint8Array = new Uint8Array(0)

/** Returns lowercase hex of `bytes` with the 0x prefix. */
export function bytesToHex(bytes: Uint8Array): `0x${string}` {
  return `0x${hexSlice.call(bytes, 0, bytes.length)}`
}

/** Returns capital hex digits without a prefix, the form of hashes and addresses in CometBFT. */
export function bytesToUpperHex(bytes: Uint8Array): string {
  return hexSlice.call(bytes, 0, bytes.length).toUpperCase()
}

/** Returns an integer as Ethereum's JSON has it, a QUANTITY: 0x and hex digits without leading zeros. */
export function toQuantity(value: bigint | number): `0x${string}` {
  return `0x${value.toString(16)}`
}

/**
 * Returns the bytes of a hex string; the 0x prefix is optional.
 * @throws TypeError on an odd number of digits or a character that is not hex
 */
export function hexToBytes(hex: string): Uint8Array {
  const digits = hex.startsWith('0x') || hex.startsWith('0X') ? hex.slice(2) : hex
  const bytes = Buffer.from(digits, 'hex')
  if (bytes.length * 2 !== digits.length) throw new TypeError(`not hex bytes: ${hex.slice(0, 80)}`)
  return new Uint8Array(bytes)
}

/** Returns a `Buffer` over the same memory, for its fast comparison, search and encoding routines. */
export function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

export function concatBytes(...parts: Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const out = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    out.set(part, offset)
    offset += part.length
  }
  return out
}

export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** Compares in lexicographic order, as LevelDB sorts keys: negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b)
}

type Slice = (this: Uint8Array, start: number, end: number) => string

/** Called directly because that is twice as fast as with a `Buffer` object; any `Uint8Array` can be `this`. */
const { latin1Slice, hexSlice } = Buffer.prototype as unknown as {
  readonly latin1Slice: Slice
  readonly hexSlice: Slice
}

/** Returns a string that stands for `bytes` as the key of a `Map` (one character per byte; not printable, not hex). */
export function bytesKey(bytes: Uint8Array): string {
  return latin1Slice.call(bytes, 0, bytes.length)
}

/** Returns {@link bytesKey} of the bytes [start, end). */
export function bytesKeyOf(bytes: Uint8Array, start: number, end: number): string {
  return latin1Slice.call(bytes, start, end)
}

/** Returns the bytes of a key made by {@link bytesKey}. */
export function keyBytes(key: string): Uint8Array {
  const { length } = key
  const bytes = new Uint8Array(length)
  for (let i = 0; i < length; i++) bytes[i] = key.charCodeAt(i)
  return bytes
}

/** Compares strings of {@link bytesKey} in the lexicographic order of their bytes. */
export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const LIMB = 64n
const word = new DataView(new ArrayBuffer(8))
const wordBytes = new Uint8Array(word.buffer)

/** Returns the unsigned big-endian integer in `bytes`; 0n for no bytes. */
export function bytesToBigInt(bytes: Uint8Array): bigint {
  return bytesToBigIntOf(bytes, 0, bytes.length)
}

/** Returns {@link bytesToBigInt} of the bytes [start, end). */
export function bytesToBigIntOf(bytes: Uint8Array, start: number, end: number): bigint {
  let at = start + ((end - start) % 8)
  if (end - start <= 6) return BigInt(readNumber(bytes, start, end))
  let value =
    at - start <= 6
      ? BigInt(readNumber(bytes, start, at))
      : (BigInt(readNumber(bytes, start, start + 6)) << 8n) | BigInt(bytes[start + 6]!)
  for (; at < end; at += 8) {
    for (let i = 0; i < 8; i++) wordBytes[i] = bytes[at + i]!
    value = at === start ? word.getBigUint64(0) : (value << LIMB) | word.getBigUint64(0)
  }
  return value
}

/** Reads the bytes [start, end), at most 6, as a number. */
function readNumber(bytes: Uint8Array, start: number, end: number): number {
  let value = 0
  for (let i = start; i < end; i++) value = value * 256 + bytes[i]!
  return value
}

/** Reused memory for a word: V8 would permanently move a small array out of its heap when a view on it is created. */
const bigWord = new DataView(new ArrayBuffer(32))
const bigWordBytes = new Uint8Array(bigWord.buffer)

/**
 * Returns big-endian bytes of `value`, left-padded to `length`.
 * @throws RangeError when `value` is negative or does not fit
 */
export function bigIntToBytes(value: bigint, length: number): Uint8Array {
  if (value < 0n || value >> BigInt(length * 8) !== 0n) throw new RangeError(`${value} does not fit ${length} bytes`)
  if (length === 32) {
    setWord(bigWord, 0, value)
    return bigWordBytes.slice()
  }
  const out = new Uint8Array(length)
  let rest = value
  for (let i = length - 1; rest !== 0n; i--) {
    out[i] = Number(rest & 0xffn)
    rest >>= 8n
  }
  return out
}

/** Writes an integer of 256 bits, big-endian. */
export function setWord(view: DataView, at: number, value: bigint): void {
  // What is above 64 bits is cut off.
  view.setBigUint64(at, value >> 192n)
  view.setBigUint64(at + 8, value >> 128n)
  view.setBigUint64(at + 16, value >> 64n)
  view.setBigUint64(at + 24, value)
}

/** Returns big-endian bytes of `value` without leading zeros; no bytes for 0n (RLP's and the trie's integer form). */
export function bigIntToMinimalBytes(value: bigint): Uint8Array {
  if (value === 0n) return EMPTY_BYTES
  if (value >> 256n === 0n) return minimal.slice(0, writeBigInt(minimal, 0, value))
  const hex = value.toString(16)
  return hexToBytes(hex.length % 2 === 0 ? hex : `0${hex}`)
}

/** Reused memory for integers of the EVM. */
const minimal = new Uint8Array(32)

/**
 * Writes the big-endian bytes of `value` (not negative) without leading zeros to `out` from `at` on, and returns the position after
 * them.
 */
export function writeBigInt(out: Uint8Array, at: number, value: bigint): number {
  if (value === 0n) return at
  const high = value >> LIMB
  let end = at
  let skips = true
  if (high !== 0n) {
    end = writeBigInt(out, at, high)
    skips = false
  }
  word.setBigUint64(0, value)
  for (let i = 0; i < 8; i++) {
    const byte = wordBytes[i]!
    if (skips && byte === 0) continue
    skips = false
    out[end++] = byte
  }
  return end
}

/**
 * Writes `value` (a whole number of at most 53 bits) as a varint (LEB128: 7-bit groups, lowest first) to `out` from `at` on, and
 * returns the position after it. Used by protobuf and by records of the state.
 */
export function writeVarint(out: Uint8Array, at: number, value: number): number {
  let next = at
  let rest = value
  while (rest >= 0x80) {
    out[next++] = (rest % 0x80) | 0x80
    rest = Math.floor(rest / 0x80)
  }
  out[next++] = rest
  return next
}

/** Returns how many bytes {@link writeVarint} writes. */
export function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}

/** `bytes` without leading zeros (a view on the same memory). */
export function stripZeros(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length && bytes[start] === 0) start++
  return start === 0 ? bytes : bytes.subarray(start)
}

/** `bytes` left-padded with zeros to `length` (the same object when it has that length). */
export function padLeft(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes
  if (bytes.length > length) throw new RangeError(`${bytes.length} bytes do not fit ${length}`)
  const out = new Uint8Array(length)
  out.set(bytes, length - bytes.length)
  return out
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes UTF-8, byte order marks included; returns undefined for invalid bytes. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch (error) {
    // Anything else, too little memory for one, says nothing of the bytes.
    if ((error as Error & { readonly code?: string }).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw error
    return undefined
  }
}
