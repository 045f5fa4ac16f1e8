/** The little of RLP (yellow paper, appendix B) that trie nodes and leaves need, written into place. */

/** Bytes of the header of a string or list of `length` bytes (a single byte below 0x80 has none: the caller's matter). */
export function headerLength(length: number): number {
  if (length < 56) return 1
  let bytes = 1
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes++
  return bytes
}

/** Writes a header (`offset` 0x80: string, 0xc0: list) and gives the position after it. */
export function encodeHeader(out: Uint8Array, at: number, length: number, offset: number): number {
  if (length < 56) {
    out[at] = offset + length
    return at + 1
  }
  const bytes = headerLength(length) - 1
  out[at] = offset + 55 + bytes
  for (let i = bytes, rest = length; i > 0; i--, rest = Math.floor(rest / 256)) out[at + i] = rest & 0xff
  return at + 1 + bytes
}

/** Writes `bytes` as a string and gives the position after it. */
export function writeString(out: Uint8Array, at: number, bytes: Uint8Array): number {
  if (bytes.length === 1 && bytes[0]! < 0x80) {
    out[at] = bytes[0]!
    return at + 1
  }
  const start = encodeHeader(out, at, bytes.length, 0x80)
  out.set(bytes, start)
  return start + bytes.length
}

/** RLP of a string. */
export function encodeString(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 1 && bytes[0]! < 0x80) return bytes
  const out = new Uint8Array(headerLength(bytes.length) + bytes.length)
  writeString(out, 0, bytes)
  return out
}

/** RLP of a list of strings. */
export function encodeList(items: readonly Uint8Array[]): Uint8Array {
  let payload = 0
  for (const item of items) {
    payload += item.length === 1 && item[0]! < 0x80 ? 1 : headerLength(item.length) + item.length
  }
  const out = new Uint8Array(headerLength(payload) + payload)
  let at = encodeHeader(out, 0, payload, 0xc0)
  for (const item of items) at = writeString(out, at, item)
  return out
}

/**
 * Where the content of the item at `at` lies.
 * @throws Error when it goes past the end of `rlp`
 */
export function decodeItem(rlp: Uint8Array, at: number): { isList: boolean; start: number; end: number } {
  const first = rlp[at]
  if (first === undefined) throw new Error('RLP ends too early')
  if (first < 0x80) return { isList: false, start: at, end: at + 1 }
  const isList = first >= 0xc0
  const short = first - (isList ? 0xc0 : 0x80)
  let start = at + 1
  let length = short
  if (short > 55) {
    start += short - 55
    length = 0
    for (let i = at + 1; i < start; i++) length = length * 256 + rlp[i]!
  }
  if (!(start + length <= rlp.length)) throw new Error('RLP ends too early')
  return { isList, start, end: start + length }
}

/** Contents of the strings in a list. */
export function decodeList(rlp: Uint8Array): Uint8Array[] {
  const list = decodeItem(rlp, 0)
  if (!list.isList) throw new Error('RLP is not a list')
  const items: Uint8Array[] = []
  for (let at = list.start; at < list.end; ) {
    const item = decodeItem(rlp, at)
    items.push(rlp.subarray(item.start, item.end))
    at = item.end
  }
  return items
}

/** Content of a string. */
export function decodeString(rlp: Uint8Array): Uint8Array {
  const item = decodeItem(rlp, 0)
  if (item.isList) throw new Error('RLP is not a string')
  return rlp.subarray(item.start, item.end)
}
