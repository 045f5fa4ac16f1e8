import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { BlockEvents, StoredEntry } from '../../../../src/chain/block/entries.ts'
import {
  ENVELOPE_HASH_KEY,
  type EventTerm,
  envelopeKeys,
  eventIndexKeys,
  indexedEventHeights,
} from '../../../../src/chain/indexes/eventIndex.ts'
import { eventsOfEntry } from '../../../../src/execution/entryEvents.ts'
import { EMPTY_BYTES } from '../../../../src/primitives/bytes.ts'
import { WriteBatch } from '../../../../src/storage/batch.ts'
import { Column, prefixEnd } from '../../../../src/storage/columns.ts'
import { Database } from '../../../../src/storage/database.ts'
import { runs } from '../../../propertyRuns.ts'
import { arbitraryBlockEvents, arbitraryEntries } from '../../../support/chain/arbitraryEntries.ts'

interface Block {
  readonly entries: readonly StoredEntry[]
  readonly events: BlockEvents
}

let directory: string
let database: Database
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-events-'))
  database = await Database.open(join(directory, 'db'))
})
afterEach(async () => {
  await database.close()
  rmSync(directory, { recursive: true })
})

/** The terms of all events of a block, as block results show them, and those of its EVM transactions' bytes. */
function termsOf({ entries, events }: Block): EventTerm[] {
  const ofEvents = [...entries.flatMap(eventsOfEntry), ...events.begin, ...events.end].flatMap(({ type, attributes }) =>
    attributes.flatMap(({ key, value }) => [{ key: `${type}.${key}` }, { key: `${type}.${key}`, value }]),
  )
  const ofBytes = entries.flatMap((entry) =>
    entry.kind === 'evm' ? { key: ENVELOPE_HASH_KEY, value: hash('sha256', entry.signed.transaction.raw) } : [],
  )
  return [...ofEvents, ...ofBytes]
}

function keysOf({ entries, events }: Block, height: number): Uint8Array[] {
  return [...eventIndexKeys(height, entries, events), ...envelopeKeys(height, entries)]
}

async function write(blocks: readonly Block[], operation: 'put' | 'del'): Promise<void> {
  const batch = new WriteBatch()
  for (const [height, block] of blocks.entries()) {
    for (const key of keysOf(block, height)) {
      if (operation === 'put') batch.put(key, EMPTY_BYTES)
      else batch.del(key)
    }
  }
  await database.write(batch, { sync: false })
}

const find = (terms: readonly EventTerm[], from: number, to: number): Promise<number[]> =>
  Array.fromAsync(indexedEventHeights(database, terms, from, to))

it('names every block that holds what is looked for, in order, and few others', async () => {
  const block = fc.record({ entries: arbitraryEntries, events: arbitraryBlockEvents })
  await fc.assert(
    fc.asyncProperty(fc.array(block, { minLength: 1, maxLength: 6 }), fc.nat(), fc.nat(), async (blocks, a, b) => {
      await write(blocks, 'put')
      const last = blocks.length - 1
      const holds = (height: number, { key, value }: EventTerm) =>
        termsOf(blocks[height]!).some((term) => term.key === key && (value === undefined || term.value === value))
      const all = blocks.flatMap(termsOf)
      const terms = all.length === 0 ? [] : [all[a % all.length]!, all[b % all.length]!]
      for (const asked of [terms, terms.slice(1), []]) {
        const found = await find(asked, 0, last)
        expect(found).toEqual([...new Set(found)].sort((x, y) => x - y))
        const right = [...blocks.keys()].filter((height) => asked.every((term) => holds(height, term)))
        expect(found).toEqual(expect.arrayContaining(right))
        expect(await find(asked, 1, last - 1)).toEqual(found.filter((height) => height >= 1 && height < last))
      }
      expect(await find([{ key: 'delegate.amount', value: 'nobody ever' }], 0, last)).toEqual([])
      await write(blocks, 'del')
      const start = Uint8Array.of(Column.eventTerm)
      expect(await Array.fromAsync(database.entries({ start, end: prefixEnd(start) }))).toEqual([])
    }),
    { numRuns: runs(60) },
  )
})

it('passes over long stretches of a dense term to where a rare one is', async () => {
  const dense = { type: 'often', attributes: [{ key: 'a', value: 'x' }] }
  const rare = { type: 'seldom', attributes: [{ key: 'b', value: 'y' }] }
  const rareHeights = [0, 63, 64, 65, 300, 301, 999]
  const blocks = Array.from({ length: 1000 }, (_, height): Block => {
    const begin = rareHeights.includes(height) ? [dense, rare] : [dense]
    return { entries: [], events: { begin, end: [] } }
  })
  await write(blocks, 'put')
  const terms = [{ key: 'often.a', value: 'x' }, { key: 'seldom.b' }]
  for (const order of [terms, terms.toReversed()]) {
    expect(await find(order, 0, 999)).toEqual(rareHeights)
    expect(await find(order, 64, 998)).toEqual([64, 65, 300, 301])
  }
})

it('lets others run while two terms never meet, and ends when the time is over', async () => {
  const blocks = Array.from({ length: 2_000 }, (_, height): Block => {
    const event = { type: height % 2 === 0 ? 'even' : 'odd', attributes: [{ key: 'a', value: 'x' }] }
    return { entries: [], events: { begin: [event], end: [] } }
  })
  await write(blocks, 'put')
  const terms = [{ key: 'even.a' }, { key: 'odd.a' }]
  let pauses = 0
  const count = async (): Promise<void> => void pauses++
  expect(await Array.fromAsync(indexedEventHeights(database, terms, 0, 1_999, count))).toEqual([])
  expect(pauses).toBeGreaterThanOrEqual(60)
  const stop = (): Promise<void> => Promise.reject(new Error('time is over'))
  await expect(Array.fromAsync(indexedEventHeights(database, terms, 0, 1_999, stop))).rejects.toThrow('time is over')
})
