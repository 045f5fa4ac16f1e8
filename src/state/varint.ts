/** Bytes that grow as they are written. */
export class ByteWriter {
  #bytes = new Uint8Array(64)
  #length = 0

  /** Appends `value` in 7-bit groups, lowest first (LEB128). */
  varint(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.#bytes[this.#length++] = rest
  }

  /** Appends `bytes` from `start` on. */
  append(bytes: Uint8Array, start: number): void {
    this.#reserve(bytes.length - start)
    for (let i = start; i < bytes.length; i++) this.#bytes[this.#length++] = bytes[i]!
  }

  /** A copy of what was written. */
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

/** Reads what a `ByteWriter` wrote. */
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

/** Ascending numbers as the differences between neighbours. */
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

/** Index of the first of ascending `values` that is above `limit`; their number when there is none. */
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

/** Number of leading bytes in which `a` and `b` agree. */
export function sharedPrefix(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  let i = 0
  while (i < length && a[i] === b[i]) i++
  return i
}

/** Writes one of ascending keys: bytes shared with the one before it, bytes that follow, these. */
export function writeKey(out: ByteWriter, key: Uint8Array, previous: Uint8Array): void {
  const shared = sharedPrefix(previous, key)
  out.varint(shared)
  out.varint(key.length - shared)
  out.append(key, shared)
}

/** Reads what {@link writeKey} wrote after the same key. */
export function readKey(reader: VarintReader, previous: Uint8Array): Uint8Array {
  const shared = reader.next()
  const rest = reader.next()
  const key = new Uint8Array(shared + rest)
  key.set(previous.subarray(0, shared))
  key.set(reader.take(rest), shared)
  return key
}
