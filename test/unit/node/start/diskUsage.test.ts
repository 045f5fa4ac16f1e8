import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { watchDiskUsage } from '../../../../src/node/start/diskUsage.ts'

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-usage-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

it('measures again and again, also after a failure, until it is stopped', async () => {
  mkdirSync(join(directory, 'snapshots/7'), { recursive: true })
  writeFileSync(join(directory, 'snapshots/7/manifest.json'), 'x'.repeat(30))
  writeFileSync(join(directory, 'snapshots/a'), 'x'.repeat(5))
  const shown = new Map<string, number>()
  const errors: unknown[] = []
  let measured = 0
  const often = Promise.withResolvers<void>()
  const stop = watchDiskUsage({
    columns: async () => {
      measured++
      if (measured === 2) throw new Error('no disk')
      if (measured === 5) often.resolve()
      return new Map([['header', measured]])
    },
    directories: { snapshots: join(directory, 'snapshots'), segments: join(directory, 'segments') },
    show: (name, bytes) => shown.set(name, bytes),
    onError: (error) => errors.push(error),
    intervalMs: 1,
  })
  await often.promise
  await stop()
  expect(errors).toEqual([new Error('no disk')])
  expect(shown.get('header')).toBe(measured)
  expect([shown.get('snapshots'), shown.get('segments')]).toEqual([35, 0])
  const before = measured
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(measured).toBe(before)
})

it('ends at once while it waits for the next time', async () => {
  let measured = 0
  const stop = watchDiskUsage({
    columns: async () => {
      measured++
      return new Map()
    },
    directories: {},
    show: () => undefined,
    onError: (error) => {
      throw error
    },
  })
  await new Promise((resolve) => setImmediate(resolve))
  await stop()
  expect(measured).toBe(1)
})
