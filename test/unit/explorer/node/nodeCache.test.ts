import { describe, expect, it } from 'vitest'
import { createNodeCache } from '../../../../explorer/node/nodeCache.ts'

/** A cache with a clock that the test moves, and a question that counts how often it is asked. */
function start() {
  const clock = { now: 0 }
  const cache = createNodeCache(() => clock.now)
  let asked = 0
  const ask = async (): Promise<number> => ++asked
  return { clock, cache, ask }
}

describe('answers of the node', () => {
  it('are asked for once by all who come at the same time, and again when they are old', async () => {
    const { clock, cache, ask } = start()
    const all = await Promise.all(Array.from({ length: 100 }, () => cache.get('tally', 400, ask)))
    expect(new Set(all)).toEqual(new Set([1]))
    clock.now = 399
    expect(await cache.get('tally', 400, ask)).toBe(1)
    clock.now = 400
    expect(await cache.get('tally', 400, ask)).toBe(2)
    expect(await cache.get('another', 400, ask)).toBe(3)
  })

  it('are not asked for again while the node thinks, however long that takes', async () => {
    const { clock, cache, ask } = start()
    const { promise, resolve } = Promise.withResolvers<number>()
    const first = cache.get('tally', 400, () => promise)
    clock.now = 10_000
    const second = cache.get('tally', 400, ask)
    resolve(7)
    expect(await Promise.all([first, second])).toEqual([7, 7])
  })

  it('are forgotten when they are failures', async () => {
    const { cache, ask } = start()
    await expect(cache.get('tally', 400, () => Promise.reject(new Error('down')))).rejects.toThrow('down')
    expect(await cache.get('tally', 400, ask)).toBe(1)
  })
})
