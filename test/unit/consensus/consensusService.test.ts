import { describe, expect, it } from 'vitest'
import { CallQueue } from '../../../src/consensus/consensusService.ts'

describe('a queue of calls', () => {
  it('begins one when the one before has ended, failed or not', async () => {
    const queue = new CallQueue()
    const seen: string[] = []
    const call = (name: string, fails = false) =>
      queue.run(async () => {
        seen.push(`${name} begins`)
        await new Promise((resolve) => setImmediate(resolve))
        seen.push(`${name} ends`)
        if (fails) throw new Error(name)
        return name
      })
    const results = await Promise.allSettled([call('a'), call('b', true), call('c')])
    expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  })

  it('is idle when what was asked for meanwhile has ended too', async () => {
    const queue = new CallQueue()
    let ended = 0
    void queue.run(async () => {
      void queue.run(async () => {
        await new Promise((resolve) => setImmediate(resolve))
        ended++
      })
      ended++
    })
    await queue.whenIdle()
    expect(ended).toBe(2)
  })
})
