import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { standardPrecompiles } from '../../../../src/evm/precompileAddresses.ts'
import { runStandardPrecompile } from '../../../../src/evm/standard/runStandardPrecompile.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'
import { blsG1, blsG2, bnG1, bnG2, words } from '../../../support/evm/standard/curvePoints.ts'
import { precompileAddress } from '../../../support/evm/standard/secondOpinion.ts'

const FORKS = ['cancun', 'prague', 'osaka'] as const
const GAS = 1_000_000n

const WORKING: readonly (readonly [number, Uint8Array])[] = [
  [0x01, words(32, 99n, 27n, 5n, 7n)],
  [0x02, new Uint8Array(100).fill(7)],
  [0x03, new Uint8Array(100).fill(7)],
  [0x04, new Uint8Array(100).fill(7)],
  [0x05, concatBytes(words(32, 1n, 1n, 1n), Uint8Array.of(3, 5, 7))],
  [0x06, concatBytes(bnG1(2n), bnG1(3n))],
  [0x07, concatBytes(bnG1(2n), words(32, 3n))],
  [0x08, concatBytes(bnG1(2n), bnG2(3n))],
  [0x09, new Uint8Array(213)],
  [0x0b, concatBytes(blsG1(2n), blsG1(3n))],
  [0x0c, concatBytes(blsG1(2n), words(32, 3n))],
  [0x0d, concatBytes(blsG2(2n), blsG2(3n))],
  [0x0e, concatBytes(blsG2(2n), words(32, 3n))],
  [0x0f, concatBytes(blsG1(2n), blsG2(3n))],
  [0x10, words(64, 5n)],
  [0x11, words(64, 5n, 6n)],
]

describe('runStandardPrecompile', () => {
  it.each(FORKS)('has every precompile of %s', (fork) => {
    for (const address of standardPrecompiles(fork)) {
      expect(runStandardPrecompile(address, new Uint8Array(0), GAS, fork).gasUsed).toBeLessThanOrEqual(GAS)
    }
  })

  it('has no others', () => {
    for (const number of [0, 0x12, 0xff, 0x101, 0x1ff]) {
      expect(() => runStandardPrecompile(precompileAddress(number), new Uint8Array(0), GAS, 'osaka')).toThrow()
    }
  })

  it('takes all gas and says why when there is too little', () => {
    for (const address of standardPrecompiles('osaka')) {
      const input = new Uint8Array(213).fill(1, 3)
      const { gasUsed, status } = runStandardPrecompile(address, input, 1n << 62n, 'osaka')
      const price = status === 'success' ? gasUsed : undefined
      if (price === undefined || price === 0n) continue
      const result = runStandardPrecompile(address, input, price - 1n, 'osaka')
      expect(result).toEqual({
        status: 'failure',
        output: new Uint8Array(0),
        gasUsed: price - 1n,
        failure: 'out of gas',
      })
    }
  })

  it.each([
    [0x06, words(32, 1n, 3n), 'bn256: malformed point'],
    [0x08, new Uint8Array(1), 'bad elliptic curve pairing size'],
    [0x09, new Uint8Array(1), 'invalid input length'],
    [0x09, new Uint8Array(213).fill(2, 212), 'invalid final flag'],
    [0x0a, new Uint8Array(1), 'invalid input length'],
    [0x0a, new Uint8Array(192), 'mismatched versioned hash'],
    [0x0b, new Uint8Array(1), 'invalid input length'],
    [0x0b, new Uint8Array(256).fill(1, 0, 1), 'invalid field element top bytes'],
    [0x0b, new Uint8Array(256).fill(255, 16, 64), 'invalid fp.Element encoding'],
    [0x0b, new Uint8Array(256).fill(1, 63, 64), 'invalid point: not on curve'],
    [0x05, words(32, 1_025n, 0n, 0n), 'one or more of base/exponent/modulus length exceeded 1024 bytes'],
  ])('%s fails in the words of geth: %#', (number, input, failure) => {
    const result = runStandardPrecompile(precompileAddress(number), input, GAS, 'osaka')
    expect(result).toEqual({ status: 'failure', output: new Uint8Array(0), gasUsed: GAS, failure })
  })

  it.each(WORKING)('%s hands its output over and leaves its input alone', (number, input) => {
    const run = (data: Uint8Array) => runStandardPrecompile(precompileAddress(number), data, GAS, 'osaka')
    const copy = input.slice()
    const first = run(copy)
    expect(first.status).toBe('success')
    expect(copy).toEqual(input)
    expect(first.output.buffer).not.toBe(copy.buffer)
    const kept = first.output.slice()
    first.output.fill(0xee)
    copy.fill(0xdd)
    const second = run(input)
    expect(second.output).toEqual(kept)
    run(number === 0x05 ? concatBytes(words(32, 1n, 1n, 1n), Uint8Array.of(2, 1, 9)) : new Uint8Array(input.length))
    expect(second.output).toEqual(kept)
  })

  it('never throws, and uses no more gas than there is', () => {
    const addresses = standardPrecompiles('osaka')
    const lengths = fc.constantFrom(0, 1, 31, 32, 64, 96, 97, 128, 160, 192, 213, 256, 288, 320, 384, 512, 576, 768)
    const bytes = lengths.chain((length) =>
      fc.oneof(
        fc.uint8Array({ minLength: length, maxLength: length }),
        fc.constantFrom(0, 1, 0xff).map((byte) => new Uint8Array(length).fill(byte)),
      ),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...addresses),
        bytes,
        fc.bigInt({ min: 0n, max: 200_000n }),
        (address, input, gas) => {
          const result = runStandardPrecompile(address, input, gas, 'osaka')
          expect(result.gasUsed).toBeLessThanOrEqual(gas)
          if (result.status === 'failure') expect(result.gasUsed).toBe(gas)
        },
      ),
      { numRuns: runs(1_000) },
    )
  })
})
