import { describe, expect, it } from 'vitest'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import {
  COIN,
  createPool,
  GWEI,
  makeTransaction,
  noncesOf,
  outcomeOf,
  senderOf,
} from '../../support/mempool/poolFixture.ts'

const SENDER = senderOf(0)
const nonce = (value: number, fields = {}) => makeTransaction({ nonce: BigInt(value), ...fields })
const hashOf = (transaction: { readonly hash: Uint8Array }) => bytesToHex(transaction.hash)

describe('nonce gaps', () => {
  it('keep later transactions waiting until they are filled', () => {
    const { pool, admitted } = createPool()
    const [first, second, third, fourth] = [nonce(0), nonce(1), nonce(2), nonce(3)]
    pool.add(third!, SENDER)
    pool.add(first!, SENDER)
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n], queued: [2n] })
    expect(pool.pendingNonce(SENDER)).toBe(1n)
    pool.add(second!, SENDER)
    pool.add(fourth!, SENDER)
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n, 1n, 2n, 3n], queued: [] })
    expect(pool.pendingNonce(SENDER)).toBe(4n)
    expect(pool.status()).toEqual({ pending: 4, queued: 0 })
    expect(admitted).toEqual([first, second, third, fourth].map((t) => hashOf(t!)))
  })

  it('leave the pending nonce alone', () => {
    const fixture = createPool()
    fixture.setAccount(SENDER, { nonce: 5n })
    expect(fixture.pool.pendingNonce(SENDER)).toBeUndefined()
    fixture.pool.add(nonce(9), SENDER)
    expect(fixture.pool.pendingNonce(SENDER)).toBe(5n)
    expect(fixture.pool.status()).toEqual({ pending: 0, queued: 1 })
  })
})

describe('replacement', () => {
  it('takes the old transaction out and announces the new one', () => {
    const { pool, admitted, dropped } = createPool()
    const old = nonce(0)
    const next = nonce(0, { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 2n * GWEI })
    pool.add(old, SENDER)
    pool.add(nonce(1), SENDER)
    expect(outcomeOf(pool, next, SENDER)).toBe('accepted')
    expect(pool.get(old.hash)).toBeUndefined()
    expect(pool.get(next.hash)).toEqual({ raw: next.raw, hash: next.hash, sender: SENDER })
    expect(pool.status()).toEqual({ pending: 2, queued: 0 })
    expect(dropped).toEqual([{ hash: hashOf(old), reason: 'replaced' }])
    expect(admitted).toEqual([hashOf(old), hashOf(nonce(1)), hashOf(next)])
  })
})

describe('a vesting account', () => {
  it('has its waiting transactions executed when its coins become free, which no block tells', () => {
    const fixture = createPool()
    const { pool } = fixture
    fixture.setAccount(SENDER, { balance: 2n * COIN, isVesting: true })
    expect(outcomeOf(pool, nonce(1, { value: COIN }), SENDER)).toBe('accepted')
    expect(outcomeOf(pool, nonce(0, { value: COIN }), SENDER)).toBe('accepted')
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n], queued: [1n] })
    fixture.publish([])
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n], queued: [1n] })
    fixture.setAccount(SENDER, { balance: 3n * COIN })
    fixture.publish([])
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n, 1n], queued: [] })
  })
})

describe('many vesting accounts', () => {
  it('have their turns in different blocks', () => {
    const fixture = createPool()
    const { pool } = fixture
    const senders = Array.from({ length: 600 }, (_, index) => senderOf(index))
    for (const [index, sender] of senders.entries()) {
      fixture.setAccount(sender, { balance: 2n * COIN, isVesting: true })
      for (const value of [1, 0]) pool.add(nonce(value, { value: COIN + BigInt(index) }), sender)
    }
    for (const sender of senders) fixture.setAccount(sender, { balance: 3n * COIN })
    const pending = [1, 2, 3, 4].map(() => {
      fixture.publish([])
      return pool.status().pending
    })
    expect(pending).toEqual([856, 1_112, 1_200, 1_200])
  })
})

