import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CallQueue } from '../../../src/consensus/consensusService.ts'
import { openLocalNode } from '../../crash/localNode.ts'

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

describe('a start that has blocks of the log to execute', () => {
  it('ends before the next one when it is to end, and the next start goes on there', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'coind-replay-'))
    const first = await openLocalNode({ directory })
    await first.reached(8)
    await first.close()
    rmSync(join(directory, 'db'), { recursive: true })

    const stop = new AbortController()
    const replayed: number[] = []
    const onReplayed = (height: number): void => {
      replayed.push(height)
      if (height === 3) stop.abort()
    }
    await expect(openLocalNode({ directory, signal: stop.signal, onReplayed })).rejects.toThrow('aborted')
    expect(replayed).toEqual([1, 2, 3])
    const second = await openLocalNode({ directory, onReplayed })
    expect(replayed.slice(0, 5)).toEqual([1, 2, 3, 4, 5])
    expect(second.replayedTo).toBeGreaterThanOrEqual(8)
    await second.close()
    rmSync(directory, { recursive: true })
  })
})
