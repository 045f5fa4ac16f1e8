import { secp256k1 } from '@noble/curves/secp256k1.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToBytes, bytesToHex, concatBytes } from '../../../../src/primitives/bytes.ts'
import { publicKeyToAddress, SECP256K1_ORDER, signDigest } from '../../../../src/primitives/secp256k1.ts'
import { runs } from '../../../propertyRuns.ts'
import { words } from '../../../support/evm/standard/curvePoints.ts'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const NUMBER = 0x01
const word = fc.bigInt({ min: 0n, max: (1n << 256n) - 1n })

async function expectSame(input: Uint8Array): Promise<void> {
  expect(ours(NUMBER, input)).toEqual(await theirs(NUMBER, input))
}

const key = bigIntToBytes(0x1234567890abcdefn, 32)
const digest = bigIntToBytes(99n, 32)
const { r, s, yParity } = signDigest(digest, key)
const v = BigInt(27 + yParity)
const signer = publicKeyToAddress(secp256k1.getPublicKey(key, false).subarray(1))
const PADDED = `0x${'00'.repeat(12)}${bytesToHex(signer).slice(2)}`

describe('ecrecover', () => {
  it('recovers the signer, of a high s too', async () => {
    expect(ours(NUMBER, concatBytes(digest, words(32, v, r, s)))).toEqual({ output: PADDED, gasUsed: 3_000n })
    expect(ours(NUMBER, concatBytes(digest, words(32, 55n - v, r, SECP256K1_ORDER - s))).output).toBe(PADDED)
    await expectSame(concatBytes(digest, words(32, 55n - v, r, SECP256K1_ORDER - s)))
  })

  it('agrees with the second opinion on arbitrary words', async () => {
    await fc.assert(
      fc.asyncProperty(word, fc.constantFrom(27n, 28n), word, word, (h, vv, rr, ss) =>
        expectSame(words(32, h, vv, rr, ss)),
      ),
      { numRuns: runs(40) },
    )
  })

  const N = SECP256K1_ORDER
  it.each([0n, 1n, 26n, 29n, 35n, 36n, 27n + 256n, 27n + (1n << 255n), (1n << 256n) - 1n])(
    'takes no v of %s',
    async (bad) => {
      const input = concatBytes(digest, words(32, bad, r, s))
      expect(ours(NUMBER, input)).toEqual({ output: '0x', gasUsed: 3_000n })
      await expectSame(input)
    },
  )
  it.each([
    [0n, s],
    [r, 0n],
    [N, s],
    [r, N],
    [N + 1n, s],
    [r, N + 1n],
    [(1n << 256n) - 1n, s],
    [r, (1n << 256n) - 1n],
    [5n, s],
    [N - 1n, N - 1n],
  ])('does as the second opinion with r = %s, s = %s', (rr, ss) =>
    expectSame(concatBytes(digest, words(32, v, rr, ss))),
  )

  it('gives nothing where the key would be infinite', async () => {
    // R = digest / s · G makes s·R − digest·G infinite
    const ss = 7n
    const h = 35n
    const { x, y } = secp256k1.Point.BASE.multiply(5n).toAffine()
    const input = words(32, h, 27n + (y & 1n), x, ss)
    expect(ours(NUMBER, input).output).toBe('0x')
    await expectSame(input)
  })

  it('reads zeros beyond the input and nothing beyond 128 bytes', async () => {
    const input = concatBytes(digest, words(32, v, r, s), digest)
    for (const length of [0, 1, 32, 63, 64, 65, 96, 127, 128, 129, 160]) await expectSame(input.subarray(0, length))
    expect(ours(NUMBER, input).output).toBe(PADDED)
  })
})
