import { describe, expect, it } from 'vitest'
import { packSenders, packTransactions } from '../../../../../src/mempool/packedMessages.ts'
import { createCandidateSource } from '../../../../../src/node/roles/executor/candidateSource.ts'

const REQUEST = {
  height: 1,
  isFirst: true,
  baseFeePerGas: 1n,
  gasLimit: 1n,
  nativeGasLimit: 1n,
  maxBytes: 1_000,
}
const HASHES = [1, 2].map((n) => new Uint8Array(32).fill(n))
const SENDER = new Uint8Array(20).fill(7)

/** A pool that answers when the test says so, and a clock that only the test moves. */
function setUp(isEmpty = false) {
  const candidates = Promise.withResolvers<Uint8Array>()
  const senders = Promise.withResolvers<Uint8Array>()
  const timers: { ms: number; work: () => void; isCancelled: boolean }[] = []
  const late: string[] = []
  const told: [string, number][] = []
  let asked = 0
  const source = createCandidateSource({
    pool: {
      candidates: () => {
        asked++
        return candidates.promise
      },
      senders: () => senders.promise,
    },
    isEmpty: () => isEmpty,
    notify: (method, hashes) => void told.push([method, hashes.length]),
    after: (ms, work) => {
      const timer = { ms, work, isCancelled: false }
      timers.push(timer)
      return () => {
        timer.isCancelled = true
      }
    },
    onLate: (what) => void late.push(what),
  })
  return { source, candidates, senders, timers, late, told, asked: () => asked }
}

describe('what the executor asks the pool', () => {
  it('is answered with the transactions and senders that the pool has', async () => {
    const { source, candidates, senders, timers, late } = setUp()
    const [transactions, known] = [source.candidates(REQUEST), source.senders(HASHES)]
    candidates.resolve(packTransactions([{ raw: Uint8Array.of(1, 2), hash: HASHES[0]!, sender: SENDER }]))
    const hashes = new Uint8Array(64)
    senders.resolve(packSenders(hashes, () => SENDER))
    expect((await transactions).map(({ raw }) => [...raw])).toEqual([[1, 2]])
    expect(await known).toEqual([SENDER, SENDER])
    await expect.poll(() => timers.every(({ isCancelled }) => isCancelled)).toBe(true)
    expect(timers.map(({ ms }) => ms)).toEqual([100, 60])
    expect(late).toEqual([])
  })

  it('has an answer at the deadline: no transactions, no sender known', async () => {
    const { source, candidates, senders, timers, late } = setUp()
    const [transactions, known] = [source.candidates(REQUEST), source.senders(HASHES)]
    for (const { work } of timers) work()
    expect(await transactions).toEqual([])
    expect(await known).toEqual([undefined, undefined])
    expect(late).toEqual(['candidates', 'senders'])
    candidates.resolve(new Uint8Array())
    senders.resolve(new Uint8Array())
  })

  it('is not asked of an empty pool', async () => {
    const { source, timers, asked } = setUp(true)
    expect(await source.candidates(REQUEST)).toEqual([])
    expect([asked(), timers.length]).toEqual([0, 0])
  })

  it('are told without an answer: transactions to drop and to postpone', () => {
    const { source, told } = setUp()
    source.unexecutable?.(HASHES)
    source.postpone(HASHES.slice(1))
    expect(told).toEqual([
      ['dropUnexecutable', 64],
      ['postpone', 32],
    ])
  })
})
