import { expect, it } from 'vitest'
import { DUE_PER_BLOCK, enqueue, queued, takeDue } from '../../../../src/modules/staking/queue.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../state/memoryReader.ts'

const NOW_MS = 1_767_225_600_000

function addressOf(number: number): Uint8Array {
  const address = new Uint8Array(20)
  new DataView(address.buffer).setUint32(16, number)
  return address
}

it('gives a block no more than it can end, and the next one the rest', () => {
  const { native } = new Journal(new MemoryStateReader())
  const count = DUE_PER_BLOCK + 3
  // From last to first: the order is that of time, then of addresses.
  for (let number = count; number > 0; number--) {
    const addresses = [addressOf(number), addressOf(1), addressOf(2)]
    enqueue(native, { kind: 'redelegation', timeMs: NOW_MS, addresses })
  }
  enqueue(native, { kind: 'unbonding', timeMs: NOW_MS - 1, addresses: [addressOf(9), addressOf(1)] })
  enqueue(native, { kind: 'validator', timeMs: NOW_MS + 1, addresses: [addressOf(1)] })

  const first = takeDue(native, NOW_MS)
  expect(first.length).toBe(DUE_PER_BLOCK)
  expect(first[0]?.kind).toBe('unbonding')
  const second = takeDue(native, NOW_MS)
  const redelegations = [...first.slice(1), ...second]
  expect(redelegations.map(({ addresses }) => addresses[0])).toEqual(
    Array.from({ length: count }, (_, index) => addressOf(index + 1)),
  )
  expect(takeDue(native, NOW_MS)).toEqual([])
  expect([...queued(native)].map(({ kind }) => kind)).toEqual(['validator'])
})
