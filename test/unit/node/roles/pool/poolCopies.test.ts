import { MessageChannel } from 'node:worker_threads'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { TransactionPool } from '../../../../../src/mempool/pool.ts'
import { type ContentRequest, type ContentSize, UNCONFIRMED_BYTES } from '../../../../../src/mempool/types.ts'
import { createPoolCopies, type PoolCopies, readCopies } from '../../../../../src/node/roles/pool/poolCopies.ts'
import { connect, serve } from '../../../../../src/node/wire/port.ts'
import { bytesToHex } from '../../../../../src/primitives/bytes.ts'
import { createPool, makeTransaction, senderOf } from '../../../../support/mempool/poolFixture.ts'

const ANY: ContentSize = { transactions: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
const ALL: ContentRequest = { of: 'all', most: ANY }
/** Of a transaction with so much data the encoding has some 120 bytes more. */
const DATA_BYTES = 100_000

interface Counted {
  parts: number
  turns: number
  /** of transactions between two turns */
  largestPage: number
  /** called at each turn */
  onTurn: () => void
}

/** Counts what is read of the pool, and the turns that other work has in between. */
function countWork(pool: TransactionPool, readBytes?: number) {
  const counted: Counted = { parts: 0, turns: 0, largestPage: 0, onTurn: () => undefined }
  let page = 0
  const watched: Pick<TransactionPool, 'contentSize' | 'contentParts' | 'revision'> = {
    get revision() {
      return pool.revision
    },
    contentSize: (of) => pool.contentSize(of),
    *contentParts(of) {
      for (const part of pool.contentParts(of)) {
        counted.parts++
        page++
        counted.largestPage = Math.max(counted.largestPage, page)
        yield part
      }
    },
  }
  const copies = createPoolCopies({
    pool: watched,
    ...(readBytes === undefined ? {} : { readBytes }),
    pause: async () => {
      counted.turns++
      page = 0
      await new Promise((resolve) => setImmediate(resolve))
      counted.onTurn()
    },
  })
  return { counted, copies }
}

/** One transaction of each sender, from the first nonce on or behind a gap. */
function fill(pool: TransactionPool, { senders, dataBytes = 0, nonce = 0n, each = 1 }: Filling): void {
  for (let i = 0; i < senders; i++) {
    for (let j = 0; j < each; j++) {
      const data = new Uint8Array(dataBytes)
      const gasLimit = dataBytes === 0 ? 21_000n : 16_000_000n
      const value = BigInt(i)
      const admission = pool.add(makeTransaction({ nonce: nonce + BigInt(j), data, gasLimit, value }), senderOf(i))
      if (!admission.accepted) throw new Error(admission.reason)
    }
  }
}

interface Filling {
  readonly senders: number
  readonly dataBytes?: number
  readonly nonce?: bigint
  readonly each?: number
}

const read = ({ takeCopy, releaseCopy }: PoolCopies) => readCopies(takeCopy, releaseCopy)

afterEach(() => {
  vi.useRealTimers()
})

describe('copies of the pool', () => {
  test('what is too much for an answer is refused by its size: nothing is read', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 2, dataBytes: DATA_BYTES, nonce: 7n, each: 4 })
    const { counted, copies } = countWork(pool)
    const content = read(copies.createReader())
    const size = pool.contentSize(senderOf(0))
    expect(size.transactions).toBe(4)
    for (let i = 0; i < 16; i++) {
      const most = { transactions: 1_000, bytes: size.bytes - 1 }
      expect(await content({ of: senderOf(0), most })).toEqual({ refused: 'size', size })
      expect(await content({ of: 'all', most: { ...ANY, transactions: 7 } })).toMatchObject({ refused: 'size' })
    }
    expect(counted).toMatchObject({ parts: 0, turns: 0 })
    expect(copies.bytes).toBe(0)
  })

  test('no copy is longer than half of what may be read at a time', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 6, dataBytes: DATA_BYTES })
    const { counted, copies } = countWork(pool, 1_000_000)
    expect(await read(copies.createReader())(ALL)).toMatchObject({ refused: 'size' })
    expect(counted.parts).toBe(0)
  })

  test('has all transactions with their senders, and those of a sender together', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 700, each: 2 })
    fill(pool, { senders: 3, nonce: 5n, dataBytes: DATA_BYTES, each: 3 })
    const content = read(countWork(pool).copies.createReader())
    const { pending, queued } = pool.content()
    const all = await content(ALL)
    if ('refused' in all) throw new Error('refused')
    expect([...all.pending]).toEqual(pending)
    expect([...all.queued]).toEqual(queued)
    const executable = await content({ of: 'pending', most: ANY })
    if ('refused' in executable) throw new Error('refused')
    expect([...executable.pending]).toEqual(pending)
    expect([...executable.queued]).toEqual([])
    const own = await content({ of: senderOf(1), most: ANY })
    if ('refused' in own) throw new Error('refused')
    expect({ pending: [...own.pending], queued: [...own.queued] }).toEqual(pool.contentFrom(senderOf(1)))
  })

  test('a message of the pool thread never waits for more than a page', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 5_000 })
    const { counted, copies } = countWork(pool)
    await copies.createReader().takeCopy(ALL)
    expect(counted.parts).toBe(5_000)
    expect(counted.largestPage).toBeLessThanOrEqual(256)
    // Where nothing is to be copied, senders count.
    const waiting = createPool()
    fill(waiting.pool, { senders: 5_000, nonce: 3n })
    const idle = countWork(waiting.pool)
    await idle.copies.createReader().takeCopy({ of: 'pending', most: ANY })
    expect(idle.counted.largestPage).toBeLessThanOrEqual(1_024)
    // And of large ones, bytes.
    const heavy = createPool()
    fill(heavy.pool, { senders: 40, dataBytes: DATA_BYTES })
    const large = countWork(heavy.pool)
    await large.copies.createReader().takeCopy(ALL)
    expect(large.counted.largestPage).toBeLessThanOrEqual(2)
  })

  test('callers of the same moment share one copy, in whichever thread they are', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 300 })
    const { counted, copies } = countWork(pool)
    const [first, second] = [copies.createReader(), copies.createReader()]
    const taken = await Promise.all(Array.from({ length: 16 }, (_, i) => (i % 2 ? first : second).takeCopy(ALL)))
    expect(counted.parts).toBe(300)
    // Nothing has changed since: it is shared on.
    taken.push(await first.takeCopy(ALL))
    expect(counted.parts).toBe(300)
    expect(new Set(taken.map((copy) => ('id' in copy ? copy.id : undefined))).size).toBe(1)
    // A caller sees what was admitted before it asked.
    fill(pool, { senders: 1, nonce: 1n })
    const newer = await read(first)(ALL)
    expect('pending' in newer && [...newer.pending]).toHaveLength(301)
    expect(counted.parts).toBe(600)
  })

  test('all that is read has one limit; readers wait for room, and small ones pass', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 4, dataBytes: DATA_BYTES })
    fill(pool, { senders: 1, nonce: 1n })
    const { copies } = countWork(pool, 1_000_000)
    const reader = copies.createReader()
    const of = (index: number): ContentRequest => ({ of: index < 0 ? 'all' : senderOf(index), most: ANY })
    const held = [await reader.takeCopy(of(-1)), await reader.takeCopy(of(-1))]
    expect(copies.bytes).toBeLessThanOrEqual(1_000_000)
    let hasThird = false
    const third = reader.takeCopy(of(-1)).then((copy) => {
      hasThird = true
      return copy
    })
    const small = await reader.takeCopy(of(2))
    expect('id' in small).toBe(true)
    expect(hasThird).toBe(false)
    expect(copies.bytes).toBeLessThanOrEqual(1_000_000)
    for (const copy of [...held, small]) if ('id' in copy) reader.releaseCopy(copy.id)
    expect('id' in (await third)).toBe(true)
    // A thread that has ended holds nothing.
    reader.close()
    expect(copies.bytes).toBe(0)
    expect(await reader.takeCopy(of(2))).toMatchObject({ refused: 'size' })
    expect(copies.bytes).toBe(0)
  })

  test('who waits too long is refused', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 4, dataBytes: DATA_BYTES })
    const { copies } = countWork(pool, 900_000)
    const reader = copies.createReader()
    await Promise.all([reader.takeCopy(ALL), reader.takeCopy(ALL)])
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const late = Array.from({ length: 300 }, () => reader.takeCopy(ALL))
    // Those for whom there is not even a place to wait hear it at once.
    expect((await Promise.all(late.slice(64))).every((copy) => 'refused' in copy && copy.refused === 'busy')).toBe(true)
    vi.advanceTimersByTime(5_000)
    expect(await Promise.all(late)).toEqual(Array(300).fill(expect.objectContaining({ refused: 'busy' })))
  })

  test('a pool that grows while it is copied does not make the copy longer', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 4, dataBytes: DATA_BYTES })
    const { counted, copies } = countWork(pool, 1_000_000)
    let more = 4
    counted.onTurn = () => {
      if (more++ < 12)
        pool.add(
          makeTransaction({ data: new Uint8Array(DATA_BYTES), gasLimit: 16_000_000n, value: BigInt(more) }),
          senderOf(more),
        )
    }
    expect(await copies.createReader().takeCopy(ALL)).toMatchObject({ refused: 'size' })
    expect(counted.parts).toBeLessThan(8)
    expect(copies.bytes).toBe(0)
  })

  test('each sender is shown once, also when its transactions come again meanwhile', async () => {
    const fixture = createPool()
    const { pool } = fixture
    fill(pool, { senders: 1_500 })
    const { counted, copies } = countWork(pool)
    counted.onTurn = () => {
      fixture.publish([[senderOf(0), { nonce: 1n }]])
      pool.add(makeTransaction({ nonce: 1n }), senderOf(0))
      counted.onTurn = () => undefined
    }
    // The first turn is before the copy is begun.
    const first = counted.onTurn
    counted.onTurn = () => {
      counted.onTurn = first
    }
    const all = await read(copies.createReader())(ALL)
    if ('refused' in all) throw new Error('refused')
    const senders = [...all.pending].map(({ sender }) => bytesToHex(sender))
    expect(senders).toHaveLength(1_500)
    expect(new Set(senders).size).toBe(1_500)
  })

  test('between threads', async () => {
    const { pool } = createPool()
    fill(pool, { senders: 3, each: 2 })
    const { copies } = countWork(pool)
    const { port1, port2 } = new MessageChannel()
    const { takeCopy, releaseCopy } = copies.createReader()
    serve<PoolCopies>(port1, { takeCopy, releaseCopy })
    const remote = connect<PoolCopies>(port2)
    const content = readCopies(remote.takeCopy, (id) => void remote.releaseCopy(id))
    const all = await content(ALL)
    if ('refused' in all) throw new Error('refused')
    expect([...all.pending]).toEqual(pool.content().pending)
    all.release()
    await vi.waitFor(() => expect(copies.bytes).toBe(0))
    port1.close()
  })
})

test('unconfirmed transactions are few bytes, however large each is', () => {
  const { pool } = createPool()
  fill(pool, { senders: 30, dataBytes: DATA_BYTES })
  const { count, bytes, transactions } = pool.unconfirmed(100)
  expect(count).toBe(30)
  expect(bytes).toBeGreaterThan(3_000_000)
  expect(transactions.length).toBe(Math.ceil(UNCONFIRMED_BYTES / (DATA_BYTES + 200)))
})
