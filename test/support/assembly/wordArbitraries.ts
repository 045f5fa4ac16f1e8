import fc from 'fast-check'

export const WORD_MASK = (1n << 256n) - 1n
const LIMB_MAX = (1n << 64n) - 1n

export const unsigned = (value: bigint): bigint => BigInt.asUintN(256, value)
export const signed = (value: bigint): bigint => BigInt.asIntN(256, value)

/** Limbs at which carries, borrows and estimates of quotients change, and any. */
const limb = fc.oneof(
  fc.constantFrom(0n, LIMB_MAX, 1n << 63n, (1n << 63n) - 1n, 0xaaaaaaaaaaaaaaaan, 0x5555555555555555n, 0xffffffffn),
  fc.bigInt({ min: 0n, max: 3n }),
  fc.bigInt({ min: LIMB_MAX - 3n, max: LIMB_MAX }),
  fc.bigInt({ min: 0n, max: LIMB_MAX }),
)

const ofLimbs = fc
  .array(limb, { minLength: 1, maxLength: 4 })
  .map((limbs) => limbs.reduce((value, next) => (value << 64n) | next, 0n))

const nearPowerOfTwo = fc
  .tuple(fc.integer({ min: 0, max: 256 }), fc.bigInt({ min: -1n, max: 1n }))
  .map(([bits, offset]) => unsigned((1n << BigInt(bits)) + offset))

/** Any number of random bits: every length of a divisor in digits and limbs. */
const ofBits = fc
  .tuple(fc.integer({ min: 1, max: 256 }), fc.bigInt({ min: 0n, max: WORD_MASK }))
  .map(([bits, value]) => (value >> BigInt(256 - bits)) | (1n << BigInt(bits - 1)))

export const word = fc.oneof(
  { weight: 4, arbitrary: ofLimbs },
  { weight: 3, arbitrary: ofBits },
  { weight: 2, arbitrary: nearPowerOfTwo },
  { weight: 1, arbitrary: ofLimbs.map((value) => unsigned(-value)) },
)

/** Amounts of shifts, indices of bytes, and words far above both. */
export const index = fc.oneof(fc.bigInt({ min: 0n, max: 300n }), word)

export const pair = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(word, word) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(word, fc.bigInt({ min: -1n, max: 1n }))
      .map(([a, offset]): [bigint, bigint] => [a, unsigned(a + offset)]),
  },
)

/** A long divisor, and the divisor times 2^64 less something: digits of the quotient at or next to 2^64 - 1. */
const almostFull = fc
  .tuple(word, fc.integer({ min: 63, max: 160 }), fc.oneof(fc.bigInt({ min: 1n, max: 3n }), word))
  .map(([value, shift, less]): [bigint, bigint] => {
    const divisor = (value >> BigInt(shift)) | (1n << BigInt(255 - shift))
    return [(divisor << 64n) - (less % divisor) - 1n, divisor]
  })

/** Dividend and divisor, often the dividend at a multiple of the divisor or beside it. */
export const division = fc.oneof(
  pair,
  fc.tuple(word, word, fc.bigInt({ min: -2n, max: 2n })).map(([quotient, divisor, offset]): [bigint, bigint] => {
    const bits = divisor.toString(2).length
    return [unsigned((quotient >> BigInt(bits)) * divisor + offset), divisor]
  }),
  fc.tuple(word, fc.integer({ min: 0, max: 255 })).map(([a, shift]): [bigint, bigint] => [a, a >> BigInt(shift)]),
  almostFull.map(([a, b]): [bigint, bigint] => [unsigned(a), b]),
)

/** Two operands and a modulus: any, below the modulus, a multiple of it, or congruent to its negatives. */
export const modular = fc.oneof(
  fc.tuple(word, word, word),
  fc.tuple(word, word, word).map(([a, b, n]): bigint[] => (n === 0n ? [a, b, n] : [a % n, b % n, n])),
  fc.tuple(word, word, word).map(([a, b, n]): bigint[] => [unsigned(n * (a >> 192n)), b, n]),
  fc
    .tuple(fc.bigInt({ min: 1n, max: 3n }), word, word)
    .map(([k, b, n]): bigint[] => [unsigned(n - k), n === 0n ? b : b % n, n]),
  almostFull.map(([total, n]): bigint[] => {
    const a = total >> 1n
    return [unsigned(a), unsigned(total - a), n]
  }),
)
