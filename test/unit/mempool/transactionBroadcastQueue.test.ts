import { beforeEach, describe, expect, test } from 'vitest'
import { type TransactionBroadcast, TransactionBroadcastQueue } from '../../../src/mempool/transactionBroadcastQueue.ts'

let nowMs: number
let pending: Set<string>
let told: TransactionBroadcast[]
let announcements: TransactionBroadcastQueue

beforeEach(() => {
  nowMs = 0
  pending = new Set()
  told = []
  announcements = new TransactionBroadcastQueue({
    maxBytes: 100,
    maxCount: 4,
    now: () => nowMs,
    isPending: (key) => pending.has(key),
    announce: (announcement) => told.push(announcement),
  })
})

function add(...names: string[]): void {
  for (const name of names) {
    pending.add(`#${name}`)
    announcements.add({ hashKey: `#${name}`, raw: name })
  }
}

describe('TransactionBroadcastQueue', () => {
  test('gathers transactions until it is told to send, or they fill a batch', () => {
    add('a', 'b')
    expect([told, announcements.waiting]).toEqual([[], 2])
    announcements.flush()
    announcements.flush()
    expect(told).toEqual([{ transactions: ['a', 'b'], isRepeated: false }])
    add('c', 'd', 'e', 'f', 'g')
    expect(told[1]).toEqual({ transactions: ['c', 'd', 'e', 'f'], isRepeated: false })
    add('x'.repeat(100))
    expect(told[2]).toEqual({ transactions: ['g'], isRepeated: false })
    expect(announcements.waiting).toBe(1)
  })

  test('repeats what still waits, after a while, and not for ever', () => {
    add('a', 'b', 'c')
    announcements.flush()
    nowMs = 14_999
    announcements.repeat()
    expect(told).toHaveLength(1)
    pending.delete('#b')
    nowMs = 15_000
    announcements.repeat()
    announcements.repeat()
    expect(told.slice(1)).toEqual([{ transactions: ['a', 'c'], isRepeated: true }])
    for (let i = 0; i < 100; i++) {
      nowMs += 15_000
      announcements.repeat()
    }
    expect(told).toHaveLength(41)
  })

  test('repeats a great many in portions', () => {
    for (let i = 0; i < 3_000; i++) add(`${i}`)
    announcements.flush()
    const before = told.length
    nowMs = 20_000
    announcements.repeat()
    expect(told.slice(before).flatMap(({ transactions }) => transactions)).toHaveLength(1_000)
    for (let i = 0; i < 4; i++) announcements.repeat()
    const repeated = told.slice(before).flatMap(({ transactions }) => transactions)
    expect(new Set(repeated).size).toBe(3_000)
    expect(repeated).toHaveLength(3_000)
  })
})
