import { describe, expect, it } from 'vitest'
import { decodeTransaction } from '../../../src/chain/transaction.ts'
import { type PoolEntry, toPooledTransaction } from '../../../src/mempool/poolEntry.ts'
import { createPool, GWEI, makeTransaction, senderOf } from './poolFixture.ts'

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
    expect(names(selection)).toEqual(['0/1', '22/0'])
  })
})
