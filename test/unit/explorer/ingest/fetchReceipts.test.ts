import { describe, expect, it } from 'vitest'
import { fetchReceipts } from '../../../../explorer/ingest/fetchReceipts.ts'
import type { EthereumTransaction } from '../../../../explorer/node/answers.ts'
import { AnswerTooLong, type NodeClient, type NodeError, NodeRefusal } from '../../../../explorer/node/nodeClient.ts'

/** Each has two transactions, whose hashes say where they are. */
const BLOCKS = [1, 2, 3].map((height) => ({
  height,
  ethereum: { transactions: [0, 1].map((index) => ({ hash: `0x${height}${index}` }) as EthereumTransaction) },
}))
const receiptOf = (hash: string) => ({ transactionHash: hash })

/** A node that refuses the receipts of some blocks, and knows none of others. */
function nodeWith(refusal: () => NodeError, { refused = [], unknown = [] }: Partial<Record<string, string[]>> = {}) {
  const asked: string[] = []
  const node: Pick<NodeClient, 'ethereum'> = {
    ethereum: async (calls) => {
      asked.push(calls.map(({ method, params }) => `${method} ${(params as string[])[0]}`).join())
      return calls.map(({ method, params }) => {
        const [what = ''] = params as string[]
        if (method === 'eth_getTransactionReceipt') return unknown.includes(what) ? null : receiptOf(what)
        if (refused.includes(what)) throw refusal()
        return unknown.includes(what) ? null : [receiptOf(`${what}0`), receiptOf(`${what}1`)]
      })
    },
  }
  return { node, asked }
}

const tooLarge = () => new NodeRefusal('eth_getBlockReceipts', -32_003, 'response too large')
const ALL = new Map([1, 2, 3].map((height) => [height, [receiptOf(`0x${height}0`), receiptOf(`0x${height}1`)]]))

describe('receipts', () => {
  it('of several blocks take one request', async () => {
    const { node, asked } = nodeWith(tooLarge)
    expect(await fetchReceipts(node, BLOCKS)).toEqual(ALL)
    expect(asked).toHaveLength(1)
  })

  it.each([
    ['the node refuses', tooLarge],
    ['nobody would read', () => new AnswerTooLong('too long')],
  ])('of a block that %s at once are asked for one by one', async (_, refusal) => {
    const { node, asked } = nodeWith(refusal, { refused: ['0x2'] })
    expect(await fetchReceipts(node, BLOCKS)).toEqual(ALL)
    expect(asked.slice(1)).toEqual([
      'eth_getBlockReceipts 0x1',
      'eth_getBlockReceipts 0x2',
      'eth_getTransactionReceipt 0x20',
      'eth_getTransactionReceipt 0x21',
      'eth_getBlockReceipts 0x3',
    ])
  })

  it('are not there yet', async () => {
    const message = 'the node does not have the receipts of block 2'
    await expect(fetchReceipts(nodeWith(tooLarge, { unknown: ['0x2'] }).node, BLOCKS)).rejects.toThrow(message)
    const { node } = nodeWith(tooLarge, { refused: ['0x2'], unknown: ['0x21'] })
    await expect(fetchReceipts(node, BLOCKS)).rejects.toThrow(message)
  })

  it('are refused for another reason', async () => {
    const { node, asked } = nodeWith(() => new NodeRefusal('x', -32_005, 'busy'), { refused: ['0x2'] })
    await expect(fetchReceipts(node, BLOCKS)).rejects.toThrow('busy')
    expect(asked).toHaveLength(1)
  })
})
