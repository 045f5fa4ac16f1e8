import { describe, expect, it } from 'vitest'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { createPool, GWEI, makeTransaction, noncesOf, outcomeOf, senderOf } from '../../support/mempool/poolFixture.ts'

/** A transfer with this tip in gwei; `sender` makes it differ from those of other senders. */
function bid(sender: number, nonce: number, tip: number, fields = {}) {
  return makeTransaction({
    nonce: BigInt(nonce),
    value: BigInt(sender),
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: BigInt(tip) * GWEI,
    ...fields,
  })
}

describe('a full pool', () => {
  it('drops the lowest effective tip for a higher one', () => {
    const { pool, dropped } = createPool({ limits: { count: 3 } })
    for (const [sender, tip] of [5, 2, 9].entries()) pool.add(bid(sender, 0, tip), senderOf(sender))
    expect(outcomeOf(pool, bid(3, 0, 2), senderOf(3))).toBe('transaction underpriced')
    expect(outcomeOf(pool, bid(3, 0, 3), senderOf(3))).toBe('accepted')
    expect(dropped).toEqual([{ hash: bytesToHex(bid(1, 0, 2).hash), reason: 'evicted' }])
  })

  it('compares tips at the base fee of the next block', () => {
    const fixture = createPool({ limits: { count: 2 } })
    const { pool, dropped } = fixture
    const capped = bid(0, 0, 9, { maxFeePerGas: 10n * GWEI })
    pool.add(capped, senderOf(0))
    pool.add(bid(1, 0, 5), senderOf(1))
    fixture.publish([], { baseFeePerGas: 8n * GWEI })
    expect(outcomeOf(pool, bid(2, 0, 3), senderOf(2))).toBe('accepted')
    expect(dropped).toEqual([{ hash: bytesToHex(capped.hash), reason: 'evicted' }])
  })

  it('has its order at a new base fee in turns, of a bounded number of senders each', () => {
    const fixture = createPool({ limits: { count: 1_000 } })
    const { pool, dropped } = fixture
    for (let sender = 0; sender < 999; sender++) pool.add(bid(sender, 0, 8), senderOf(sender))
    const capped = bid(999, 0, 20, { maxFeePerGas: 31n * GWEI })
    pool.add(capped, senderOf(999))
    fixture.publish([], { baseFeePerGas: 30n * GWEI })
    let turns = 1
    while (pool.reorder()) turns++
    expect(turns).toBeLessThan(12)
    expect(outcomeOf(pool, bid(1_000, 0, 2), senderOf(1_000))).toBe('accepted')
    expect(dropped).toEqual([{ hash: bytesToHex(capped.hash), reason: 'evicted' }])
  })

  it('drops waiting transactions before executable ones, at any price', () => {
    const { pool } = createPool({ limits: { count: 3 } })
    pool.add(bid(0, 0, 1), senderOf(0))
    pool.add(bid(0, 1, 1), senderOf(0))
    pool.add(bid(1, 7, 50), senderOf(1))
    expect(outcomeOf(pool, bid(2, 0, 1), senderOf(2))).toBe('accepted')
    expect(pool.status()).toEqual({ pending: 3, queued: 0 })
    expect(outcomeOf(pool, bid(3, 1, 90), senderOf(3))).toBe('txpool is full')
  })

  it('takes from those with more than a fair share first, and always their last nonce', () => {
    const { pool } = createPool({ limits: { count: 6, fairShare: 3 } })
    for (const nonce of [0, 1, 2, 3, 4]) pool.add(bid(0, nonce, 20), senderOf(0))
    pool.add(bid(1, 0, 5), senderOf(1))
    expect(outcomeOf(pool, bid(2, 0, 21), senderOf(2))).toBe('accepted')
    expect(noncesOf(pool, senderOf(0)).pending).toEqual([0n, 1n, 2n, 3n])
    expect(outcomeOf(pool, bid(3, 0, 20), senderOf(3))).toBe('accepted')
    expect(outcomeOf(pool, bid(4, 0, 5), senderOf(4))).toBe('transaction underpriced')
    expect(outcomeOf(pool, bid(4, 0, 6), senderOf(4))).toBe('accepted')
    expect(pool.pendingNonce(senderOf(1))).toBeUndefined()
  })

  it('does not let a sender push out its own earlier nonce', () => {
    const { pool } = createPool({ limits: { count: 2 } })
    pool.add(bid(0, 0, 1), senderOf(0))
    pool.add(bid(1, 0, 9), senderOf(1))
    expect(outcomeOf(pool, bid(0, 1, 50), senderOf(0))).toBe('transaction underpriced')
    expect(noncesOf(pool, senderOf(0)).pending).toEqual([0n])
  })

  it('makes room for a large transaction from several small ones, or touches none', () => {
    const { pool, dropped } = createPool({ limits: { bytes: 24_000 } })
    const large = { data: new Uint8Array(6_000).fill(1), gasLimit: 300_000n }
    for (const sender of [0, 1, 2, 3, 4]) pool.add(bid(sender, 0, 2), senderOf(sender))
    for (const sender of [5, 6, 7, 8]) pool.add(bid(sender, 0, 30), senderOf(sender))
    pool.add(bid(9, 0, 30, { data: new Uint8Array(3_000), gasLimit: 100_000n }), senderOf(9))
    expect(dropped).toEqual([])
    expect(
      outcomeOf(
        pool,
        bid(10, 0, 3, { ...large, data: new Uint8Array(14_000).fill(1), gasLimit: 700_000n }),
        senderOf(10),
      ),
    ).toBe('transaction underpriced')
    expect(dropped).toEqual([])
    expect(pool.status().pending).toBe(10)
    expect(outcomeOf(pool, bid(10, 0, 3, large), senderOf(10))).toBe('accepted')
    expect(dropped.length).toBeGreaterThan(1)
    expect(dropped.every(({ reason }) => reason === 'evicted')).toBe(true)
    expect(pool.bytes).toBeLessThanOrEqual(24_000)
  })
})

