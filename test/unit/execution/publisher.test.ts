import { beforeEach, expect, it } from 'vitest'
import type { HeadEvent } from '../../../src/execution/headEvent.ts'
import { createDelayedWriter, type DelayedWriter } from '../../../src/execution/publisher.ts'

/** What the writer looks at of a block. */
function block(height: number): HeadEvent {
  const update = { height, baseFeePerGas: 0n, minimumBaseFee: 1n, gasLimit: 0n, accounts: [], included: [] }
  return { head: { height } as unknown as HeadEvent['head'], update, gasUsed: 10n, evidenceCount: 1 }
}

let flushes: PromiseWithResolvers<void>[]
let written: (readonly [number, bigint, number])[]
let failures: unknown[]
let nowMs: number
let writer: DelayedWriter

/** Lets everything happen that waits for nothing. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

beforeEach(() => {
  flushes = []
  written = []
  failures = []
  nowMs = 0
  writer = createDelayedWriter({
    database: {
      bufferedBytes: 0,
      startBuffering: () => undefined,
      stopBuffering: async () => undefined,
      startFlush: async () => {
        const flush = Promise.withResolvers<void>()
        flushes.push(flush)
        return { done: flush.promise }
      },
    },
    onWritten: ({ update, gasUsed, evidenceCount }) => written.push([update.height, gasUsed, evidenceCount]),
    onFailed: (error) => failures.push(error),
    now: () => nowMs,
    later: () => undefined,
  })
  writer.begin()
})

it('tells of a group that could not be written, though nobody asks', async () => {
  await writer.buffer(block(1))
  nowMs += 1_000
  await writer.buffer(block(2))
  flushes[0]!.reject(new Error('disk'))
  await settled()
  expect(failures).toEqual([new Error('disk')])
  expect(written).toEqual([])
})

it('tells of blocks when they are on the disk, and lets further ones come meanwhile', async () => {
  await writer.buffer(block(1))
  nowMs += 1_000
  await writer.buffer(block(2))
  await writer.buffer(block(3))
  expect(flushes).toHaveLength(1)
  await settled()
  expect(written).toEqual([])
  flushes[0]!.resolve()
  await settled()
  expect(written).toEqual([[2, 20n, 2]])
  const ended = writer.flush()
  await settled()
  expect(written).toHaveLength(1)
  flushes[1]!.resolve()
  await ended
  expect(written).toEqual([
    [2, 20n, 2],
    [3, 10n, 1],
  ])
})

it('tells of nothing that the disk refused, and its owner hears why', async () => {
  await writer.buffer(block(1))
  const ended = writer.flush()
  await settled()
  flushes[0]!.reject(new Error('no space'))
  await expect(ended).rejects.toThrow('no space')
  expect(written).toEqual([])
})
