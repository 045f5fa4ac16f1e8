import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collectWhenIdle, type Heap } from '../../../src/threads/idleCollection.ts'

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
  const collectionsWith = (bytes: number, inUse: number, busy = 0): number => {
    Object.assign(heap, { bytes: bytes * MIB, inUse: inUse * MIB, busy })
    vi.advanceTimersByTime(20_000)
    return heap.collections
  }
  let timer: NodeJS.Timeout
  beforeEach(() => {
    vi.useFakeTimers()
    Object.assign(heap, { bytes: 0, inUse: 0, busy: 0, collections: 0 })
    timer = collectWhenIdle(asked)
  })
  afterEach(() => {
    clearInterval(timer)
    vi.useRealTimers()
  })

  it('is collected once the thread is idle', () => {
    expect(collectionsWith(50, 40)).toBe(0)
    expect(collectionsWith(500, 45, 0.9)).toBe(0)
    expect(collectionsWith(500, 45)).toBe(1)
    expect(collectionsWith(45, 45)).toBe(1)
  })

  it('stays where it is little, and what is in use is looked at once', () => {
    collectionsWith(50, 50)
    expect(collectionsWith(70, 50)).toBe(0)
    expect(collectionsWith(300, 300)).toBe(1)
    expect(collectionsWith(320, 300)).toBe(1)
    expect(collectionsWith(340, 310)).toBe(2)
  })

  it('is measured from the smallest heap, also when that comes later', () => {
    collectionsWith(200, 200)
    collectionsWith(60, 60)
    expect(collectionsWith(100, 60)).toBe(1)
  })
})
