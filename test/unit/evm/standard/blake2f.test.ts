import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { getActivePrecompiles, type PrecompileInput } from '@ethereumjs/evm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { blake2f } from '../../../../src/evm/standard/blake2f.ts'
import { bytesToHex, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const NUMBER = 0x09

function blakeInput(rounds: number, flag: number, bytes: Uint8Array): Uint8Array {
  const input = new Uint8Array(213)
  input.set(bytes)
  new DataView(input.buffer).setUint32(0, rounds)
  input[212] = flag
  return input
}

describe('blake2fPrecompile', () => {
  it('agrees with the second opinion', async () => {
    const bytes = fc.uint8Array({ minLength: 213, maxLength: 213 })
    await fc.assert(
      fc.asyncProperty(fc.nat(50), fc.constantFrom(0, 1), bytes, async (rounds, flag, rest) => {
        const input = blakeInput(rounds, flag, rest)
        expect(ours(NUMBER, input)).toEqual(await theirs(NUMBER, input))
        expect(ours(NUMBER, input).gasUsed).toBe(BigInt(rounds))
      }),
      { numRuns: runs(50) },
    )
  })

  it('charges rounds that fill 32 bits before it does them', () => {
    const input = blakeInput(0xffffffff, 1, new Uint8Array(213))
    expect(ours(NUMBER, input)).toEqual({ output: undefined, gasUsed: 30_000_000n })
  })

  it.each([0, 1, 212, 214])('refuses %s bytes', async (length) => {
    const input = new Uint8Array(length).fill(1)
    expect(ours(NUMBER, input).output).toBeUndefined()
    expect(ours(NUMBER, input)).toEqual(await theirs(NUMBER, input))
  })

  it.each([2, 255])('refuses a final flag of %s', (flag) => {
    expect(ours(NUMBER, blakeInput(1, flag, new Uint8Array(213))).output).toBeUndefined()
  })
})

const STATE =
  '48c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b'

describe('blake2f', () => {
  it.each([
    // EIP-152, test vectors 4 to 7
    [
      0,
      '01',
      '08c9bcf367e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d282e6ad7f520e511f6c3e2b8c68059b9442be0454267ce079217e1319cde05b',
    ],
    [
      12,
      '01',
      'ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923',
    ],
    [
      12,
      '00',
      '75ab69d3190a562c51aef8d88f1c2775876944407270c42c9844252c26d2875298743e7f6d5ea2f2d3e8d226039cd31b4e426ac4f2d3d666a610c2116fde4735',
    ],
    [
      1,
      '01',
      'b63a380cb2897d521994a85234ee2c181b5f844d2c624c002677e9703449d2fba551b3a8333bcdf5f2f7e08993d53923de3d64fcc68c034e717b9293fed7a421',
    ],
  ])('gives the vectors of EIP-152: %d rounds, final %s', (rounds, final, expected) => {
    const block = `616263${'00'.repeat(125)}`
    const input = `${rounds.toString(16).padStart(8, '0')}${STATE}${block}03${'00'.repeat(15)}${final}`
    expect(bytesToHex(blake2f(hexToBytes(input)))).toBe(`0x${expected}`)
  })

  it('agrees with the implementation of @ethereumjs/evm', async () => {
    const common = new Common({ chain: Mainnet, hardfork: Hardfork.Cancun })
    common.updateParams({ 1: { blake2RoundGas: 1 } })
    const stock = getActivePrecompiles(common).get('0000000000000000000000000000000000000009')!
    await fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 60 }),
        fc.uint8Array({ minLength: 208, maxLength: 208 }),
        fc.constantFrom(0, 1),
        async (rounds, content, final) => {
          const data = concatBytes(Uint8Array.of(0, 0, 0, rounds), content, Uint8Array.of(final))
          const { returnValue } = await stock({ data, gasLimit: 100n, common } as PrecompileInput)
          expect(blake2f(data)).toEqual(returnValue)
        },
      ),
    )
  })
})
