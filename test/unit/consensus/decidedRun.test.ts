import { describe, expect, it } from 'vitest'
import type { DecidedBlock, FinalizeResult } from '../../../src/consensus/application.ts'
import { runsOf } from '../../../src/consensus/decidedRun.ts'
import { servedChain } from '../../support/sync/servedChain.ts'

const MAX_GAS = 30_000_000
const chain = servedChain({ blocks: 12 })

/** An application that gives what the headers name, with changes at some heights; notes what it executes. */
function application(changes: Readonly<Record<number, Partial<FinalizeResult> | Error>> = {}) {
  const executed: number[] = []
  const finalizeBlock = async ({ block }: DecidedBlock): Promise<FinalizeResult> => {
    const { height } = block.header
    const change = changes[height]
    if (change instanceof Error) throw change
    executed.push(height)
    const { appHash, lastResultsHash } = chain.states[height]!
    return { appHash, lastResultsHash, validatorUpdates: [], maxGas: MAX_GAS, durableHeight: height, ...change }
  }
  return { executed, finalizeBlock }
}

function run(from: number, to: number) {
  return { blocks: chain.decided.slice(from - 1, to), maxGas: MAX_GAS }
}

const OTHER = new Uint8Array(32).fill(9)

describe('a run of decided blocks', () => {
  it('is executed in order, and gives the results of its last block', async () => {
    const { executed, finalizeBlock } = application()
    const result = await runsOf(finalizeBlock)(run(1, 12))
    expect([result.executed, result.last.durableHeight]).toEqual([12, 12])
    expect(result.last.appHash).toEqual(chain.states[12]!.appHash)
    expect(executed).toEqual(Array.from({ length: 12 }, (_, index) => index + 1))
  })

  it.each<[string, Partial<FinalizeResult>]>([
    ['another application hash', { appHash: OTHER }],
    ['another hash of the results', { lastResultsHash: OTHER }],
    ['a change of validators', { validatorUpdates: [{ publicKey: OTHER, power: 1n }] }],
    ['another limit of gas', { maxGas: MAX_GAS + 1 }],
  ])('ends after a block whose execution gives %s than the next header names', async (_, change) => {
    const { executed, finalizeBlock } = application({ 5: change })
    const result = await runsOf(finalizeBlock)(run(1, 12))
    expect(result.executed).toBe(5)
    expect(result.last).toMatchObject(change)
    expect(executed).toEqual([1, 2, 3, 4, 5])
  })

  it('takes a last block with any result', async () => {
    const { finalizeBlock } = application({ 3: { appHash: OTHER } })
    expect(await runsOf(finalizeBlock)(run(1, 3))).toMatchObject({ executed: 3, last: { appHash: OTHER } })
  })

  it('ends where it is told to, after one block at least', async () => {
    const { finalizeBlock } = application()
    let left = 3
    const runs = runsOf(finalizeBlock, async () => left-- > 0)
    expect((await runs(run(1, 12))).executed).toBe(4)
    expect((await runs(run(5, 12))).executed).toBe(1)
  })

  it('first gives what was executed before an error, and throws the error then, without executing more', async () => {
    const failure = new Error('the disk is full')
    const { executed, finalizeBlock } = application({ 4: failure })
    const runs = runsOf(finalizeBlock)
    expect(await runs(run(1, 12))).toMatchObject({ executed: 3, last: { durableHeight: 3 } })
    await expect(runs(run(4, 12))).rejects.toBe(failure)
    await expect(runs(run(5, 12))).rejects.toBe(failure)
    expect(executed).toEqual([1, 2, 3])
  })

  it('throws the error of its first block', async () => {
    const failure = new Error('the disk is full')
    await expect(runsOf(application({ 1: failure }).finalizeBlock)(run(1, 12))).rejects.toBe(failure)
  })
})