describe('a published block', () => {
  it('takes out what it used up', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    const [first, second, third] = [nonce(0), nonce(1), nonce(2)]
    for (const transaction of [first, second, third]) pool.add(transaction!, SENDER)
    fixture.publish([[SENDER, { nonce: 2n }]], { included: [first!.hash] })
    expect(dropped).toEqual([
      { hash: hashOf(first!), reason: 'included' },
      { hash: hashOf(second!), reason: 'stale' },
    ])
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [2n], queued: [] })
    fixture.publish([[SENDER, { nonce: 3n }]], { included: [third!.hash] })
    expect(pool.pendingNonce(SENDER)).toBeUndefined()
    expect(pool.status()).toEqual({ pending: 0, queued: 0 })
    expect(pool.bytes).toBe(0)
  })

  it('drops at once what its sender no longer can pay, who may have one until it has paid for another', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    for (const value of [0, 1, 2, 4]) pool.add(nonce(value, { value: COIN }), SENDER)
    fixture.publish([[SENDER, { balance: 2n * COIN }]])
    expect(dropped.map(({ reason }) => reason)).toEqual(['unpaid', 'unpaid', 'unpaid'])
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n], queued: [] })
    fixture.publish([[SENDER, { balance: 100n * COIN }]])
    const limit = 'in-flight transaction limit reached for accounts that could not pay'
    expect(outcomeOf(pool, nonce(1, { value: COIN }), SENDER)).toBe(limit)
    fixture.publish([[SENDER, { balance: 0n }]])
    expect(pool.pendingNonce(SENDER)).toBeUndefined()
    fixture.publish([[SENDER, { balance: 100n * COIN }]])
    expect(outcomeOf(pool, nonce(1), SENDER)).toBe('gapped-nonce tx from accounts that could not pay')
    expect(outcomeOf(pool, nonce(0), SENDER)).toBe('accepted')
    expect(outcomeOf(pool, nonce(1), SENDER)).toBe(limit)
    fixture.publish([[SENDER, { nonce: 1n }]])
    for (const value of [1, 2, 3]) expect(outcomeOf(pool, nonce(value), SENDER)).toBe('accepted')
  })

  it('that an own transaction emptied does the same; one that it paid as the pool knew drops nothing', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    fixture.setAccount(SENDER, { balance: 4n * COIN })
    for (const value of [0, 1, 2]) pool.add(nonce(value, { value: COIN }), SENDER)
    fixture.publish([[SENDER, { nonce: 1n, balance: 3n * COIN - COIN / 2n }]])
    expect(dropped.map(({ reason }) => reason)).toEqual(['stale'])
    fixture.publish([[SENDER, { nonce: 2n, balance: COIN / 2n }]])
    expect(dropped.map(({ reason }) => reason)).toEqual(['stale', 'stale', 'unpaid'])
  })

  it('drops what a lower gas limit shuts out', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    pool.add(nonce(0, { gasLimit: 2_000_000n }), SENDER)
    pool.add(nonce(1), SENDER)
    fixture.publish([], { gasLimit: 1_000_000n })
    expect(dropped.map(({ reason }) => reason)).toEqual(['gasLimit'])
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [], queued: [1n] })
  })
})

describe('limits of one sender', () => {
  it('refuse further nonces, but let gaps be filled at the cost of the last nonce', () => {
    const { pool, dropped } = createPool({ limits: { perSender: 3 } })
    for (const value of [1, 2, 3]) expect(outcomeOf(pool, nonce(value), SENDER)).toBe('accepted')
    expect(outcomeOf(pool, nonce(4), SENDER)).toBe('account limit exceeded: pooled 3 txs')
    expect(outcomeOf(pool, nonce(0), SENDER)).toBe('accepted')
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n, 1n, 2n], queued: [] })
    expect(dropped).toEqual([{ hash: hashOf(nonce(3)), reason: 'evicted' }])
    expect(outcomeOf(pool, nonce(1, { maxFeePerGas: 20n * GWEI, maxPriorityFeePerGas: 2n * GWEI }), SENDER)).toBe(
      'accepted',
    )
  })
})

describe('waiting transactions', () => {
  const HOUR = 3_600_000

  it('expire three hours after the last progress of their sender', () => {
    const fixture = createPool()
    const { pool, dropped } = fixture
    pool.add(nonce(2), SENDER)
    pool.add(nonce(2, { value: 1n }), senderOf(1))
    fixture.clock.nowMs = 2 * HOUR
    pool.add(nonce(0), SENDER)
    fixture.clock.nowMs = 3 * HOUR + 1
    fixture.publish([])
    expect(dropped).toEqual([{ hash: hashOf(nonce(2, { value: 1n })), reason: 'expired' }])
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n], queued: [2n] })
    fixture.clock.nowMs = 5 * HOUR + 60_001
    fixture.publish([])
    expect(noncesOf(pool, SENDER)).toEqual({ pending: [0n], queued: [] })
    expect(pool.status()).toEqual({ pending: 1, queued: 0 })
  })

  it('expire in turns after several blocks, where there are many', () => {
    const fixture = createPool()
    const { pool, clock } = fixture
    for (let sender = 0; sender < 1_500; sender++) pool.add(nonce(5, { value: BigInt(sender) }), senderOf(sender))
    clock.nowMs = 3 * 60 * 60 * 1_000 + 60_000
    const left = [1, 2, 3].map(() => {
      fixture.publish([])
      return pool.status().queued
    })
    expect(left).toEqual([476, 0, 0])
  })
})
