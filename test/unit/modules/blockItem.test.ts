import { expect, it } from 'vitest'
import { doItem, ITEM_LEFT_ALONE } from '../../../src/modules/blockItem.ts'
import { sdkError } from '../../../src/modules/sdkError.ts'
import { Journal } from '../../../src/state/journal.ts'
import { StateReadError } from '../../../src/state/reader.ts'
import { WorkStopped } from '../../../src/state/workMeter.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'

const KEY = Uint8Array.of(1)
const OTHER = Uint8Array.of(2)

function begin() {
  const world = new Journal(new MemoryStateReader())
  world.beginTransaction()
  return { world, context: { world, block: { height: 1, timeMs: 0 } } }
}

it('keeps what an item did, and returns its value', () => {
  const { world, context } = begin()
  const value = doItem(context, { item: 'one' }, () => {
    world.native.set(KEY, KEY)
    return 7
  })
  expect(value).toBe(7)
  expect(world.native.get(KEY)).toEqual(KEY)
  expect(world.events()).toEqual([])
  world.endTransaction({ clearEmpty: true })
})

it.each([
  [
    'an error that is thrown',
    () => {
      throw new TypeError('no such thing')
    },
    'recovered: panic: TypeError: no such thing',
  ],
  ['an error that is returned', () => sdkError('logic'), 'internal logic error'],
])('undoes what an item did before %s, and names it', (_, fail, reason) => {
  const { world, context } = begin()
  const outer = doItem(context, { item: 'outer' }, () => {
    world.native.set(OTHER, OTHER)
    doItem(context, { item: 'one' }, () => {
      world.native.set(KEY, KEY)
      world.emitEvent({ type: 'undone', attributes: [] })
      return fail()
    })
    return 'done'
  })
  expect(outer).toBe('done')
  expect(world.native.get(KEY)).toBeUndefined()
  expect(world.native.get(OTHER)).toEqual(OTHER)
  const attributes = [
    { key: 'item', value: 'one' },
    { key: 'reason', value: reason },
  ]
  expect(world.events()).toEqual([{ type: ITEM_LEFT_ALONE, attributes }])
  world.endTransaction({ clearEmpty: true })
})

it.each([
  new StateReadError('the disk failed'),
  new WorkStopped('deadline'),
  new RangeError('Maximum call stack size exceeded'),
])('throws what other nodes may not have: %s', (error) => {
  const { world, context } = begin()
  const run = (): void => {
    world.native.set(KEY, KEY)
    throw error
  }
  expect(() => doItem(context, { item: 'one' }, run)).toThrow(error)
  expect(world.native.get(KEY)).toBeUndefined()
  world.endTransaction({ clearEmpty: true })
})
