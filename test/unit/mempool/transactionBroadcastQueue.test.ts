import { beforeEach, describe, expect, test } from 'vitest'
import { type TransactionBroadcast, TransactionBroadcastQueue } from '../../../src/mempool/transactionBroadcastQueue.ts'

let nowMs: number
let pending: Set<string>
let told: TransactionBroadcast[]
let hasPeers: boolean
let announcements: TransactionBroadcastQueue

beforeEach(() => {
  nowMs = 0
  pending = new Set()
  told = []
  hasPeers = true
  announcements = new TransactionBroadcastQueue({
    maxBytes: 100,
    maxCount: 4,
    now: () => nowMs,
    isPending: (key) => pending.has(key),
    hasPeers: () => hasPeers,
    announce: (announcement) => void told.push(announcement),
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

  test('keeps what nobody could be told of until there is somebody, and then repeats it like the rest', () => {
    hasPeers = false
    add('a', 'b', 'c', 'd', 'e')
    announcements.flush()
    announcements.repeat()
    pending.delete('#b')
    nowMs = 20_000
    announcements.repeat()
    expect(told).toEqual([])
    hasPeers = true
    announcements.repeat()
    announcements.repeat()
    expect(told).toEqual([{ transactions: ['a', 'c', 'd', 'e'], isRepeated: false }])
    nowMs = 35_000
    announcements.repeat()
    expect(told.slice(1)).toEqual([{ transactions: ['a', 'c', 'd', 'e'], isRepeated: true }])
  })

  test('what is due again while there are no peers is sent when there is one', () => {
    add('a')
    announcements.flush()
    hasPeers = false
    nowMs = 15_000
    announcements.repeat()
    hasPeers = true
    announcements.repeat()
    expect(told).toEqual([
      { transactions: ['a'], isRepeated: false },
      { transactions: ['a'], isRepeated: true },
    ])
  })

  test('tells the first peer of a great many in portions, in their order', () => {
    hasPeers = false
    for (let i = 0; i < 2_500; i++) add(`${i}`)
    announcements.flush()
    hasPeers = true
    const names = () => told.flatMap(({ transactions }) => transactions)
    for (const count of [1_000, 2_000, 2_500, 2_500]) {
      announcements.repeat()
      expect(names()).toEqual(Array.from({ length: count }, (_, index) => `${index}`))
    }
  })

  test('forgets what has come into a block when nobody was ever there', () => {
    hasPeers = false
    const asked: string[] = []
    announcements = new TransactionBroadcastQueue({
      maxBytes: 100_000,
      maxCount: 1_000,
      now: () => nowMs,
      isPending: (key) => {
        asked.push(key)
        return pending.has(key)
      },
      hasPeers: () => hasPeers,
      announce: (announcement) => void told.push(announcement),
    })
    for (let block = 0; block < 50; block++) {
      for (let i = 0; i < 1_000; i++) add(`${block} ${i}`)
      announcements.flush()
      pending.clear()
      announcements.repeat()
    }
    // Each once, but for those that came last.
    expect(new Set(asked).size).toBe(asked.length)
    expect(asked.length).toBeGreaterThan(45_000)
    hasPeers = true
    announcements.repeat()
    expect(told).toEqual([])
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
