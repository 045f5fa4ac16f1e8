import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../src/primitives/hash.ts'
import { runs } from '../../propertyRuns.ts'
import {
  division,
  index,
  modular,
  pair,
  signed,
  unsigned,
  WORD_MASK,
  word,
} from '../../support/assembly/wordArbitraries.ts'
import { loadWordModule } from '../../support/assembly/wordModule.ts'

// One file, because compiling takes longer than all of its tests.
const words = await loadWordModule()

const bitLength = (value: bigint): number => (value === 0n ? 0 : value.toString(2).length)

const BINARY: [string, (a: bigint, b: bigint) => bigint][] = [
  ['add', (a, b) => unsigned(a + b)],
  ['sub', (a, b) => unsigned(a - b)],
  ['mul', (a, b) => unsigned(a * b)],
  ['and', (a, b) => a & b],
  ['or', (a, b) => a | b],
  ['xor', (a, b) => a ^ b],
]

const INDEXED: [string, (amount: bigint, value: bigint) => bigint][] = [
  ['byte', (at, value) => (at > 31n ? 0n : (value >> (8n * (31n - at))) & 0xffn)],
  ['shl', (by, value) => (by > 255n ? 0n : unsigned(value << by))],
  ['shr', (by, value) => (by > 255n ? 0n : value >> by)],
  ['sar', (by, value) => unsigned(signed(value) >> (by > 255n ? 256n : by))],
  ['signExtend', (size, value) => (size > 30n ? value : unsigned(BigInt.asIntN(8 * Number(size) + 8, value)))],
]

const UNARY: [string, (a: bigint) => bigint][] = [
  ['not', (a) => a ^ WORD_MASK],
  ['clz', (a) => BigInt(256 - bitLength(a))],
]

const COMPARISONS: [string, (a: bigint, b: bigint) => boolean][] = [
  ['lt', (a, b) => a < b],
  ['gt', (a, b) => a > b],
  ['slt', (a, b) => signed(a) < signed(b)],
  ['sgt', (a, b) => signed(a) > signed(b)],
  ['eq', (a, b) => a === b],
]

const place = fc.integer({ min: 0, max: 2 })

describe('words of four limbs', () => {
  it.each(BINARY)('%s is what BigInt says, wherever the result goes', (name, expected) => {
    fc.assert(
      fc.property(pair, place, ([a, b], into) => {
        expect(words.compute(name, [a, b], into)).toBe(expected(a, b))
      }),
      { numRuns: runs(400) },
    )
  })

  it.each(INDEXED)('%s is what BigInt says, wherever the result goes', (name, expected) => {
    fc.assert(
      fc.property(index, word, place, (amount, value, into) => {
        expect(words.compute(name, [amount, value], into)).toBe(expected(amount, value))
      }),
      { numRuns: runs(400) },
    )
  })

  it.each(INDEXED)('%s is right at every amount to 260', (name, expected) => {
    const value = (0x8081_8283n << 224n) | 0x7ffe_fdfcn | (0xdead_beefn << 100n)
    for (let amount = 0n; amount <= 260n; amount++) {
      expect(words.compute(name, [amount, value])).toBe(expected(amount, value))
      expect(words.compute(name, [amount, value ^ WORD_MASK])).toBe(expected(amount, value ^ WORD_MASK))
    }
  })

  it.each(UNARY)('%s is what BigInt says, wherever the result goes', (name, expected) => {
    fc.assert(
      fc.property(word, fc.integer({ min: 0, max: 1 }), (a, into) => {
        expect(words.compute(name, [a], into)).toBe(expected(a))
      }),
      { numRuns: runs(400) },
    )
  })

  it.each(COMPARISONS)('%s is what BigInt says', (name, expected) => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        expect(words.ask(name, [a, b])).toBe(expected(a, b) ? 1 : 0)
      }),
      { numRuns: runs(600) },
    )
  })

  it('isZero and byteLength are what BigInt says', () => {
    fc.assert(
      fc.property(word, (a) => {
        expect(words.ask('isZero', [a])).toBe(a === 0n ? 1 : 0)
        expect(words.ask('byteLength', [a])).toBe(Math.ceil(bitLength(a) / 8))
      }),
      { numRuns: runs(400) },
    )
  })

  it('takes the same word as both operands', () => {
    fc.assert(
      fc.property(word, (a) => {
        expect(words.computeWithSame('mul', a)).toBe(unsigned(a * a))
        expect(words.computeWithSame('sub', a)).toBe(0n)
        expect(words.computeWithSame('div', a)).toBe(a === 0n ? 0n : 1n)
      }),
      { numRuns: runs(100) },
    )
  })
})

