import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ours, theirs } from './secondOpinion.ts'

const NUMBER = 0x09

function blakeInput(rounds: number, flag: number, bytes: Uint8Array): Uint8Array {
  const input = new Uint8Array(213)
  input.set(bytes)
  new DataView(input.buffer).setUint32(0, rounds)
  input[212] = flag
  return input
}

describe('blake2F', () => {
  it('agrees with the second opinion', async () => {
    const bytes = fc.uint8Array({ minLength: 213, maxLength: 213 })
    await fc.assert(
      fc.asyncProperty(fc.nat(50), fc.constantFrom(0, 1), bytes, async (rounds, flag, rest) => {
        const input = blakeInput(rounds, flag, rest)
        expect(ours(NUMBER, input)).toEqual(await theirs(NUMBER, input))
        expect(ours(NUMBER, input).gasUsed).toBe(BigInt(rounds))
      }),
      { numRuns: 50 },
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
