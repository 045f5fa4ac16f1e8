/** The first `length` bytes of `data`, as if zeros followed it (a view of `data` when it is long enough). */
export function padRight(data: Uint8Array, length: number): Uint8Array {
  if (data.length >= length) return data.subarray(0, length)
  const padded = new Uint8Array(length)
  padded.set(data)
  return padded
}
