import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { feeHistory } from '../../../../src/rpc/eth/feeHistory.ts'
import {
  baseFee,
  blobBaseFee,
  gasPrice,
  IDLE_TIP,
  maxPriorityFeePerGas,
  suggestGasPrice,
} from '../../../../src/rpc/eth/fees.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'

const alice = testAccount('alice')
const GWEI = 1_000_000_000n
const MARKET = { elasticity: 2n, changeDenominator: 8n, minimumBaseFee: GWEI, initialBaseFee: 8n * GWEI }

/** Transfers with these tips. */
const transfers = (tips: readonly bigint[], firstNonce = 0n) =>
  tips.map((maxPriorityFeePerGas, index) =>
    alice.sign({
      nonce: firstNonce + BigInt(index),
      to: alice.address,
      gasLimit: 21_000n,
      maxFeePerGas: 1_000n * GWEI,
      maxPriorityFeePerGas,
    }),
  )

async function nodeWith(blockGasLimit: bigint, blocks: readonly (readonly bigint[])[]): Promise<MemoryNode> {
  const node = await createMemoryNode({
    accounts: [{ address: alice.address, balance: 10n ** 24n }],
    chain: { feeMarket: MARKET, blockGasLimit },
  })
  let nonce = 0n
  for (const tips of blocks) {
    await node.produce(transfers(tips, nonce))
    nonce += BigInt(tips.length)
  }
  return node
}

describe('suggestions', () => {
  test('a constant tip on a quiet chain', async () => {
    const node = await nodeWith(30_000_000n, [[900n * GWEI], [], []])
    expect(await invoke(maxPriorityFeePerGas, node.context())).toBe(`0x${IDLE_TIP.toString(16)}`)
    const next = BigInt((await invoke(baseFee, node.context())) as string)
    expect(next).toBeLessThan(8n * GWEI)
    expect(BigInt((await invoke(gasPrice, node.context())) as string)).toBe((next * 11n) / 10n + IDLE_TIP)
    expect(await invoke(blobBaseFee, node.context())).toBe('0x1')
  })

  test('a percentile of the lowest tips when blocks are full', async () => {
    const tips = [1n, 2n, 3n, 400n, 500n].map((tip) => tip * GWEI)
    const node = await nodeWith(105_000n, Array(6).fill(tips))
    expect(await invoke(maxPriorityFeePerGas, node.context())).toBe(`0x${(2n * GWEI).toString(16)}`)
  })

  test('the gas price is between the least that gets in and 1.25 times the base fee', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: GWEI, max: 10n ** 14n }), fc.bigInt({ min: 0n, max: 10n ** 13n }), (base, tip) => {
        const price = suggestGasPrice(base, tip)
        expect(price >= base + tip).toBe(true)
        expect(price <= (base * 5n) / 4n || price === base + tip).toBe(true)
      }),
    )
  })
})

describe('eth_feeHistory', () => {
  let node: MemoryNode
  beforeAll(async () => {
    node = await nodeWith(210_000n, [[1n * GWEI, 3n * GWEI, 2n * GWEI], [], Array(10).fill(GWEI)])
  })

  test('ratios, fees of n + 1 blocks and rewards, with zeros for an empty block', async () => {
    const fees = node.blocks.slice(1).map((block) => `0x${block.header.baseFeePerGas!.toString(16)}`)
    const next = await invoke(baseFee, node.context())
    const rewards = [1n, 2n, 3n].map((tip) => `0x${(tip * GWEI).toString(16)}`)
    expect(await invoke(feeHistory, node.context(), '0x3', 'latest', [0, 50, 100])).toEqual({
      oldestBlock: '0x1',
      reward: [rewards, ['0x0', '0x0', '0x0'], [rewards[0], rewards[0], rewards[0]]],
      baseFeePerGas: [...fees, next],
      gasUsedRatio: [0.3, 0, 1],
      baseFeePerBlobGas: ['0x1', '0x1', '0x1', '0x1'],
      blobGasUsedRatio: [0, 0, 0],
    })
  })

  test.each([['0x2'], ['2'], [2]])('count %j', async (count) => {
    const history = await invoke(feeHistory, node.context(), count, '0x1')
    expect(history).toMatchObject({ oldestBlock: '0x0', gasUsedRatio: [0, 0.3] })
    expect(history).not.toHaveProperty('reward')
  })

  test('more blocks than there are, or none', async () => {
    expect(await invoke(feeHistory, node.context(), '0x400', 'latest', null)).toMatchObject({ oldestBlock: '0x0' })
    expect(await invoke(feeHistory, node.context(), 0, 'latest')).toEqual({ oldestBlock: '0x0', gasUsedRatio: null })
  })

  test.each<[unknown[], string]>([
    [['0x1', '0x4'], 'request beyond head block: requested 4, head 3'],
    [['0x1', 'latest', [50, 50]], 'invalid reward percentile: #0:50 >= #1:50'],
    [['0x1', 'latest', [101]], 'invalid reward percentile: 101'],
    [
      ['0x1', 'latest', Array.from({ length: 101 }, (_, i) => i / 2)],
      'invalid reward percentile: over the query limit 100',
    ],
  ])('%# is refused', async (params, message) => {
    expect(await invokeError(feeHistory, node.context(), ...params)).toEqual({ code: -32000, message })
  })

  test('lets others have a turn between so many headers as one part of a segment has', async () => {
    const { view, execution } = node.context()
    const turns: number[] = [0]
    const header = (height: number) => {
      turns[turns.length - 1]!++
      return { ...view.chain.header(1)!, number: height }
    }
    const yieldUntil = () => async () => void turns.push(0)
    const context = node.context({
      view: { ...view, chain: { ...view.chain, headHeight: 5_000, header } },
      execution: { ...execution!, yieldUntil },
    })
    const { baseFeePerGas } = (await invoke(feeHistory, context, 1_024, '0x1000')) as { baseFeePerGas: string[] }
    expect(baseFeePerGas).toHaveLength(1_025)
    expect(Math.max(...turns)).toBeLessThanOrEqual(65)
  })
})
