import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collectWhenIdle, type Heap } from '../../../../src/node/start/idleCollection.ts'

const MIB = 1_048_576

describe('garbage that nothing new pushes out', () => {
  const heap = { bytes: 0, inUse: 0, busy: 0, collections: 0 }
  const asked: Heap = {
    committedBytes: () => heap.bytes,
    busyShare: () => heap.busy,
    collect: () => {
      heap.collections++
      heap.bytes = heap.inUse
    },
  }
  /** Some time passes with this heap, in MiB, of which so much is in use. */
  const collectionsWith = (bytes: number, inUse: number, { busy = 0.05, seconds = 20 } = {}): number => {
    Object.assign(heap, { bytes: bytes * MIB, inUse: inUse * MIB, busy })
    vi.advanceTimersByTime(seconds * 1_000)
    return heap.collections
  }
  beforeEach(() => {
    vi.useFakeTimers()
    Object.assign(heap, { bytes: 0, inUse: 0, busy: 0, collections: 0 })
    collectWhenIdle(asked, 0)
  })
  afterEach(() => void vi.useRealTimers())

  it('is collected when the thread is idle for the first time', () => {
    expect(collectionsWith(30, 10, { busy: 0.9 })).toBe(0)
    expect(collectionsWith(30, 10)).toBe(1)
    expect(collectionsWith(30, 10)).toBe(1)
  })

  it('is collected once the thread is idle after work', () => {
    collectionsWith(50, 40)
    expect(collectionsWith(500, 45, { busy: 0.9 })).toBe(1)
    expect(collectionsWith(500, 45)).toBe(2)
    expect(collectionsWith(45, 45)).toBe(2)
  })

  it('stays where it is little, and what is in use is looked at once', () => {
    collectionsWith(50, 50)
    expect(collectionsWith(70, 50)).toBe(1)
    expect(collectionsWith(300, 300)).toBe(2)
    expect(collectionsWith(320, 300)).toBe(2)
    expect(collectionsWith(340, 310)).toBe(3)
  })

  it('is collected where it is little too once the thread has rested for a minute', () => {
    collectionsWith(50, 50)
    expect(collectionsWith(55, 50, { busy: 0.001, seconds: 120 })).toBe(1)
    expect(collectionsWith(60, 50, { seconds: 120 })).toBe(1)
    expect(collectionsWith(60, 50, { busy: 0.001, seconds: 30 })).toBe(1)
    expect(collectionsWith(60, 50, { busy: 0.001, seconds: 60 })).toBe(2)
    expect(collectionsWith(50, 50, { busy: 0.001, seconds: 60 })).toBe(2)
  })

  it('is measured from the smallest heap, also when that comes later', () => {
    collectionsWith(200, 200)
    collectionsWith(60, 60)
    expect(collectionsWith(100, 60)).toBe(2)
  })
})
