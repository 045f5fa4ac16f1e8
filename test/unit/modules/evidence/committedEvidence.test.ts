import { expect, it } from 'vitest'
import { getEvidence, isCommitted, recordEvidence } from '../../../../src/modules/evidence/committedEvidence.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../../../src/state/memoryReader.ts'

const ADDRESS = new Uint8Array(20).fill(3)
const FOUND = { hash: new Uint8Array(32).fill(1), bytes: Uint8Array.of(1, 2, 3), address: ADDRESS, height: 5 }

it('is found by its hash, and by validator and height', () => {
  const { native } = new Journal(new MemoryStateReader())
  expect(isCommitted(native, ADDRESS, 5)).toBe(false)
  recordEvidence(native, FOUND)
  expect(isCommitted(native, ADDRESS, 5)).toBe(true)
  expect(isCommitted(native, ADDRESS, 6)).toBe(false)
  expect(isCommitted(native, new Uint8Array(20).fill(4), 5)).toBe(false)
  expect(getEvidence(native, FOUND.hash)).toEqual(FOUND.bytes)
  expect(getEvidence(native, new Uint8Array(32))).toBeUndefined()
})

it('is recorded once for a validator and height, whatever other votes there are', () => {
  const { native } = new Journal(new MemoryStateReader())
  recordEvidence(native, FOUND)
  expect(() => recordEvidence(native, { ...FOUND, hash: new Uint8Array(32).fill(2) })).toThrow('recorded already')
})
