import { expect, it } from 'vitest'
import { dequeue, dueEntries, enqueue, queued } from '../../../../src/modules/staking/queue.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const NOW_MS = 1_767_225_600_000
const LIMIT = 100

function addressOf(number: number): Uint8Array {
  const address = new Uint8Array(20)
  new DataView(address.buffer).setUint32(16, number)
  return address
}

it('returns what is due in order of time, as much as is asked for, until it is taken out', () => {
  const { native } = new Journal(new MemoryStateReader())
  const count = LIMIT + 3
  // From last to first: the order is that of time, then of addresses.
  for (let number = count; number > 0; number--) {
    const addresses = [addressOf(number), addressOf(1), addressOf(2)]
    enqueue(native, { kind: 'redelegation', timeMs: NOW_MS, addresses })
  }
  enqueue(native, { kind: 'unbonding', timeMs: NOW_MS - 1, addresses: [addressOf(9), addressOf(1)] })
  enqueue(native, { kind: 'validator', timeMs: NOW_MS + 1, addresses: [addressOf(1)] })

  const first = dueEntries(native, NOW_MS, LIMIT)
  expect(first.length).toBe(LIMIT)
  expect(first[0]?.kind).toBe('unbonding')
  expect(dueEntries(native, NOW_MS, LIMIT)).toEqual(first)
  for (const due of first) dequeue(native, due)
  const second = dueEntries(native, NOW_MS, LIMIT)
  const redelegations = [...first.slice(1), ...second]
  expect(redelegations.map(({ addresses }) => addresses[0])).toEqual(
    Array.from({ length: count }, (_, index) => addressOf(index + 1)),
  )
  for (const due of second) dequeue(native, due)
  expect(dueEntries(native, NOW_MS, LIMIT)).toEqual([])
  expect([...queued(native)].map(({ kind }) => kind)).toEqual(['validator'])
})
