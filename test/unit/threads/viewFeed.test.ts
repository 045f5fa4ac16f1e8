import { randomUUID } from 'node:crypto'
import { BroadcastChannel } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Database } from '../../../src/storage/database.ts'
import { createPublishedHeight, setPublishedHeight } from '../../../src/threads/sharedMemory.ts'
import { followHeads, type ViewFeed } from '../../../src/threads/viewFeed.ts'
import { createTestChain, type TestChain, WALLET } from '../app/testChain.ts'

describe('view feed', () => {
  let chain: TestChain
  let database: Database
  let feed: ViewFeed
  let heads: BroadcastChannel
  const published = createPublishedHeight()

  beforeEach(async () => {
    chain = await createTestChain()
    database = await Database.open(chain.location, { readOnly: true })
    const name = `test-heads-${randomUUID()}`
    heads = new BroadcastChannel(name)
    setPublishedHeight(published, 0)
    feed = followHeads(database, name, published)
  })
  afterEach(async () => {
    heads.close()
    await feed.close()
    await database.close()
    await chain.close()
  })

  /** As the executor does it: the height that all threads share is raised, then everybody is told. */
  async function publish(tell = true): Promise<void> {
    const { block } = await chain.produce()
    setPublishedHeight(published, block.header.height)
    if (tell) heads.postMessage({ height: block.header.height })
  }

  it('leases the newest published head, told of it or not', async () => {
    await publish(false)
    const lease = feed.lease()
    expect(lease.view.chain.headHeight).toBe(1)
    lease.release()
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
    heads.postMessage({ height: 2 })
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect(told).toEqual([1, 2])
  })

  it('gives up waiting for a head in time', async () => {
    expect(await feed.next(0, 20)).toBeUndefined()
  })
})