const LEAST = 1n << 255n

const DIVISIONS: [string, (a: bigint, b: bigint) => bigint][] = [
  ['div', (a, b) => (b === 0n ? 0n : a / b)],
  ['mod', (a, b) => (b === 0n ? 0n : a % b)],
  ['sdiv', (a, b) => (b === 0n ? 0n : unsigned(signed(a) / signed(b)))],
  ['smod', (a, b) => (b === 0n ? 0n : unsigned(signed(a) % signed(b)))],
]

const MODULAR: [string, (a: bigint, b: bigint, n: bigint) => bigint][] = [
  ['addmod', (a, b, n) => (n === 0n ? 0n : (a + b) % n)],
  ['mulmod', (a, b, n) => (n === 0n ? 0n : (a * b) % n)],
]

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (let square = base, left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = unsigned(result * square)
    square = unsigned(square * square)
  }
  return result
}

describe('divisions of words', () => {
  it.each(DIVISIONS)('%s is what BigInt says, wherever the result goes', (name, expected) => {
    fc.assert(
      fc.property(division, fc.integer({ min: 0, max: 2 }), ([a, b], into) => {
        expect(words.compute(name, [a, b], into)).toBe(expected(a, b))
      }),
      { numRuns: runs(1000) },
    )
  })

  it.each(MODULAR)('%s is what BigInt says, wherever the result goes', (name, expected) => {
    fc.assert(
      fc.property(modular, fc.integer({ min: 0, max: 3 }), (operands, into) => {
        const [a = 0n, b = 0n, n = 0n] = operands
        expect(words.compute(name, [a, b, n], into)).toBe(expected(a, b, n))
      }),
      { numRuns: runs(1200) },
    )
  })

  it.each(MODULAR)('%s is what BigInt says when a modulus comes again and again', (name, expected) => {
    fc.assert(
      fc.property(
        fc.oneof(
          word,
          modular.map(([, , n = 0n]) => n),
        ),
        fc.array(fc.tuple(word, word, fc.integer({ min: 0, max: 3 })), { minLength: 16, maxLength: 24 }),
        (n, operands) => {
          for (const [a, b, near] of operands) {
            expect(words.compute(name, [a, b, n])).toBe(expected(a, b, n))
            const below = n === 0n ? b : unsigned(n - BigInt(near))
            expect(words.compute(name, [below, WORD_MASK, n])).toBe(expected(below, WORD_MASK, n))
          }
        },
      ),
      { numRuns: runs(60) },
    )
  })

  it('mulmod and addmod take turns with moduli of every length', () => {
    for (let bits = 60n; bits <= 256n; bits++) {
      const moduli = [(1n << bits) - 1n, (1n << (bits - 1n)) + 1n]
      for (let round = 0n; round < 40n; round++) {
        const n = moduli[round < 20n ? 0 : 1]!
        const a = WORD_MASK - round
        expect(words.compute('mulmod', [a, WORD_MASK, n])).toBe((a * WORD_MASK) % n)
        if (round % 8n === 0n) expect(words.compute('addmod', [a, WORD_MASK, n])).toBe((a + WORD_MASK) % n)
      }
    }
  })

  // Found by search: the last estimate leaves more than the divisor (with a borrow into the highest limb), or less than its negative.
  it.each([
    [
      0x78ef9c83d7a7333ad974b76cb131a7d2a5e9d358cfe7181342b181498c5681c7n,
      0x5b906b026fc9a88b2c81de8fb79ec833b7d3c682fb4f604a2ae8dc812c000cfcn,
      0x20aaf17d0aee6243ee99fa1d41ddf77d0e94250039ac5eed156902c0f72n,
    ],
    [
      0xa66a6c7359099d8173208c4a019e9c5581d1fb29f1ce4bdb9465d69693572262n,
      0xacfb2d8ca9c1fb4805525f2a39b6fe0dc2a8dae20cc23888f393b04a5fec7bb9n,
      0x21181058c2a1a9f8edfbf0e301641c7294e4c4129c8f8f44867b6c1c90cda6n,
    ],
    [
      0x47189111f0a7301a1a7a4868ed9e2fc2a4e9ce77c7a4e2c1fa23d3092cd42f1an,
      0x720b0ca0d321b7623f46822799271954f2ae5e15dface4f8263f37cc97ba139cn,
      0x1562e63606781168408a5ba6b786d83b1880ccd385f4b78af30cf0517945389n,
    ],
    [
      0x832767b7560dc32274f03f4aaa0675efc8c563f58e998534ba600baf85795a63n,
      0x85234382d9de0fdbf9dd1429f6f5b4ba6791918909f786afb49a4fdc92800f3cn,
      0x887348154b1a4c4ed24bfec52b0f18258fcc1fbfe6895e00fc7n,
    ],
  ])('mulmod makes good what the last digit leaves (row %#)', (a, b, n) => {
    expect(words.compute('mulmod', [a, b, n])).toBe((a * b) % n)
  })

  it('exp is what BigInt says, wherever the result goes', () => {
    fc.assert(
      fc.property(word, index, fc.integer({ min: 0, max: 2 }), (base, exponent, into) => {
        expect(words.compute('exp', [base, exponent], into)).toBe(power(base, exponent))
      }),
      { numRuns: runs(400) },
    )
  })

  it('exp of odd and even bases is what BigInt says where exponents become long', () => {
    const bases = [1n, 2n, 3n, 10n, LEAST - 1n, LEAST + 1n, WORD_MASK, (0xf3a5c17b9d2e4807n ** 4n) & WORD_MASK]
    for (const bits of [1, 8, 15, 16, 17, 31, 32, 33, 63, 64, 128, 255, 256]) {
      for (const exponent of [-3n, -2n, -1n, 0n, 1n, 2n].map((offset) => unsigned((1n << BigInt(bits)) + offset))) {
        for (const base of bases) expect(words.compute('exp', [base, exponent])).toBe(power(base, exponent))
      }
    }
  })

  it.each([
    ['div', [5n, 0n], 0n],
    ['mod', [5n, 0n], 0n],
    ['sdiv', [LEAST, WORD_MASK], LEAST],
    ['sdiv', [unsigned(-7n), 2n], unsigned(-3n)],
    ['smod', [unsigned(-7n), 3n], unsigned(-1n)],
    ['smod', [7n, unsigned(-3n)], 1n],
    ['smod', [LEAST, WORD_MASK], 0n],
    ['addmod', [WORD_MASK, WORD_MASK, WORD_MASK], 0n],
    ['addmod', [WORD_MASK, WORD_MASK, 0n], 0n],
    ['mulmod', [WORD_MASK, WORD_MASK, 0n], 0n],
    ['mulmod', [WORD_MASK, WORD_MASK, 1n], 0n],
    ['mulmod', [WORD_MASK, WORD_MASK, WORD_MASK - 1n], 1n],
    ['exp', [0n, 0n], 1n],
    ['exp', [2n, 255n], LEAST],
    ['exp', [2n, 256n], 0n],
    ['exp', [WORD_MASK, WORD_MASK], WORD_MASK],
  ] satisfies [string, bigint[], bigint][])('%s of edge operands (row %#)', (name, operands, result) => {
    expect(words.compute(name, operands)).toBe(result)
  })

  it.each([...DIVISIONS, ...MODULAR].map(([name]) => name))('%s leaves its operands alone', (name) => {
    const operands = [WORD_MASK - 5n, LEAST + 12_345n, (1n << 200n) + 99n].slice(
      0,
      name.endsWith('mod') && name.length === 6 ? 3 : 2,
    )
    expect(words.operandsAfter(name, operands)).toEqual(operands)
  })
})

