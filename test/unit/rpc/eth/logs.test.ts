import { beforeAll, describe, expect, test } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { getLogs, logMatcher } from '../../../../src/rpc/eth/logs.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTED, COUNTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const one = `0x${'c1'.repeat(20)}`
const two = `0x${'c2'.repeat(20)}`

let node: MemoryNode

beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 20n },
      { address: hexToBytes(one), nonce: 1n, code: COUNTER },
      { address: hexToBytes(two), nonce: 1n, code: COUNTER },
    ],
  })
  let nonce = 0n
  const callTo = (to: string) => alice.sign({ nonce: nonce++, to: hexToBytes(to) })
  await node.produce([callTo(one), callTo(two)])
  await node.produce([])
  await node.produce([callTo(two)])
})

/** Block and index of each log found. */
async function places(filter: object): Promise<string[]> {
  const logs = (await invoke(getLogs, node.context(), filter)) as { blockNumber: string; logIndex: string }[]
  return logs.map(({ blockNumber, logIndex }) => `${blockNumber}:${logIndex}`)
}

test.each<[object, string[]]>([
  [{ fromBlock: 'earliest' }, ['0x1:0x0', '0x1:0x1', '0x3:0x0']],
  [{}, ['0x3:0x0']],
  [{ fromBlock: '0x0', toBlock: '0x2' }, ['0x1:0x0', '0x1:0x1']],
  [{ fromBlock: '0x0', address: one }, ['0x1:0x0']],
  [{ fromBlock: '0x0', address: [two] }, ['0x1:0x1', '0x3:0x0']],
  [{ fromBlock: '0x0', address: [one, two], topics: [COUNTED] }, ['0x1:0x0', '0x1:0x1', '0x3:0x0']],
  [{ fromBlock: '0x0', topics: [[`0x${'11'.repeat(32)}`, COUNTED]] }, ['0x1:0x0', '0x1:0x1', '0x3:0x0']],
  [{ fromBlock: '0x0', topics: [`0x${'11'.repeat(32)}`] }, []],
  [{ fromBlock: '0x0', topics: [null] }, ['0x1:0x0', '0x1:0x1', '0x3:0x0']],
  [{ fromBlock: '0x0', topics: [COUNTED, null] }, []],
  [{ fromBlock: '0x2', toBlock: '0x2' }, []],
])('%j', async (filter, expected) => {
  expect(await places(filter)).toEqual(expected)
})

test('by block hash, with all fields', async () => {
  const block = node.blocks[1]!
  expect(await invoke(getLogs, node.context(), { blockHash: bytesToHex(block.hash), address: two })).toEqual([
    {
      address: two,
      topics: [COUNTED],
      data: `0x${'00'.repeat(31)}01`,
      blockNumber: '0x1',
      transactionHash: bytesToHex(block.transactions[1]!.transaction.hash),
      transactionIndex: '0x1',
      blockHash: bytesToHex(block.hash),
      blockTimestamp: `0x${block.header.timestamp.toString(16)}`,
      logIndex: '0x1',
      removed: false,
    },
  ])
})

describe('errors', () => {
  test.each<[object, number, string]>([
    [{ blockHash: `0x${'99'.repeat(32)}` }, -32000, 'unknown block'],
    [{ fromBlock: '0x3', toBlock: '0x1' }, -32602, 'invalid block range params'],
    [{ fromBlock: '0x1', toBlock: '0x4' }, -32602, 'block range extends beyond current head block'],
    [{ fromBlock: '0x4', toBlock: '0x5' }, -32602, 'block range extends beyond current head block'],
    [{ fromBlock: 'finalized', toBlock: '0x4' }, -32602, 'block range extends beyond current head block'],
    [{ fromBlock: '0x4' }, -32602, 'invalid block range params'],
    [{ fromBlock: '0x4', toBlock: 'latest' }, -32602, 'invalid block range params'],
    [{ toBlock: '0x4' }, -32602, 'invalid block range params'],
    [{ fromBlock: 'latest', toBlock: '0x1' }, -32602, 'invalid block range params'],
    [{ toBlock: 'pending' }, -32602, 'pending logs are not supported'],
    [{ topics: [null, null, null, null, null] }, -32602, 'exceed max topics'],
  ])('%j', async (filter, code, message) => {
    expect(await invokeError(getLogs, node.context(), filter)).toEqual({ code, message })
  })

  test('limits', async () => {
    const limited = (limits: object) => node.context({ limits: { ...TEST_LIMITS, ...limits } })
    const all = { fromBlock: '0x0' }
    expect(await invokeError(getLogs, limited({ logBlockRange: 3 }), all)).toEqual({
      code: -32005,
      message: 'exceed maximum block range 3',
    })
    expect(await invoke(getLogs, limited({ logBlockRange: 4, logResults: 3 }), all)).toHaveLength(3)
    expect(await invokeError(getLogs, limited({ responseBytes: 128 }), all)).toEqual({
      code: -32003,
      message: 'response too large',
    })
    expect(await invokeError(getLogs, limited({ logResults: 2 }), all)).toEqual({
      code: -32005,
      message: 'query returned more than 2 results',
    })
  })

  test('blocks that are no longer kept', async () => {
    const context = node.context({ view: node.view({ oldestBlock: 2 }) })
    expect(await invokeError(getLogs, context, { fromBlock: '0x1' })).toMatchObject({ code: 4444 })
    expect(await invoke(getLogs, context, { fromBlock: 'earliest' })).toHaveLength(1)
  })
})

test('a matcher wants each position to be there', () => {
  const log = { address: new Uint8Array(20), topics: [hexToBytes(COUNTED)], data: new Uint8Array(0) }
  expect(logMatcher({ addresses: [], topics: [[]] })(log)).toBe(true)
  expect(logMatcher({ addresses: [], topics: [[], []] })(log)).toBe(false)
  expect(logMatcher({ addresses: [new Uint8Array(20).fill(1)], topics: [] })(log)).toBe(false)
})
