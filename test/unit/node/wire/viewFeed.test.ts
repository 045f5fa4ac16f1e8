import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createPublishedHeight,
  type PublishedHeight,
  raisePublishedHeight,
} from '../../../../src/node/wire/sharedMemory.ts'
import { followHeads, type ViewFeed } from '../../../../src/node/wire/viewFeed.ts'
import type { NodeView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createTestChain, type TestChain, WALLET } from '../../../support/execution/testChain.ts'

describe('view feed', () => {
  let chain: TestChain
  let database: Database
  let feed: ViewFeed
  let published: PublishedHeight

  beforeEach(async () => {
    chain = await createTestChain()
    database = await Database.open(chain.location, { readOnly: true })
    published = createPublishedHeight()
    feed = followHeads(database, published)
  })
  afterEach(async () => {
    await feed.close()
    await database.close()
    await chain.close()
  })

  /** As the executor does it. */
  async function publish(): Promise<void> {
    const { block } = await chain.produce()
    raisePublishedHeight(published, block.header.height)
  }

  /** Asks for an account that no cache knows. */
  function isReadable(view: NodeView): boolean {
    try {
      view.stateAt(0).getAccount(randomBytes(20))
      return true
    } catch {
      return false
    }
  }

  it('leases the newest published head without waiting for it', async () => {
    await publish()
    const lease = feed.lease()
    expect(lease.view.chain.headHeight).toBe(1)
    lease.release()
  })

  it('shows no older head than another thread that found a block before it was announced', async () => {
    await publish()
    feed.lease().release()
    await chain.produce()
    const other = followHeads(database, published)
    const leases = [other.lease(), feed.lease()]
    expect(leases.map(({ view }) => view.chain.headHeight)).toEqual([2, 2])
    for (const lease of leases) lease.release()
    await other.close()
  })

  it('keeps a superseded view readable until its last lease is released, and no longer', async () => {
    const [first, second] = [feed.lease(), feed.lease()]
    const next = feed.next(0, 5_000)
    await publish()
    const newer = await next
    expect(newer?.view.chain.headHeight).toBe(1)
    first.release()
    first.release()
    expect(second.view.stateAt(0).getAccount(WALLET)?.balance).toBe(10n ** 27n)
    second.release()
    await new Promise((resolve) => setImmediate(resolve))
    // What was read before may still be known.
    expect(() => second.view.stateAt(0).getAccount(new Uint8Array(20).fill(0x77))).toThrow()
    expect(newer?.view.stateAt(1).getAccount(WALLET)?.balance).toBe(10n ** 27n)
    newer?.release()
  })

  it('keeps a view open while a listener uses it, and tells each head once', async () => {
    const told: number[] = []
    const listened = Promise.withResolvers<bigint | undefined>()
    feed.onHead(async (view) => {
      told.push(view.chain.headHeight)
      if (told.length > 1) return
      await publish()
      await feed.next(1, 5_000).then((lease) => lease?.release())
      listened.resolve(view.stateAt(1).getAccount(WALLET)?.nonce)
    })
    await publish()
    expect(await listened.promise).toBe(0n)
    raisePublishedHeight(published, 2)
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(told).toEqual([1, 2])
  })

  it('tells a listener nothing after it was removed, and a new one only of newer heads', async () => {
    const told: string[] = []
    const remove = feed.onHead(({ chain }) => void told.push(`first ${chain.headHeight}`))
    await publish()
    remove()
    feed.onHead(({ chain }) => void told.push(`second ${chain.headHeight}`))
    const next = feed.next(1, 5_000)
    await publish()
    ;(await next)?.release()
    await expect.poll(() => told).toEqual(['second 2'])
  })

  it('closes the newest snapshot when nobody has asked for a while, and opens it again', async () => {
    const idle = followHeads(database, published, 10)
    const { view, release } = idle.lease()
    release()
    await expect.poll(() => isReadable(view)).toBe(false)
    const lease = idle.lease()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(isReadable(lease.view)).toBe(true)
    lease.release()
    await idle.close()
  })

  it('gives up waiting for a head in time', async () => {
    expect(await feed.next(0, 20)).toBeUndefined()
  })
})
