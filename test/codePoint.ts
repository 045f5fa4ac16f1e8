import fc from 'fast-check'

/** Half characters of UTF-16. */
const SURROGATES = { first: 0xd800, count: 0x800 } as const
const COUNT = 0x110000 - SURROGATES.count

/**
 * Any character of Unicode, as a unit of `fc.string`: what its unit `'binary'` is, without the second of processor time that that one takes
 * in each worker to list all of them.
 */
export const codePoint = fc
  .nat(COUNT - 1)
  .map((index) => String.fromCodePoint(index < SURROGATES.first ? index : index + SURROGATES.count))
