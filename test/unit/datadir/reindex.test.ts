import { afterEach, describe, expect, it } from 'vitest'
import { mayBePacked } from '../../../src/chain/indexes/logIndex.ts'
import { reindex } from '../../../src/datadir/reindex.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column } from '../../../src/storage/columns.ts'
import type { Database } from '../../../src/storage/database.ts'
import { firstSeed, runs } from '../../propertyRuns.ts'
import { contentsOf, expectSame, extend, openBusyNode, withDatabase } from '../../support/execution/busyChain.ts'
import { manyLogs, separateTerms } from '../../support/execution/manyTerms.ts'
import { createTestChain } from '../../support/execution/testChain.ts'
import type { NetworkNode, NodeOptions } from '../../support/execution/testNetwork.ts'
import { createRandom } from '../../support/state/randomChain.ts'

const BLOCKS = 24
const HASHES = ['blockHash', 'transaction', 'consensusHash', 'nativeTransaction'] as const
const TERMS = ['logTerm', 'eventTerm'] as const

let node: NetworkNode | undefined
afterEach(async () => {
  await node?.close()
  node = undefined
})

/** A stopped node with some blocks. */
async function stopped(seed: number, options?: NodeOptions): Promise<NetworkNode> {
  node = await openBusyNode(seed, options)
  await extend(node, BLOCKS, seed)
  await node.reopen()
  return node
}

function run(chain: Pick<NetworkNode, 'location'>, options: Partial<Parameters<typeof reindex>[0]> = {}) {
  const progressOf = () => ({ update: () => undefined, end: () => undefined })
  return withDatabase(chain, (database) => reindex({ database, index: 'all', progressOf, ...options }), false)
}

async function keysOf(database: Database, column: number): Promise<Uint8Array[]> {
  const keys: Uint8Array[] = []
  const range = { start: Uint8Array.of(column), end: Uint8Array.of(column + 1) }
  for await (const [key] of database.entries(range)) keys.push(key.slice())
  return keys
}

/** Damages entries of every index: some are deleted, some get another value, some are added. @returns how many of each */
async function damage(chain: NetworkNode, random: (below: number) => number) {
  return withDatabase(
    chain,
    async (database) => {
      const done: Record<string, { missing: number; changed: number; extra: number }> = {}
      const batch = new WriteBatch()
      for (const name of [...HASHES, ...TERMS]) {
        const counts = { missing: 0, changed: 0, extra: 0 }
        done[name] = counts
        for (const key of await keysOf(database, Column[name])) {
          const isTerm = name === 'logTerm' || name === 'eventTerm'
          const what = random(6)
          if (what === 0) {
            batch.del(key)
            counts.missing++
          } else if (what === 1) {
            const value = database.get(key)!
            // Another height, a place that does not exist, no height at all.
            const other =
              random(3) === 0
                ? Uint8Array.of(1, 2)
                : value.map((byte, at) => (at === value.length - 1 ? byte ^ 1 : byte))
            batch.put(key, isTerm ? Uint8Array.of(7) : other)
            counts.changed++
          } else if (what === 2) {
            const extra = key.slice()
            // Of a term another term or another height, of a hash another hash.
            extra[isTerm && random(2) === 0 ? extra.length - 1 : 3]! ^= 0x80
            if (database.get(extra) !== undefined) continue
            batch.put(extra, database.get(key)!)
            counts.extra++
          }
        }
      }
      await database.write(batch, { sync: true })
      return done
    },
    false,
  )
}

/** A stopped chain whose first block has thousands of terms of logs. */
async function stoppedWithManyTerms() {
  const chain = await createTestChain()
  await chain.produce([await manyLogs()])
  await chain.executor.close()
  return chain
}

