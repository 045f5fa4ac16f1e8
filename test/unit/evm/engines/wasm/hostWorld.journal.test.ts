import { describe, expect, it } from 'vitest'
import type { Log } from '../../../../../src/chain/block/receipt.ts'
import { worldImports } from '../../../../../src/evm/engines/wasm/hostWorld.ts'
import { unwind } from '../../../../../src/evm/engines/wasm/runState.ts'
import { concatBytes, EMPTY_BYTES } from '../../../../../src/primitives/bytes.ts'
import { handMadeRun } from '../../../../support/evm/engines/wasm/hostFixture.ts'
import { CONTRACT, OTHER, RICH, SENDER, stateWith } from '../../../../support/evm/evmFixture.ts'

const TOPICS = [1, 2, 3, 4].map((byte) => new Uint8Array(32).fill(byte))

describe('emitLog', () => {
  it.each([0, 1, 4])('gives world and tracer a log of its own, with %i topics', (count) => {
    const seen: Log[] = []
    const run = handMadeRun(stateWith(), { tracer: { onLog: (log) => void seen.push(log) } })
    const data = Uint8Array.of(9, 8)
    const topics = run.place(concatBytes(...TOPICS))
    worldImports(run).emitLog(run.place(CONTRACT), topics, count, run.place(data), data.length)
    run.memory.bytes.fill(0xee)
    const expected = [{ address: CONTRACT, topics: TOPICS.slice(0, count), data }]
    expect(run.world.logs()).toEqual(expected)
    expect(seen).toEqual(expected)
  })

  it('gives each log its own topics where it follows another one', () => {
    const run = handMadeRun(stateWith())
    const { emitLog } = worldImports(run)
    const [first, second, third, fourth] = TOPICS
    const lists = [[first, second], [first, third], [], [fourth, third, second], [first, third]] as Uint8Array[][]
    const accounts = [CONTRACT, OTHER, OTHER, CONTRACT, CONTRACT]
    const topicsAt = run.room(128)
    const accountAt = run.room(20)
    for (const [index, topics] of lists.entries()) {
      run.memory.write(topicsAt, concatBytes(...topics))
      run.memory.write(accountAt, accounts[index]!)
      emitLog(accountAt, topicsAt, topics.length, 0, 0)
    }
    const expected = lists.map((topics, index) => ({ address: accounts[index], topics, data: EMPTY_BYTES }))
    expect(run.world.logs()).toEqual(expected)
  })

  it('can be empty', () => {
    const run = handMadeRun(stateWith())
    worldImports(run).emitLog(run.place(CONTRACT), 0, 0, 0, 0)
    expect(run.world.logs()).toEqual([{ address: CONTRACT, topics: [], data: EMPTY_BYTES }])
  })
})

describe('blockHash', () => {
  it('is looked up by a number of two halves; zero when it is unknown', () => {
    const asked: number[] = []
    const made = handMadeRun(stateWith())
    const hash = new Uint8Array(32).fill(0x63).with(0, 1)
    const block = {
      ...made.environment.block,
      blockHash: (number: number) => {
        asked.push(number)
        return number === 99 ? hash : undefined
      },
    }
    const run = Object.assign(made, { environment: { ...made.environment, block } })
    const out = run.room(32)
    const lookUp = (low: number, high: number) => {
      worldImports(run).blockHash(low, high, out)
      return run.memory.copy(out, 32).reverse()
    }
    expect(lookUp(99, 0)).toEqual(hash)
    expect(lookUp(-1, 1)).toEqual(new Uint8Array(32))
    expect(asked).toEqual([99, 2 ** 33 - 1])
  })
})

describe('checkpoints', () => {
  it('nest, and are all gone when a run breaks off', () => {
    const run = handMadeRun(stateWith())
    const { checkpoint, commit, revert } = worldImports(run)
    const pay = (amount: bigint) => run.world.subBalance(SENDER, amount)
    checkpoint(1)
    pay(1n)
    checkpoint(2)
    pay(2n)
    commit()
    pay(4n)
    revert()
    expect(run.world.getBalance(SENDER)).toBe(RICH - 1n)
    checkpoint(3)
    run.world.addBalance(OTHER, 8n)
    expect(run.openCheckpoints).toBe(4)
    unwind(run)
    expect([run.openCheckpoints, run.world.getBalance(SENDER), run.world.getBalance(OTHER)]).toEqual([0, RICH, 0n])
    // would throw if one were open
    run.world.endTransaction({ clearEmpty: true })
  })
})
