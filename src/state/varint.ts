import { EMPTY_BYTES, writeVarint } from '../primitives/bytes.ts'

/** Bytes that grow as they are written. */
export class ByteWriter {
  #bytes = new Uint8Array(64)
  #length = 0

  /** Appends `value` in 7-bit groups, lowest first (LEB128). */
  varint(value: number): void {
    this.#reserve(8)
    this.#length = writeVarint(this.#bytes, this.#length, value)
  }

  /** Appends the bytes [start, end). */
  append(bytes: Uint8Array, start: number, end = bytes.length): void {
    this.#reserve(end - start)
    for (let i = start; i < end; i++) this.#bytes[this.#length++] = bytes[i]!
  }

  bytes(bytes: Uint8Array): void {
    const { length } = bytes
    this.#reserve(length)
    if (length > 64) this.#bytes.set(bytes, this.#length)
    else for (let i = 0; i < length; i++) this.#bytes[this.#length + i] = bytes[i]!
    this.#length += length
  }

  increment(index: number): void {
    this.#bytes[index]!++
  }

  /** Empties the writer and reuses its memory. */
  clear(): void {
    this.#length = 0
  }

  /** Returns a view on the written bytes, valid until the next change. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Returns a copy of the written bytes. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return
    const larger = new Uint8Array(Math.max(this.#length + more, this.#bytes.length * 2))
    larger.set(this.#bytes)
    this.#bytes = larger
  }
}

/** Reads the varints that a `ByteWriter` wrote. */
export class VarintReader {
  readonly bytes: Uint8Array
  offset: number

  constructor(bytes: Uint8Array, offset = 0) {
    this.bytes = bytes
    this.offset = offset
  }

  get done(): boolean {
    return this.offset >= this.bytes.length
  }

  /** @throws Error when the bytes end inside the number */
  next(): number {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = this.bytes[this.offset++]
      if (byte === undefined) throw new Error('a varint ends too early')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  take(length: number): Uint8Array {
    const part = this.bytes.subarray(this.offset, this.offset + length)
    if (part.length !== length) throw new Error('bytes end too early')
    this.offset += length
    return part
  }
}

/** Writes ascending numbers as the differences between neighbours. */
export function writeAscending(out: ByteWriter, values: readonly number[]): void {
  let previous = 0
  for (const value of values) {
    out.varint(value - previous)
    previous = value
  }
}

export function decodeAscending(reader: VarintReader, count: number): number[] {
  const values: number[] = []
  let previous = 0
  for (let i = 0; i < count; i++) {
    previous += reader.next()
    values.push(previous)
  }
  return values
}

/**
 * Returns the index of the first of the ascending `values` that is above `limit`; the length when
 * all are at most `limit`.
 */
export function firstAbove(values: readonly number[], limit: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (values[middle]! <= limit) low = middle + 1
    else high = middle
  }
  return low
}

/** Returns the length of the common prefix of `a` and `b`. */
export function sharedPrefix(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  let i = 0
  while (i < length && a[i] === b[i]) i++
  return i
}

/** A list of keys, compressed where neighbours share a prefix. Lists may be concatenated. */
export class KeyList {
  readonly #out = new ByteWriter()
  #previous = new Uint8Array(64)
  #previousLength = 0

  /** @param length of the key, which is at the start of its array */
  add(key: Uint8Array, length = key.length): void {
    const previous = this.#previous
    const most = Math.min(this.#previousLength, length)
    let shared = 0
    while (shared < most && previous[shared] === key[shared]) shared++
    this.#out.varint(shared)
    this.#out.varint(length - shared)
    this.#out.append(key, shared, length)
    this.#previousLength = length
    if (length > previous.length) this.#previous = new Uint8Array(key)
    else for (let i = shared; i < length; i++) previous[i] = key[i]!
  }

  /** Returns the list so far; more keys may be added. */
  finish(): Uint8Array {
    return this.#out.finish()
  }
}

/** Returns the keys in the order in which a {@link KeyList} took them. */
export function readKeyList(bytes: Uint8Array): Uint8Array[] {
  const reader = new VarintReader(bytes)
  const keys: Uint8Array[] = []
  let previous: Uint8Array = EMPTY_BYTES
  while (!reader.done) {
    const key = readKey(reader, previous)
    keys.push(key)
    previous = key
  }
  return keys
}

/** Writes one of several ascending keys: length of the prefix that it shares with the previous key, length of the rest, the rest. */
export function writeKey(out: ByteWriter, key: Uint8Array, previous: Uint8Array): void {
  const shared = sharedPrefix(previous, key)
  out.varint(shared)
  out.varint(key.length - shared)
  out.append(key, shared)
}

/** Reads a key that {@link writeKey} wrote after the same previous key. */
export function readKey(reader: VarintReader, previous: Uint8Array): Uint8Array {
  const shared = reader.next()
  const rest = reader.next()
  const key = new Uint8Array(shared + rest)
  key.set(previous.subarray(0, shared))
  key.set(reader.take(rest), shared)
  return key
}
