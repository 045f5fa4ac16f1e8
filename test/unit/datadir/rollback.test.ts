import { afterEach, describe, expect, it, vi } from 'vitest'
import { mayBePacked } from '../../../src/chain/indexes/logIndex.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import { checkRollback, rollback } from '../../../src/datadir/rollback.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import { WriteBatch } from '../../../src/storage/batch.ts'
import { Column } from '../../../src/storage/columns.ts'
import { Database } from '../../../src/storage/database.ts'
import { firstSeed, runs } from '../../propertyRuns.ts'
import {
  type Contents,
  contentsOf,
  expectSame,
  extend,
  openBusyNode,
  withDatabase,
} from '../../support/execution/busyChain.ts'
import { manyLogs, separateTerms } from '../../support/execution/manyTerms.ts'
import { createTestChain } from '../../support/execution/testChain.ts'
import type { NetworkNode, NodeOptions } from '../../support/execution/testNetwork.ts'
import { describeState } from '../../support/state/randomChain.ts'

let nodes: NetworkNode[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const node of nodes) await node.close()
  nodes = []
})

async function open(seed: number, options?: NodeOptions): Promise<NetworkNode> {
  const node = await openBusyNode(seed, options)
  nodes.push(node)
  return node
}

/** Rolls the node's database back, as the command does while the node is stopped. */
async function rollBack(node: NetworkNode, height: number, options?: Parameters<typeof rollback>[2]) {
  await node.executor.close()
  const result = await withDatabase(node, (database) => rollback(database, height, options), false)
  await node.reopen()
  return result
}

describe('rollback', () => {
  it.each(Array.from({ length: runs(1) }, (_, run) => firstSeed(1) + run))(
    'leaves the database of a node that stopped there, which goes on with the same or with other blocks (seed %i)',
    async (seed) => {
      const node = await open(seed)
      const heights = [28, 27, 25, 17, 1, 0]
      const contents = new Map([[0, await contentsOf(node)]])
      const decisions = await extend(node, 28, seed, async () => {
        const height = node.executor.head().header.number
        if (heights.includes(height)) contents.set(height, await contentsOf(node))
      })
      for (const height of heights) {
        await rollBack(node, height)
        expectSame(await contentsOf(node), contents.get(height)!)
      }
      for (const decided of decisions.slice(0, 17)) await node.executor.application.finalizeBlock(decided)
      expectSame(await contentsOf(node), contents.get(17)!)
      await rollBack(node, 12)

      const other = await open(seed)
      for (const decided of decisions.slice(0, 12)) await other.executor.application.finalizeBlock(decided)
      expectSame(await contentsOf(node), await contentsOf(other))
      for (const decided of await extend(other, 20, seed + 1)) await node.executor.application.finalizeBlock(decided)
      expectSame(await contentsOf(node), await contentsOf(other))
    },
  )

  it.each([true, false])('deletes the terms of thousands of logs (packed: %s)', async (isPacked) => {
    const chain = await createTestChain()
    const genesis = await contentsOf(chain)
    const decided = await chain.produce([await manyLogs()])
    const whole = await contentsOf(chain)
    const packed = [...whole.entries.keys()].filter((key) => key.startsWith(Column.packedLogTerms.toString(16)))
    expect(packed).toHaveLength(256)
    await chain.executor.close()
    await withDatabase(
      chain,
      async (database) => {
        const batch = new WriteBatch()
        if (!isPacked) separateTerms(batch, database)
        await database.write(batch, { sync: true })
        expect(mayBePacked(database, 1)).toBe(isPacked)
        await rollback(database, 0)
      },
      false,
    )
    expectSame(await contentsOf(chain), genesis)
    const again = await chain.reopen()
    await again.executor.application.finalizeBlock(decided)
    expectSame(await contentsOf(again), whole)
    await again.close()
  })

  it('gives every state that is still kept, when old ones were dropped', async () => {
    const node = await open(3, { pruning: 6 })
    const states: unknown[] = []
    const describe = (): Promise<unknown[]> =>
      withDatabase(node, async (database) => {
        const view = openView(database, createViewCaches())
        const { headHeight } = openChainReader(database)
        const heights = Array.from(
          { length: headHeight - view.oldestState + 1 },
          (_, index) => view.oldestState + index,
        )
        return heights.map((height) => [height, describeState(view.stateAt(height))])
      })
    await extend(node, 16, 3, async () => void states.push((await describe()).at(-1)))
    await rollBack(node, 13)
    expect(await describe()).toEqual(states.slice(9, 13))
    await extend(node, 20, 4)
    expect(await describe()).toHaveLength(7)
  })

  it('goes on where a crash has ended it', async () => {
    const node = await open(5)
    const contents: Contents[] = [await contentsOf(node)]
    await extend(node, 12, 5, async () => void contents.push(await contentsOf(node)))
    await node.executor.close()
    // Each step is written alone, and the process ends in the middle of the third one.
    const write = Database.prototype.write
    let writes = 0
    vi.spyOn(Database.prototype, 'write').mockImplementation(function (this: Database, batch: WriteBatch, options) {
      return ++writes === 3 ? Promise.reject(new Error('killed')) : write.call(this, batch, options)
    })
    const stop = new AbortController()
    const undone = (height: number) =>
      withDatabase(node, (database) => rollback(database, height, { signal: stop.signal }), false)
    expect(await undone(10)).toEqual({ from: 12, to: 10 })
    expect(await undone(9)).toEqual({ from: 10, to: 9 })
    await expect(undone(4)).rejects.toThrow('killed')
    expectSame(await contentsOf(node), contents[9]!)
    expect(await undone(4)).toEqual({ from: 9, to: 4 })
    expectSame(await contentsOf(node), contents[4]!)
    stop.abort()
    expect(await undone(1)).toEqual({ from: 4, to: 4 })
    await node.reopen()
  })

  it('refuses what it cannot do, and changes nothing', async () => {
    const node = await open(7, { pruning: 8, blockHistory: 4 })
    await extend(node, 14, 7)
    await node.executor.close()
    const before = await contentsOf(node)
    for (const [height, why] of [
      [15, 'block 15 is above the newest block 14'],
      [5, '(PRUNING): the earliest possible block is 6'],
      [8, '(BLOCK_HISTORY): the earliest possible block is 9'],
    ] as const) {
      await expect(withDatabase(node, (database) => rollback(database, height), false)).rejects.toThrow(why)
    }
    expectSame(await contentsOf(node), before)
    await withDatabase(node, async (database) => expect(checkRollback(database, 9)).toBe(14))
    await withDatabase(node, (database) => rollback(database, 9), false)
    await node.reopen()
  })
})
