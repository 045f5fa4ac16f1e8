/** Returns about the bytes that plain data takes: its texts, bytes and names, and 8 for each value. */
export function bytesOf(value: unknown): number {
  let bytes = 0
  const left: unknown[] = [value]
  while (left.length > 0) {
    const next = left.pop()
    bytes += 8
    if (typeof next === 'string') bytes += next.length
    else if (ArrayBuffer.isView(next)) bytes += next.byteLength
    else if (typeof next === 'object' && next !== null) {
      for (const [key, member] of Object.entries(next)) {
        bytes += key.length
        left.push(member)
      }
    }
  }
  return bytes
}
