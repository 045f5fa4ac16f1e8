/** A word of 32 bytes: 1 or 0. */
export function toWord(value: boolean): Uint8Array {
  const word = new Uint8Array(32)
  if (value) word[31] = 1
  return word
}
