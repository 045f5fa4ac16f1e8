// PUSH2 to PUSH32.
import { WORD } from './layout'
import { reversed } from './wordAccess'

/** 32 bytes for each length from 0 to 32: as many lower bytes are set. */
const masks: usize = heap.alloc(33 * WORD)

for (let length: usize = 0; length <= 32; length++) {
  memory.fill(masks + length * WORD, 0, WORD)
  memory.fill(masks + length * WORD, 0xff, length)
}

/**
 * Writes the word of `length` big-endian bytes. Reads the 32 bytes that end with them: in front of and behind every code
 * there is room for it (see codes.ts), and what is missing at its end is zero.
 */
// @ts-ignore: decorator
@inline
export function pushImmediate(word: usize, bytes: usize, length: usize): void {
  const end = bytes + length
  const mask = masks + length * WORD
  v128.store(word, v128.and(reversed(v128.load(end - 16)), v128.load(mask)))
  v128.store(word, v128.and(reversed(v128.load(end - 32)), v128.load(mask, 16)), 16)
}
