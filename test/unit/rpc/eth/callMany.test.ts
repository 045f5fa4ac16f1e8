import { beforeAll, describe, expect, test } from 'vitest'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { callMany } from '../../../../src/rpc/eth/callMany.ts'
import {
  alice,
  broken,
  createContractNode,
  echo,
  environment,
  hexOf,
  loop,
  reverter,
  word,
} from '../../../support/rpc/contractNode.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { COUNTER } from '../../../support/rpc/testContracts.ts'

/** Adds 1 to slot 0 and returns the sum. */
const SUM = '0x5f54600101805f555f5260205ff3'
/** Returns slot 0. */
const READ = '0x5f545f5260205ff3'
const sum = hexOf('d1')
const value = (number: bigint | number) => ({ value: `0x${word(number)}` })

let node: MemoryNode
beforeAll(async () => {
  node = await createContractNode()
})

const run = (bundles: unknown, state?: unknown, overrides?: unknown, timeout?: unknown): Promise<unknown> =>
  invoke(callMany, node.context(), bundles, state, overrides, timeout)

describe('eth_callMany', () => {
  test('calls run on what those before them have left, across bundles, and leave no trace', async () => {
    const call = { to: sum }
    const overrides = { [sum]: { code: SUM, state: { [`0x${word(0)}`]: `0x${word(5)}` } } }
    const bundles = [{ transactions: [call, call] }, { transactions: [] }, {}, { transactions: [call] }]
    const expected = [[value(6), value(7)], [], [], [value(8)]]
    expect(await run(bundles, undefined, overrides)).toEqual(expected)
    expect(await run(bundles, {}, overrides)).toEqual(expected)
    expect(await run(bundles, { transactionIndex: -1 }, overrides)).toEqual(expected)
  })

  test('block overrides hold for their bundle', async () => {
    const call = { to: environment }
    const heights = (
      (await run([{ transactions: [call], blockOverride: { number: '0x64' } }, { transactions: [call] }])) as {
        value: string
      }[][]
    ).map(([result]) => BigInt(`0x${result!.value.slice(2 + 128, 2 + 192)}`))
    expect(heights).toEqual([100n, 2n])
  })

  test('a failed call is an error, and its effects are undone', async () => {
    const reason = `0x08c379a0${word(32)}${word(2)}${Buffer.from('no').toString('hex').padEnd(64, '0')}`
    const transactions = [
      { to: reverter, data: '0x01' },
      { to: reverter, data: reason },
      { to: broken },
      { to: echo, data: '0x07' },
    ]
    expect(await run([{ transactions }])).toEqual([
      [
        { error: 'execution reverted' },
        { error: 'execution reverted: no' },
        { error: 'invalid opcode: INVALID' },
        { value: '0x07' },
      ],
    ])
  })

  test('begins within a block', async () => {
    const counter = hexOf('c1')
    const own = await createMemoryNode({
      accounts: [
        { address: alice.address, balance: 10n ** 18n },
        { address: hexToBytes(counter), nonce: 1n, code: COUNTER },
      ],
    })
    await own.produce([0n, 1n, 2n].map((nonce) => alice.sign({ nonce, to: hexToBytes(counter) })))
    const at = (transactionIndex?: number) =>
      invoke(
        callMany,
        own.context(),
        [{ transactions: [{ to: counter }] }],
        { blockNumber: '0x1', ...(transactionIndex === undefined ? {} : { transactionIndex }) },
        { [counter]: { code: READ } },
      )
    expect(await Promise.all([0, 1, 2, 3, -1, undefined].map(at))).toEqual(
      [0, 1, 2, 3, 3, 3].map((count) => [[value(count)]]),
    )
    expect(await invokeError(callMany, own.context(), [], { blockNumber: '0x1', transactionIndex: 4 })).toEqual({
      code: -32000,
      message: 'transaction index 4 out of range for block 1',
    })
  })

  test('limits of time and length hold for all calls', async () => {
    const transactions = Array.from({ length: 3 }, () => ({ to: loop }))
    const limits = { ...TEST_LIMITS, callGas: 10n ** 15n }
    expect(await invokeError(callMany, node.context({ limits }), [{ transactions }], {}, {}, 20)).toEqual({
      code: -32000,
      message: 'execution aborted (timeout = 0.02s)',
    })
    const empty = Array.from({ length: 100_000 }, () => ({}))
    await expect(invoke(callMany, node.context(), empty, {}, {}, 1)).rejects.toThrow('deadline')
    const long = { to: echo, data: `0x${'00'.repeat(500)}` }
    const short = { ...TEST_LIMITS, responseBytes: 1_500 }
    const bundles = [{ transactions: [long] }, { transactions: [long] }]
    expect(await invokeError(callMany, node.context({ limits: short }), bundles)).toMatchObject({ code: -32003 })
  })

  test.each<[unknown[], string]>([
    [[[{ transactions: 1 }]], 'invalid argument 0: '],
    [[[], { transactionIndex: -2 }], 'invalid argument 1: invalid transaction index -2'],
    [[[], {}, {}, -1], 'invalid argument 3: invalid timeout -1'],
    [[[{ transactions: [{ chainId: '0x1' }] }]], "chainId does not match node's"],
  ])('%j', async (params, message) => {
    expect(await invokeError(callMany, node.context(), ...params)).toMatchObject({
      message: expect.stringContaining(message),
    })
  })
})