/** Bytes that no rotation of a block repeats. */
function bytesOf(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let state = length + 1
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    bytes[i] = state >>> 16
  }
  return bytes
}

const asWord = (hash: Uint8Array): bigint => BigInt(`0x${Buffer.from(hash).toString('hex')}`)

describe('keccak256 in linear memory', () => {
  it('writes the hash of no bytes as a word', () => {
    expect(words.keccak(hexToBytes('0x'))).toBe(0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470n)
  })

  it('is the hash of the node for every length to 300, at any alignment', () => {
    for (let length = 0; length <= 300; length++) {
      const data = bytesOf(length)
      expect(words.keccak(data, length % 16)).toBe(asWord(keccak256(data)))
    }
  })

  it.each([1_000, 1_087, 1_088, 1_089, 24_576, 131_072, 1_000_003])(
    'is the hash of the node for %i bytes',
    (length) => {
      const data = bytesOf(length)
      expect(words.keccak(data, 3)).toBe(asWord(keccak256(data)))
    },
  )

  it('reads nothing before or behind its data', () => {
    for (const length of [0, 1, 3, 7, 8, 9, 135, 136, 137]) {
      const data = bytesOf(length)
      expect(words.keccakBetween(0xff, data)).toBe(asWord(keccak256(data)))
      expect(words.keccakBetween(0x00, data)).toBe(asWord(keccak256(data)))
    }
  })
})
