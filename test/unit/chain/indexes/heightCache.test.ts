import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createHeightCache } from '../../../../src/chain/indexes/heightCache.ts'

const TERM = Uint8Array.of(1, 2, 3)

/** The heights that an index has: every `step`th. */
const inRange = (step: number, from: number, to: number): number[] =>
  Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index).filter((height) => height % step === 0)

it('gives what the index has, whatever was asked before', async () => {
  const ranges = fc.array(fc.tuple(fc.nat(300), fc.nat(100), fc.constantFrom(1, 7)), { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(ranges, fc.constantFrom(500, 3_000, 100_000), async (asked, maxBytes) => {
      const kept = createHeightCache(maxBytes)
      for (const [from, length, step] of asked) {
        const term = Uint8Array.of(step)
        const found = await kept.find(term, from, from + length, async (_, first, last) => inRange(step, first, last))
        expect(found).toEqual(inRange(step, from, from + length))
      }
    }),
  )
})

it('reads of a chain that grows only what is new', async () => {
  const kept = createHeightCache(100_000)
  const reads: string[] = []
  const read = async (_: Uint8Array, from: number, to: number): Promise<number[]> => {
    reads.push(`${from}-${to}`)
    return inRange(10, from, to)
  }
  await kept.find(TERM, 100, 200, read)
  expect(await kept.find(TERM, 110, 205, read)).toEqual(inRange(10, 110, 205))
  expect(await kept.find(TERM, 206, 210, read)).toEqual([210])
  expect(await kept.find(TERM, 150, 190, read)).toEqual(inRange(10, 150, 190))
  expect(reads).toEqual(['100-200', '201-205', '206-210'])
})

it('keeps the newest of a long list', async () => {
  const kept = createHeightCache(1_000_000)
  let reads = 0
  const read = async (_: Uint8Array, from: number, to: number): Promise<number[]> => {
    reads++
    return inRange(1, from, to)
  }
  await kept.find(TERM, 0, 9_999, read)
  expect(await kept.find(TERM, 9_000, 9_999, read)).toEqual(inRange(1, 9_000, 9_999))
  expect(reads).toBe(1)
  expect(await kept.find(TERM, 10, 20, read)).toEqual(inRange(1, 10, 20))
  expect(reads).toBe(2)
})