describe('a share of a full pool', () => {
  it('is what the sender has paid for, at least 4 and at most the fair share; more gives way at any price', () => {
    const fixture = createPool({ limits: { count: 32, fairShare: 16 } })
    const { pool } = fixture
    const nonces = [0, 9, 500]
    for (const [sender, nonce] of nonces.entries()) fixture.setAccount(senderOf(sender), { nonce: BigInt(nonce) })
    const held = () => nonces.map((_, sender) => noncesOf(pool, senderOf(sender)).pending.length)
    for (const [sender, nonce] of nonces.entries()) {
      for (let more = 0; more < 10 + (sender % 2); more++) pool.add(bid(sender, nonce + more, 50), senderOf(sender))
    }
    pool.add(bid(3, 0, 50), senderOf(3))
    expect(held()).toEqual([10, 11, 10])
    // Beyond the shares of 4, 9 and 16: 6 and 2.
    for (let sender = 10; sender < 18; sender++) {
      expect(outcomeOf(pool, bid(sender, 0, 1), senderOf(sender))).toBe('accepted')
    }
    expect(held()).toEqual([4, 9, 10])
    expect(outcomeOf(pool, bid(18, 0, 1), senderOf(18))).toBe('transaction underpriced')
    expect(outcomeOf(pool, bid(18, 0, 2), senderOf(18))).toBe('accepted')
  })

  it('is no claim for one with more itself', () => {
    const { pool } = createPool({ limits: { count: 12 } })
    for (const sender of [0, 1]) for (let n = 0; n < 6; n++) pool.add(bid(sender, n, 5), senderOf(sender))
    expect(outcomeOf(pool, bid(0, 6, 5), senderOf(0))).toBe('transaction underpriced')
    expect(outcomeOf(pool, bid(2, 0, 1), senderOf(2))).toBe('accepted')
  })
})

describe('a flood', () => {
  it('leaves the pool within its bytes and the honest transaction in it', () => {
    const bytes = 4 * 1_024 * 1_024
    const { pool } = createPool({ limits: { bytes } })
    const honest = bid(999_999, 0, 3)
    pool.add(honest, senderOf(999_999))
    let highest = 0
    for (let i = 0; i < 20_000; i++) {
      const sender = i % 40
      const kind = i % 4
      const nonce = kind === 0 ? 5_000 + i : Math.floor(i / 40)
      const data = kind === 3 ? new Uint8Array(2_000) : new Uint8Array(1)
      pool.add(bid(sender, nonce, 2, { data, gasLimit: 200_000n }), senderOf(sender))
      highest = Math.max(highest, pool.bytes)
    }
    expect(highest).toBeGreaterThan(bytes * 0.95)
    expect(highest).toBeLessThanOrEqual(bytes)
    expect(pool.get(honest.hash)).toBeDefined()
  })
})
