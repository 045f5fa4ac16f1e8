import { describe, expect, it } from 'vitest'
import { createPartSet, PART_SIZE, type Part, PartCollector, verifyPart } from '../../../../src/chain/comet/partSet.ts'

const bytes = Uint8Array.from({ length: 3 * PART_SIZE + 100 }, (_, i) => i * 7 + (i >> 8) + (i >> 16) * 3)
const { header, parts } = createPartSet(bytes)
const MAX_BYTES = 4 * PART_SIZE

describe('part sets', () => {
  it.each([
    { length: 1, total: 1 },
    { length: PART_SIZE, total: 1 },
    { length: PART_SIZE + 1, total: 2 },
    { length: 3 * PART_SIZE, total: 3 },
  ])('cut $length bytes into $total', ({ length, total }) => {
    const set = createPartSet(bytes.subarray(0, length))
    expect(set.header.total).toBe(total)
    expect(set.parts.every((part) => verifyPart(set.header, part))).toBe(true)
  })

  it('are assembled from parts in any order', () => {
    const collector = new PartCollector(header, MAX_BYTES)
    for (const index of [2, 0, 3]) expect(collector.add(parts[index]!)).toBe('added')
    expect(collector.has(1)).toBe(false)
    expect(collector.bytes()).toBeUndefined()
    expect(collector.add(parts[2]!)).toBe('duplicate')
    expect(collector.add(parts[1]!)).toBe('added')
    expect(collector.complete).toBe(true)
    expect(collector.bytes()).toEqual(bytes)
  })

  it('refuse more parts than the largest block has', () => {
    expect(() => new PartCollector(header, 3 * PART_SIZE)).toThrow(RangeError)
    expect(() => new PartCollector({ ...header, total: 0 }, MAX_BYTES)).toThrow(RangeError)
  })

  const other = createPartSet(bytes.subarray(1))
  const [first, second] = parts as [Part, Part]
  const cases: { what: string; part: Part }[] = [
    { what: 'a true part at another index', part: { ...second, index: 0 } },
    { what: 'its proof at another index', part: { ...first, proof: { ...first.proof, index: 1 } } },
    { what: 'index and proof of another part', part: { ...first, index: 1, proof: second.proof } },
    { what: 'an index behind the last', part: { ...first, index: 4, proof: { ...first.proof, index: 4 } } },
    { what: 'a negative index', part: { ...first, index: -1, proof: { ...first.proof, index: -1 } } },
    { what: 'a larger total', part: { ...first, proof: { ...first.proof, total: 5 } } },
    { what: 'changed bytes', part: { ...first, bytes: first.bytes.with(9, 0xff) } },
    { what: 'missing bytes', part: { ...first, bytes: first.bytes.subarray(1) } },
    { what: 'the part of another block', part: other.parts[0]! },
  ]
  it.each(cases)('refuse $what', ({ part }) => {
    expect(new PartCollector(header, MAX_BYTES).add(part)).toBe('invalid')
  })

  it('refuse a short part that is not the last, even under a true root', () => {
    // The maker of a block could cut it so; one block would then have two part sets.
    const set = createPartSet(bytes.subarray(0, 2 * PART_SIZE))
    const short = createPartSet(set.parts[0]!.bytes.subarray(1))
    const part = { ...short.parts[0]!, index: 0 }
    expect(verifyPart({ ...short.header }, part)).toBe(true)
    expect(verifyPart({ ...short.header, total: 2 }, { ...part, proof: { ...part.proof, total: 2 } })).toBe(false)
  })
})
