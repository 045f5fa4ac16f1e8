import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { ours, theirs } from '../../../support/evm/standard/secondOpinion.ts'

const LENGTHS = [0, 1, 31, 32, 33, 55, 56, 63, 64, 65, 119, 120, 127, 128, 129, 1_000, 65_537]

const inputOf = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 31 + length) & 0xff)

describe.each([
  ['sha256', 0x02, (input: Uint8Array) => createHash('sha256').update(input).digest('hex')],
  ['ripemd160', 0x03, (input: Uint8Array) => createHash('ripemd160').update(input).digest('hex').padStart(64, '0')],
  ['identity', 0x04, (input: Uint8Array) => Buffer.from(input).toString('hex')],
] as const)('%s', (_name, number, expected) => {
  it.each(LENGTHS)('of %s bytes', async (length) => {
    const input = inputOf(length)
    const outcome = ours(number, input)
    expect(outcome.output).toBe(`0x${expected(input)}`)
    expect(outcome).toEqual(await theirs(number, input))
  })

  it('of a part of a larger memory', () => {
    const memory = inputOf(1_000)
    expect(ours(number, memory.subarray(333, 444))).toEqual(ours(number, memory.slice(333, 444)))
    expect(ours(number, Buffer.from(memory)).output).toBe(`0x${expected(memory)}`)
  })
})

describe('the gas of hashes', () => {
  it.each([
    [0x02, 60n, 12n],
    [0x03, 600n, 120n],
    [0x04, 15n, 3n],
  ])('%s costs %s and %s a word', (number, base, perWord) => {
    expect(ours(number, new Uint8Array(0)).gasUsed).toBe(base)
    expect(ours(number, new Uint8Array(32)).gasUsed).toBe(base + perWord)
    expect(ours(number, new Uint8Array(33)).gasUsed).toBe(base + 2n * perWord)
    const price = base + perWord
    expect(ours(number, new Uint8Array(7), 'osaka', price).output).toBeDefined()
    expect(ours(number, new Uint8Array(7), 'osaka', price - 1n)).toEqual({ output: undefined, gasUsed: price - 1n })
  })
})
