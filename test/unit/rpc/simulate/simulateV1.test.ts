import { beforeAll, describe, expect, it } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { simulateV1 } from '../../../../src/rpc/simulate/simulateV1.ts'
import {
  alice,
  counter,
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
import { COUNTED, COUNTER } from '../../../support/rpc/testContracts.ts'

const from = alice.hex

let node: MemoryNode
beforeAll(async () => {
  node = await createContractNode()
})

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
const simulate = async (blockStateCalls: unknown, options: object = {}, block?: unknown): Promise<any> =>
  invoke(simulateV1, node.context(), { blockStateCalls, ...options }, ...(block === undefined ? [] : [block]))
const refusal = (blockStateCalls: unknown, options: object = {}, context = node.context()): Promise<unknown> =>
  invokeError(simulateV1, context, { blockStateCalls, ...options })

describe('eth_simulateV1', () => {
  it.each([
    [{ blockOverrides: { coinbase: counter } }, 'coinbase'],
    [{ stateOverrides: { [counter]: { balance: '0x1', storage: {} } } }, 'storage'],
  ])('has no unknown overrides: %j', async (block, name) => {
    expect(await refusal([block])).toEqual({
      code: -32602,
      message: `invalid argument 0: json: unknown field "${name}"`,
    })
  })

  it('gives the block that a transaction really makes', async () => {
    const twin = await createMemoryNode({
      accounts: [
        { address: alice.address, balance: 10n ** 18n },
        { address: hexToBytes(counter), nonce: 1n, code: COUNTER },
      ],
    })
    const call = { from, to: counter, gas: '0x186a0', maxFeePerGas: '0x77359400', maxPriorityFeePerGas: '0x0' }
    const [block] = (await invoke(simulateV1, twin.context(), {
      blockStateCalls: [{ calls: [call] }],
      validation: true,
    })) as [{ gasUsed: string; logsBloom: string; baseFeePerGas: string; receiptsRoot: string }]
    const signed = alice.sign({
      type: 2,
      nonce: 0n,
      to: hexToBytes(counter),
      gasLimit: 100_000n,
      maxFeePerGas: 2_000_000_000n,
      maxPriorityFeePerGas: 0n,
    })
    const { header } = await twin.produce([signed])
    expect(block).toMatchObject({
      number: '0x1',
      parentHash: bytesToHex(header.parentHash),
      gasUsed: `0x${header.gasUsed.toString(16)}`,
      baseFeePerGas: `0x${header.baseFeePerGas!.toString(16)}`,
      receiptsRoot: bytesToHex(header.receiptsRoot),
      logsBloom: bytesToHex(header.logsBloom),
    })
  })

  it('keeps state, hashes and times from block to block, and counts empty ones between', async () => {
    const load = '0x5f545f5260205ff3'
    const blocks = await simulate([
      { calls: [{ to: counter }, { to: counter }] },
      { blockOverrides: { number: '0x6' }, stateOverrides: { [counter]: { code: load } }, calls: [{ to: counter }] },
    ])
    expect(blocks.map(({ number }: { number: string }) => number)).toEqual(['0x3', '0x4', '0x5', '0x6'])
    expect(blocks[3].calls[0].returnData).toBe(`0x${word(3)}`)
    expect(blocks[0].calls.map(({ logs }: { logs: { topics: string[]; logIndex: string }[] }) => logs)).toMatchObject([
      [{ topics: [COUNTED], logIndex: '0x0' }],
      [{ topics: [COUNTED], logIndex: '0x1' }],
    ])
    for (const [index, block] of blocks.slice(1).entries()) {
      expect(block.parentHash).toBe(blocks[index].hash)
      expect(BigInt(block.timestamp)).toBe(BigInt(blocks[index].timestamp) + 1n)
    }
    // BLOCKHASH of its argument
    const blockHash = '0x5f35405f5260205ff3'
    const asked = await simulate([
      {},
      {
        stateOverrides: { [echo]: { code: blockHash } },
        calls: [2, 3, 4].map((number) => ({ to: echo, data: `0x${word(number)}` })),
      },
    ])
    expect(asked[1].calls.map(({ returnData }: { returnData: string }) => returnData)).toEqual([
      bytesToHex(node.blocks[2]!.hash),
      asked[0].hash,
      `0x${word(0)}`,
    ])
  })

  it('shows what code sees of overridden blocks', async () => {
    const overrides = {
      number: '0x9',
      time: '0x77777777',
      feeRecipient: hexOf('dd'),
      prevRandao: `0x${word(5)}`,
      baseFeePerGas: '0x7',
    }
    const blocks = await simulate([
      {
        blockOverrides: overrides,
        calls: [
          { from, to: environment, maxFeePerGas: '0x9', maxPriorityFeePerGas: '0x1' },
          { from, to: environment },
        ],
      },
    ])
    const rest = [9n, 0x77777777n, BigInt(hexOf('dd')), 5n]
    const seen = (price: bigint) => `0x${[7n, price, ...rest].map(word).join('')}`
    expect(blocks.at(-1).calls).toMatchObject([{ returnData: seen(8n) }, { returnData: seen(0n) }])
    expect(blocks.at(-1)).toMatchObject({ miner: hexOf('dd'), mixHash: `0x${word(5)}`, baseFeePerGas: '0x7' })
  })

  it('tells why calls failed, and that transfers of coins are logs only where that is wanted', async () => {
    const calls = [
      { to: reverter, data: `0x08c379a0${word(32)}${word(5)}${Buffer.from('nope!').toString('hex').padEnd(64, '0')}` },
      { to: loop, gas: '0xc350' },
      { from, to: echo, value: '0x5' },
    ]
    const [block] = await simulate([{ calls }], { traceTransfers: true })
    expect(block.calls).toMatchObject([
      { status: '0x0', returnData: '0x', logs: [], error: { code: 3, message: 'execution reverted: nope!' } },
      { status: '0x0', gasUsed: '0xc350', error: { code: -32015, message: 'out of gas' } },
      {
        status: '0x1',
        logs: [
          {
            address: hexOf('ee'),
            data: `0x${word(5)}`,
            topics: [expect.any(String), `0x${word(BigInt(from))}`, `0x${word(BigInt(echo))}`],
          },
        ],
      },
    ])
    expect((await simulate([{ calls }]))[0].calls[2].logs).toEqual([])
    // Receipts, and so roots, have no such logs.
    expect(block.logsBloom).toBe(`0x${'00'.repeat(256)}`)
  })

  it.each([
    ['no blocks', [], {}, -32602, 'empty input'],
    ['257 blocks', new Array(257).fill({}), {}, -38026, 'too many blocks'],
    ['a gap of 257', [{ blockOverrides: { number: '0x103' } }], {}, -38026, 'too many blocks'],
    ['a former number', [{ blockOverrides: { number: '0x2' } }], {}, -38020, 'block numbers must be in order: 2 <= 2'],
    [
      'a former time',
      [{ blockOverrides: { time: '0x1' } }],
      {},
      -38021,
      /^block timestamps must be in order: 1 <= \d+$/,
    ],
    ['5,001 calls in a block', [{ calls: new Array(5_001).fill({}) }], {}, -38026, 'too many calls in block'],
    [
      '10,001 calls',
      [{ calls: new Array(5_000).fill({}) }, { calls: new Array(5_000).fill({}) }, { calls: [{}] }],
      {},
      -38026,
      'too many calls',
    ],
    [
      'a low nonce',
      [{ calls: [{ from, to: echo, nonce: '0x0', maxFeePerGas: '0x77359400' }] }],
      { validation: true },
      -38010,
      /nonce too low/,
    ],
    [
      'a high nonce',
      [{ calls: [{ from, to: echo, nonce: '0x9', maxFeePerGas: '0x77359400' }] }],
      { validation: true },
      -38011,
      /nonce too high/,
    ],
    [
      'a low fee',
      [{ calls: [{ from, to: echo, maxFeePerGas: '0x1' }] }],
      { validation: true },
      -38012,
      /less than block base fee/,
    ],
    ['little gas', [{ calls: [{ to: echo, gas: '0x1' }] }], {}, -38013, /intrinsic gas too low/],
    ['no funds', [{ calls: [{ from: hexOf('99'), to: echo, value: '0x1' }] }], {}, -38014, /insufficient funds/],
    [
      'too much gas for a block',
      [{ calls: [{ to: echo, gas: '0xffffffffff' }] }],
      {},
      -38015,
      /block gas limit reached/,
    ],
    [
      'too much init code',
      [{ calls: [{ data: `0x${'00'.repeat(49_153)}` }] }],
      {},
      -38025,
      /max initcode size exceeded/,
    ],
    [
      'a tip above the fee',
      [{ calls: [{ to: echo, maxFeePerGas: '0x1', maxPriorityFeePerGas: '0x2' }] }],
      {},
      -32602,
      /max priority fee/,
    ],
    ['another chain', [{ calls: [{ to: echo, chainId: '0x1' }] }], {}, -32000, /chainId does not match/],
    ['withdrawals', [{ blockOverrides: { withdrawals: [{}] } }], {}, -32602, /must be empty/],
    ['what is no list', {}, {}, -32602, /invalid argument 0|cannot unmarshal/],
  ])('refuses %s', async (_, blocks, options, code, message) => {
    const { code: actual, message: text } = (await refusal(blocks, options).catch((error) => error)) as {
      code: number
      message: string
    }
    expect(actual === code ? text : `${actual}: ${text}`).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    )
  })

  it('ends at the time limit, at the gas of a call for all calls together, and when answers get too large', async () => {
    const context = node.context({ limits: { ...TEST_LIMITS, callTimeoutMs: 30, callGas: 10n ** 12n } })
    const gasLimit = { blockOverrides: { gasLimit: '0xffffffffff' }, calls: [{ to: loop }] }
    expect(await refusal([gasLimit], {}, context)).toMatchObject({ message: 'execution aborted (timeout = 0.03s)' })

    const poor = node.context({ limits: { ...TEST_LIMITS, callGas: 60_000n } })
    const spend = { to: loop, gas: '0x9c40' }
    const [block] = (await invoke(simulateV1, poor, { blockStateCalls: [{ calls: [spend] }] })) as [
      { calls: unknown[] },
    ]
    expect(block.calls).toMatchObject([{ gasUsed: '0x9c40' }])
    // 20,000 gas are left for the next call, less than it costs to begin it.
    expect(await refusal([{ calls: [spend] }, { calls: [spend] }], {}, poor)).toMatchObject({ code: -38013 })

    const small = node.context({ limits: { ...TEST_LIMITS, responseBytes: 10_000 } })
    const large = { calls: [{ to: echo, data: `0x${'01'.repeat(3_000)}` }] }
    expect(await invoke(simulateV1, small, { blockStateCalls: [large] })).toHaveLength(1)
    expect(await refusal([large, large], {}, small)).toMatchObject({ code: -32003 })
  })

  it('changes nothing', async () => {
    const before = await simulate([{ calls: [{ to: counter }] }])
    expect(await simulate([{ calls: [{ to: counter }] }])).toEqual(before)
    expect(await simulate([{ calls: [{ to: counter }] }], {}, '0x1')).not.toEqual(before)
  })
})
