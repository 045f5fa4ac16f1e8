import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'
import { words } from '../../../support/evm/standard/curvePoints.ts'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const NUMBER = 0x05
const UNLIMITED = 1n << 62n

function modexpInput(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): Uint8Array {
  const lengths = [base, exponent, modulus].map((part) => BigInt(part.length))
  return concatBytes(words(32, ...lengths), base, exponent, modulus)
}

const toInteger = (bytes: Uint8Array) => (bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`))

/** Square and multiply with JavaScript's integers. */
function expected(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): string {
  const m = toInteger(modulus)
  if (modulus.length === 0) return '0x'
  if (m === 0n) return `0x${'00'.repeat(modulus.length)}`
  let result = 1n % m
  let square = toInteger(base) % m
  for (let rest = toInteger(exponent); rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % m
    square = (square * square) % m
  }
  return `0x${result.toString(16).padStart(modulus.length * 2, '0')}`
}

function expectPower(base: Uint8Array, exponent: Uint8Array, modulus: Uint8Array): void {
  expect(ours(NUMBER, modexpInput(base, exponent, modulus), 'osaka', UNLIMITED).output).toBe(
    expected(base, exponent, modulus),
  )
}

const bytes = (maxLength: number) => fc.uint8Array({ maxLength })
/** Moduli of any form: odd, even by one bit or by many, powers of two, with zeros before them. */
const modulus = fc.oneof(
  bytes(70),
  fc.tuple(bytes(40), fc.nat(40)).map(([head, zeros]) => concatBytes(head, new Uint8Array(zeros))),
  fc.nat(500).map((bit) => {
    const out = new Uint8Array(63)
    out[62 - (bit >> 3)] = 1 << (bit & 7)
    return out
  }),
  fc.tuple(fc.nat(70), bytes(5)).map(([zeros, tail]) => concatBytes(new Uint8Array(zeros), tail)),
  fc.nat(70).map((length) => new Uint8Array(length).fill(0xff)),
)

describe('modexp', () => {
  it('is the power by squaring and multiplying', () => {
    fc.assert(
      fc.property(bytes(80), fc.oneof(bytes(3), bytes(45)), modulus, (base, exponent, m) =>
        expectPower(base, exponent, m),
      ),
      { numRuns: runs(1_500) },
    )
  })

  it('of long numbers', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 200, maxLength: 1_024 }),
        bytes(8),
        fc.uint8Array({ minLength: 200, maxLength: 1_024 }),
        fc.nat(7),
        (base, exponent, m, shift) => {
          expectPower(base, exponent, m)
          expectPower(base, exponent, m.with(m.length - 1, 1 << shift))
          expectPower(
            base,
            exponent,
            m.map((byte, i) => (i < m.length / 2 ? byte : 0)),
          )
          expectPower(
            new Uint8Array(m.length).fill(0xff),
            exponent,
            new Uint8Array(m.length).fill(0xff, 0, m.length - 1),
          )
        },
      ),
      { numRuns: runs(12) },
    )
  })

  it('keeps its carries where all limbs are full', () => {
    // 28-bit limbs in 64-bit columns: whatever the number of limbs, the largest numbers must not overflow a column
    for (const length of [7, 14, 28, 100, 209, 210, 211, 419, 420, 421, 700, 1_024]) {
      const full = new Uint8Array(length).fill(0xff)
      expectPower(full.with(length - 1, 0xfe), Uint8Array.of(0xff, 0xff), full)
      expectPower(full, Uint8Array.of(0x01, 0x01), full.with(length - 1, 0xfd))
      expectPower(full.with(0, 0x7f), Uint8Array.of(0x0f, 0x01), new Uint8Array(length).fill(0x80, 0, 1))
    }
  })

  it('reads zeros beyond the input', async () => {
    const input = modexpInput(Uint8Array.of(3, 5), Uint8Array.of(7, 9), Uint8Array.of(0x0b, 0xad))
    for (let length = 0; length <= input.length; length++) {
      expect(ours(NUMBER, input.subarray(0, length))).toEqual(await theirs(NUMBER, input.subarray(0, length)))
    }
  })

  it('takes an exponent of which only the first bytes are there', () => {
    // 3 ** (0x02 << 8 · 1,999) modulo 65,521
    const input = concatBytes(words(32, 1n, 2_000n, 2n), Uint8Array.of(3, 2))
    const modulusAtEnd = concatBytes(input, new Uint8Array(1_999), Uint8Array.of(0xff, 0xf1))
    expect(ours(NUMBER, modulusAtEnd, 'cancun', UNLIMITED).output).toBe(
      expected(Uint8Array.of(3), concatBytes(Uint8Array.of(2), new Uint8Array(1_999)), Uint8Array.of(0xff, 0xf1)),
    )
    // without the modulus it is zero
    expect(ours(NUMBER, input, 'cancun', UNLIMITED).output).toBe('0x0000')
  })
})

describe('the gas of modexp', () => {
  it.each(['cancun', 'prague', 'osaka'] as const)('agrees with the second opinion under %s', async (fork) => {
    const edge = fc.constantFrom(0n, 1n, 7n, 8n, 9n, 31n, 32n, 33n, 64n, 255n, 256n, 1_023n, 1_024n)
    await fc.assert(
      fc.asyncProperty(edge, edge, edge, bytes(40), fc.nat(31), async (b, e, m, head, zeros) => {
        const exponent = new Uint8Array(Number(e))
        exponent.set(head.subarray(0, Math.max(exponent.length - zeros, 0)), Math.min(zeros, exponent.length))
        const input = concatBytes(words(32, b, e, m), new Uint8Array(Number(b)), exponent)
        const outcome = ours(NUMBER, input, fork, UNLIMITED)
        expect(outcome).toEqual(await theirs(NUMBER, input, fork, UNLIMITED))
        const price = outcome.gasUsed
        expect(ours(NUMBER, input, fork, price - 1n)).toEqual({ output: undefined, gasUsed: price - 1n })
        expect(ours(NUMBER, input, fork, price)).toEqual(outcome)
      }),
      { numRuns: runs(60) },
    )
  })

  it.each([1_025n, 1n << 31n, (1n << 32n) - 1n, 1n << 53n, 1n << 64n, (1n << 64n) + 1n, 1n << 255n, (1n << 256n) - 1n])(
    'does no work for lengths of %s',
    (length) => {
      for (const lengths of [
        [length, 1n, 1n],
        [1n, length, 1n],
        [1n, 1n, length],
        [length, length, length],
        [0n, length, 0n],
        [length, 0n, 0n],
        [0n, 0n, length],
      ]) {
        const input = concatBytes(words(32, ...lengths), new Uint8Array(40).fill(0xff))
        expect(ours(NUMBER, input, 'osaka')).toEqual({ output: undefined, gasUsed: 30_000_000n })
        const { output } = ours(NUMBER, input, 'cancun')
        // nothing modulo nothing is free of work
        if (lengths[0] === 0n && lengths[2] === 0n) expect(output).toBe('0x')
        else if (length > 1n << 20n) expect(output).toBeUndefined()
      }
    },
  )

  it('is bounded by EIP-7823 from Osaka on', () => {
    const longer = concatBytes(words(32, 0n, 1_025n, 0n))
    expect(ours(NUMBER, longer, 'prague').output).toBe('0x')
    expect(ours(NUMBER, longer, 'osaka').output).toBeUndefined()
    expect(ours(NUMBER, words(32, 0n, 1_024n, 0n), 'osaka').output).toBe('0x')
  })
})
