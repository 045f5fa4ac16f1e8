import { describe, expect, it } from 'vitest'
import { decodeTransaction } from '../../../src/chain/block/transaction.ts'
import { type PoolEntry, toPooledTransaction } from '../../../src/mempool/poolEntry.ts'
import { createPool, GWEI, makeNative, makeTransaction, noncesOf, senderOf } from '../../support/mempool/poolFixture.ts'

const ROOM = { baseFeePerGas: GWEI, gasLimit: 30_000_000n, nativeGasLimit: 7_500_000n, maxBytes: 1_000_000 }

function bid(sender: number, nonce: number, tip: number, fields = {}) {
  return makeTransaction({
    nonce: BigInt(nonce),
    value: BigInt(sender),
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: BigInt(tip) * GWEI,
    ...fields,
  })
}

/** `sender/nonce` of each; the value tells the sender. */
function names(list: Iterable<PoolEntry>): string[] {
  return Array.from(list, (entry) => {
    const { value, nonce } = decodeTransaction(toPooledTransaction(entry).raw)
    return `${value}/${nonce}`
  })
}

describe('selection', () => {
  it('takes the best tip first, nonces in order, equals by arrival', () => {
    const { pool } = createPool()
    pool.add(bid(0, 0, 2), senderOf(0))
    pool.add(bid(0, 1, 50), senderOf(0))
    pool.add(bid(1, 0, 5), senderOf(1))
    pool.add(bid(2, 0, 5), senderOf(2))
    pool.add(bid(3, 1, 99), senderOf(3))
    expect(names(pool.candidates(ROOM))).toEqual(['1/0', '2/0', '0/0', '0/1'])
  })

  it('leaves out what cannot pay the base fee, with what follows it', () => {
    const { pool } = createPool()
    pool.add(bid(0, 0, 1, { maxFeePerGas: 4n * GWEI }), senderOf(0))
    pool.add(bid(0, 1, 50), senderOf(0))
    pool.add(bid(1, 0, 9, { maxFeePerGas: 11n * GWEI }), senderOf(1))
    pool.add(bid(2, 0, 2), senderOf(2))
    expect(names(pool.candidates({ ...ROOM, baseFeePerGas: 10n * GWEI }))).toEqual(['2/0', '1/0'])
  })

  it('keeps to the bytes and the gas that is used at least', () => {
    const { pool } = createPool()
    pool.add(bid(0, 0, 9, { gasLimit: 900_000n }), senderOf(0))
    pool.add(bid(1, 0, 8, { gasLimit: 1_100_000n }), senderOf(1))
    pool.add(bid(2, 0, 7, { data: new Uint8Array(2_000), gasLimit: 100_000n }), senderOf(2))
    for (const sender of [3, 4, 5, 6, 7]) pool.add(bid(sender, 0, 1), senderOf(sender))
    expect(names(pool.candidates({ ...ROOM, gasLimit: 1_000_000n, maxBytes: 700 }))).toEqual([
      '0/0',
      '3/0',
      '4/0',
      '5/0',
      '6/0',
      '7/0',
    ])
    expect(names(pool.candidates({ ...ROOM, gasLimit: 83_999n }))).toEqual(['3/0', '4/0', '5/0'])
  })

  it('goes on with what the pool then holds', () => {
    const fixture = createPool()
    const { pool } = fixture
    for (const sender of [0, 1, 2]) pool.add(bid(sender, 0, 9 - sender), senderOf(sender))
    pool.add(bid(0, 1, 9), senderOf(0))
    const selection = pool.candidates(ROOM)
    expect(names([selection.next().value!])).toEqual(['0/0'])
    pool.add(bid(2, 0, 20, { value: 22n, maxFeePerGas: 200n * GWEI }), senderOf(2))
    fixture.publish([[senderOf(1), { nonce: 1n }]])
    expect(names(selection)).toEqual(['22/0', '0/1'])
  })

  it('looks at as many senders as it takes, whatever the number of senders and the base fee', () => {
    const fixture = createPool()
    const { pool } = fixture
    for (let sender = 0; sender < 3_000; sender++) {
      // Every other one loses its rank at a base fee of 50 gwei.
      const cap = sender % 2 === 0 ? 1_000n : 51n
      const fields = { maxFeePerGas: cap * GWEI, maxPriorityFeePerGas: BigInt(1 + (sender % 40)) * GWEI }
      pool.add(makeTransaction({ value: BigInt(sender), ...fields }), senderOf(sender))
    }
    const tipAt = (entry: PoolEntry, baseFee: bigint) => {
      const room = entry.maxFeePerGas - baseFee
      return room < entry.maxPriorityFeePerGas ? room : entry.maxPriorityFeePerGas
    }
    for (const baseFee of [GWEI, 50n * GWEI, 52n * GWEI, 3n * GWEI, 50n * GWEI]) {
      fixture.publish([], { baseFeePerGas: baseFee })
      let turns = 1
      while (pool.reorder()) turns++
      expect(turns).toBeLessThan(60)
      const chosen = [...pool.candidates({ ...ROOM, baseFeePerGas: baseFee, gasLimit: 100n * 21_000n })]
      const tips = chosen.map((entry) => tipAt(entry, baseFee))
      expect(tips.length).toBe(100)
      expect(tips).toEqual([...tips].sort((a, b) => (a > b ? -1 : a < b ? 1 : 0)))
      expect(tips[0]).toBe((baseFee < 12n * GWEI ? 40n : 39n) * GWEI)
    }
  })

  it('corrects a bounded number of ranks at once; the others before the next one', () => {
    const { pool } = createPool()
    for (let sender = 0; sender < 1_500; sender++) {
      pool.add(bid(sender, 0, 20, { maxFeePerGas: 60n * GWEI }), senderOf(sender))
    }
    pool.add(bid(5_001, 0, 11), senderOf(5_001))
    const request = { ...ROOM, baseFeePerGas: 50n * GWEI, gasLimit: 21_000n }
    // One that has a wrong rank, rather than none.
    const first = names(pool.candidates(request))
    expect(first).toHaveLength(1)
    expect(first).not.toEqual(['5001/0'])
    expect(names(pool.candidates(request))).toEqual(['5001/0'])
  })

  it('passes over a bounded number of transactions that do not fit', () => {
    const { pool } = createPool()
    const large = { data: new Uint8Array(100), gasLimit: 100_000n }
    for (let sender = 0; sender < 1_100; sender++) pool.add(bid(sender, 0, 20, large), senderOf(sender))
    pool.add(bid(5_001, 0, 1), senderOf(5_001))
    expect(names(pool.candidates({ ...ROOM, gasLimit: 21_000n }))).toEqual([])
  })

  it('lets small transactions pass, however many large ones do not fit', () => {
    const { pool } = createPool()
    const large = { data: new Uint8Array(60_000), gasLimit: 700_000n }
    for (let sender = 0; sender < 1_200; sender++) pool.add(bid(sender, 0, 20, large), senderOf(sender))
    for (let sender = 2_000; sender < 3_200; sender++) {
      const minimumGas = { intrinsicGas: 5_000_000n, gasLimit: 5_100_000n }
      pool.addNative(makeNative({ from: senderOf(sender), gasPrice: 20n * GWEI, ...minimumGas }))
    }
    pool.add(bid(5_001, 0, 1), senderOf(5_001))
    pool.addNative(makeNative({ from: senderOf(5_002), gasPrice: 3n * GWEI }))
    const chosen = [...pool.candidates({ ...ROOM, maxBytes: 150_000 })].map(({ sender, kind }) => [kind, sender])
    expect(chosen.map(([kind]) => kind)).toEqual(['evm', 'evm', 'native', 'native', 'evm'])
    expect(chosen.slice(-2)).toEqual([
      ['native', senderOf(5_002)],
      ['evm', senderOf(5_001)],
    ])
  })

  it('leaves out what was postponed, for a growing number of blocks', () => {
    const fixture = createPool()
    const { pool } = fixture
    const slow = bid(0, 0, 9)
    pool.add(slow, senderOf(0))
    pool.add(bid(0, 1, 9), senderOf(0))
    pool.add(bid(1, 0, 5), senderOf(1))
    const offered: number[] = []
    for (let block = 0; block < 16; block++) {
      const chosen = names(pool.candidates(ROOM))
      expect(chosen).toContain('1/0')
      if (chosen.includes('0/0')) {
        offered.push(block)
        pool.postpone([slow.hash])
        expect(names(pool.candidates(ROOM))).toEqual(['1/0'])
      }
      fixture.publish([])
    }
    expect(offered).toEqual([0, 1, 3, 7, 15])
    expect(noncesOf(pool, senderOf(0)).pending).toEqual([0n, 1n])
    pool.add(bid(0, 0, 20, { maxFeePerGas: 200n * GWEI }), senderOf(0))
    expect(names(pool.candidates(ROOM))).toEqual(['0/0', '0/1', '1/0'])
  })
})
