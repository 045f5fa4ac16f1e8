import { beforeAll, expect, test } from 'vitest'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import {
  accounts,
  blockNumber,
  capabilities,
  chainId,
  coinbase,
  config,
  syncing,
} from '../../../../src/rpc/eth/chainInfo.ts'
import { ethMethods } from '../../../../src/rpc/eth/methods.ts'
import { invoke } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'

let node: MemoryNode

beforeAll(async () => {
  node = await createMemoryNode({
    chain: {
      forks: [
        { height: 0, fork: 'cancun' },
        { height: 1, fork: 'prague' },
        { height: 12, fork: 'osaka' },
      ],
    },
  })
  await node.produce([])
  await node.produce([], new Uint8Array(20).fill(0xcb))
})

test('the simple ones', async () => {
  const context = node.context()
  expect(await invoke(chainId, context)).toBe('0x1dcc')
  expect(await invoke(blockNumber, context)).toBe('0x2')
  expect(await invoke(accounts, context)).toEqual([])
  expect(await invoke(coinbase, context)).toBe(`0x${'cb'.repeat(20)}`)
  expect(await invoke(syncing, context)).toBe(false)
  const status = { startingBlock: 1, currentBlock: 16, highestBlock: 255 }
  expect(await invoke(syncing, node.context({ syncing: () => status }))).toEqual({
    startingBlock: '0x1',
    currentBlock: '0x10',
    highestBlock: '0xff',
  })
})

test('eth_capabilities shows what is pruned', async () => {
  const context = node.context({ view: node.view({ oldestState: 2, oldestBlock: 1 }) })
  const [one, two] = [1, 2].map((height) => ({ disabled: false, oldestBlock: `0x${height}` }))
  expect(await invoke(capabilities, context)).toEqual({
    head: { number: '0x2', hash: bytesToHex(node.blocks[2]!.hash) },
    state: two,
    tx: one,
    logs: one,
    receipts: one,
    blocks: one,
    stateproofs: two,
  })
})

test('eth_capabilities shows how many blocks are kept', async () => {
  const context = node.context({ retention: { states: 50_000, bodies: undefined } })
  const all = { disabled: false, oldestBlock: '0x0' }
  const window = { ...all, deleteStrategy: { type: 'window', retentionBlocks: '0xc350' } }
  expect(await invoke(capabilities, context)).toMatchObject({
    state: window,
    stateproofs: window,
    tx: all,
    blocks: all,
  })
  const bodies = node.context({ retention: { states: undefined, bodies: 50_000 } })
  const shown = { state: all, stateproofs: all, tx: window, logs: window, receipts: window, blocks: window }
  expect(await invoke(capabilities, bodies)).toEqual({ head: expect.anything(), ...shown })
})

test('eth_config shows the present rules and the coming ones', async () => {
  const { current, next, last } = (await invoke(config, node.context())) as Record<string, Record<string, unknown>>
  const { timestamp } = node.blocks[1]!.header
  expect(current).toMatchObject({ activationTime: timestamp, chainId: '0x1dcc' })
  expect(current?.precompiles).toMatchObject({
    ECREC: '0x0000000000000000000000000000000000000001',
    BLS12_MAP_FP2_TO_G2: '0x0000000000000000000000000000000000000011',
  })
  expect(current?.precompiles).not.toHaveProperty('P256VERIFY')
  expect(next).toEqual(last)
  // ten blocks of 400 ms
  expect(next).toMatchObject({ activationTime: node.blocks[2]!.header.timestamp + 4 })
  expect(next?.precompiles).toHaveProperty('P256VERIFY', '0x0000000000000000000000000000000000000100')
  expect(next?.forkId).not.toBe(current?.forkId)
})

test('eth_config of a node that does not have the block of a fork any more, as after a restore', async () => {
  const forks = [
    { height: 0, fork: 'cancun' },
    { height: 3, fork: 'prague' },
    { height: 5, fork: 'osaka' },
  ] as const
  const long = await createMemoryNode({ chain: { forks } })
  for (let height = 1; height <= 4; height++) await long.produce()
  const whole = (await invoke(config, long.context())) as Record<string, Record<string, unknown>>
  const restored = (await invoke(
    config,
    long.context({ view: long.view({ base: 4, oldestBlock: 4 }) }),
  )) as typeof whole
  const [genesis, , , fork, oldest] = long.blocks.map(({ header }) => header.timestamp)
  expect(whole['current']).toMatchObject({ activationTime: fork })
  const { activationTime } = restored['current']!
  expect(activationTime).toBe(genesis! + Math.floor(((oldest! - genesis!) * 3) / 4))
  // All else is the same: nodes are compared by it.
  expect(restored).toEqual({ ...whole, current: { ...whole['current'], activationTime } })
})

test('names are unique and say their namespace', () => {
  const names = ethMethods.map(({ name }) => name)
  expect(new Set(names).size).toBe(names.length)
  expect(names.every((name) => name.startsWith('eth_'))).toBe(true)
})