describe('reindex', () => {
  it('makes packed terms what they were, and leaves those that an older version wrote one by one', async () => {
    const chain = await stoppedWithManyTerms()
    const whole = await contentsOf(chain)
    expect(await run(chain)).toEqual({})
    expectSame(await contentsOf(chain), whole)

    const write = (fill: (batch: WriteBatch, database: Database) => unknown) =>
      withDatabase(
        chain,
        async (database) => {
          const batch = new WriteBatch()
          await fill(batch, database)
          await database.write(batch, { sync: true })
        },
        false,
      )
    await write(async (batch, database) => {
      const packed = await keysOf(database, Column.packedLogTerms)
      expect(packed).toHaveLength(256)
      batch.del(packed[3]!)
      batch.put(packed[9]!, Uint8Array.of(1, 2, 3))
      batch.put(
        Uint8Array.from(packed[5]!, (byte, at) => (at === packed[5]!.length - 1 ? 9 : byte)),
        Uint8Array.of(1, 2, 3),
      )
    })
    expect(await run(chain)).toEqual({ packedLogTerms: { missing: 1, changed: 1, extra: 1 } })
    expectSame(await contentsOf(chain), whole)

    await write(separateTerms)
    const separate = await contentsOf(chain)
    expect(await run(chain)).toEqual({})
    expectSame(await contentsOf(chain), separate)
    await withDatabase(chain, async (database) => expect(mayBePacked(database, 1)).toBe(false))
    await chain.close()
  })

  it.each(Array.from({ length: runs(1) }, (_, at) => firstSeed(1) + at))(
    'makes the indexes byte by byte what they were, and says what was wrong (seed %i)',
    async (seed) => {
      const chain = await stopped(seed)
      await chain.executor.close()
      const whole = await contentsOf(chain)
      expect(await run(chain)).toEqual({})
      expectSame(await contentsOf(chain), whole)
      const random = createRandom(seed)
      const done = await damage(chain, random)
      expect(done).toMatchObject({ logTerm: { missing: expect.any(Number) } })
      expect(await run(chain, { stepEntries: 1 + random(200) })).toEqual(done)
      expectSame(await contentsOf(chain), whole)

      // All of it gone.
      await withDatabase(
        chain,
        async (database) => {
          const batch = new WriteBatch()
          for (const name of [...HASHES, ...TERMS])
            for (const key of await keysOf(database, Column[name])) batch.del(key)
          await database.write(batch, { sync: true })
        },
        false,
      )
      await run(chain)
      expectSame(await contentsOf(chain), whole)
      await chain.reopen()
    },
  )

  it('goes on where it was interrupted, and begins anew when there are more blocks', async () => {
    const chain = await stopped(3)
    await chain.executor.close()
    const whole = await contentsOf(chain)
    const done = await damage(chain, createRandom(3))
    const stop = new AbortController()
    const updates: number[] = []
    const interrupting = (title: string, at: number) => ({
      update: (value: number) => {
        if (title === 'comparing blocks with their indexes') updates.push(value)
        if (value >= at) stop.abort()
      },
      end: () => undefined,
    })
    const interrupted = run(chain, {
      signal: stop.signal,
      stepEntries: 20,
      progressOf: ({ title }) => interrupting(title, 10),
    })
    await expect(interrupted).rejects.toThrow('aborted')
    expect(updates.at(-1)).toBeGreaterThanOrEqual(10)
    updates.length = 0
    expect(await run(chain, { progressOf: ({ title }) => interrupting(title, Number.POSITIVE_INFINITY) })).toEqual(done)
    expect(updates[0]).toBeGreaterThanOrEqual(10)
    expectSame(await contentsOf(chain), whole)

    const again = new AbortController()
    const early = run(chain, {
      signal: again.signal,
      stepEntries: 20,
      progressOf: () => ({ update: (value) => value >= 10 && again.abort(), end: () => undefined }),
    })
    await expect(early).rejects.toThrow('aborted')
    await chain.reopen()
    await extend(chain, BLOCKS + 3, 4)
    await chain.reopen()
    await chain.executor.close()
    updates.length = 0
    await damage(chain, createRandom(5))
    await run(chain, { progressOf: ({ title }) => interrupting(title, Number.POSITIVE_INFINITY) })
    expect(updates[0]).toBe(0)
    expect(await run(chain)).toEqual({})
    await chain.reopen()
  })

  it('finds blocks again that INDEX=off has left out, and with it checks the hashes alone', async () => {
    const chain = await stopped(7, { index: 'off' })
    await chain.executor.close()
    const without = await contentsOf(chain)
    await damage(chain, createRandom(7))
    await run(chain, { index: 'off' })
    expectSame(await contentsOf(chain), without)
    const { logTerm, eventTerm, ...others } = await run(chain)
    expect(others).toEqual({})
    expect([logTerm!.missing, eventTerm!.missing].every((count) => count > 0)).toBe(true)
    const found = await contentsOf(chain)
    await chain.reopen()
    await chain.close()

    const indexed = await stopped(7)
    expectSame(found, await contentsOf(indexed))
  })

  it('leaves out what BLOCK_HISTORY has dropped', async () => {
    const chain = await stopped(6, { blockHistory: 8 })
    await chain.executor.close()
    const whole = await contentsOf(chain)
    expect(await run(chain)).toEqual({})
    await damage(chain, createRandom(6))
    await run(chain)
    expectSame(await contentsOf(chain), whole)
    await chain.reopen()
  })
})
