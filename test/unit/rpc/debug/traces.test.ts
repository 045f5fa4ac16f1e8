import { encodeFunctionData, erc20Abi, type TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NATIVE_TOKEN_ADDRESS } from '../../../../src/chain/genesis/genesisConstants.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { traceBlockByHash, traceBlockByNumber, traceCall, traceTransaction } from '../../../../src/rpc/debug/traces.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { createViewCaches, type NodeView, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../../support/execution/testChain.ts'
import { chainContext } from '../../../support/rpc/chainContext.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { COUNTER, LOOP } from '../../../support/rpc/testContracts.ts'

const account = privateKeyToAccount(WALLET_KEY)
const WALLET_HEX = bytesToHex(WALLET)
const TOKEN = NATIVE_TOKEN_ADDRESS.toLowerCase() as `0x${string}`
const RECEIVER = `0x${'aa'.repeat(20)}` as const
const CALL_TRACER = { tracer: 'callTracer', tracerConfig: { withLog: true } }

/** Init code that returns `code`. */
function deployCode(code: Uint8Array): `0x${string}` {
  const length = code.length.toString(16).padStart(2, '0')
  return `0x60${length}600a5f3960${length}5ff3${bytesToHex(code).slice(2)}`
}

let chain: TestChain
let database: Database
let view: NodeView
let counter: `0x${string}`
/** hashes of block 2's transactions */
let hashes: string[]

beforeAll(async () => {
  chain = await createTestChain()
  let nonce = 0
  const sign = async (fields: Partial<TransactionSerializable>): Promise<Uint8Array> =>
    hexToBytes(
      await account.signTransaction({
        chainId: 76287,
        type: 'eip1559',
        gas: 300_000n,
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 10n ** 9n,
        nonce: nonce++,
        ...fields,
      } as TransactionSerializable),
    )
  await chain.produce([await sign({ data: deployCode(COUNTER) }), await sign({ data: deployCode(LOOP) })])
  const first = await openDatabase()
  counter = bytesToHex(first.view.chain.receipts(1)![0]!.contractAddress!)
  await first.database.close()
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [RECEIVER, 77n] })
  const tooMuch = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [RECEIVER, 10n ** 30n] })
  await chain.produce([
    await sign({ to: counter }),
    await sign({ to: RECEIVER, value: 5n, gas: 21_000n }),
    await sign({ to: TOKEN, data: transfer }),
    await sign({ to: TOKEN, data: tooMuch }),
    await sign({ to: counter }),
  ])
  await chain.produce()
  ;({ database, view } = await openDatabase())
  hashes = view.chain.transactions(2)!.map(({ transaction }) => bytesToHex(transaction.hash))
})

async function openDatabase(): Promise<{ database: Database; view: NodeView }> {
  const opened = await Database.open(chain.location, { readOnly: true })
  return { database: opened, view: openView(opened.snapshot(), createViewCaches()) }
}

afterAll(async () => {
  await database.close()
  await chain.close()
})

interface Frame {
  readonly type: string
  readonly from: string
  readonly to: string
  readonly gasUsed: string
  readonly error?: string
  readonly logs?: readonly { readonly index: string; readonly topics: readonly string[] }[]
}

describe('block traces', () => {
  it('give every transaction the gas, outcome and logs of its receipt', async () => {
    const traces = (await invoke(traceBlockByNumber, chainContext(chain, view), '0x2', CALL_TRACER)) as {
      txHash: string
      result: Frame
    }[]
    expect(traces.map(({ txHash }) => txHash)).toEqual(hashes)
    const receipts = view.chain.receipts(2)!
    expect(traces.map(({ result }) => BigInt(result.gasUsed))).toEqual(receipts.map(({ gasUsed }) => gasUsed))
    expect(traces.map(({ result }) => result.error)).toEqual([
      undefined,
      undefined,
      undefined,
      'execution reverted',
      undefined,
    ])
    const logs = traces.flatMap(({ result }) => result.logs ?? [])
    expect(logs.map(({ index }) => index)).toEqual(['0x0', '0x1', '0x2'])
    expect(logs.map(({ topics }) => topics)).toEqual(
      receipts.flatMap((receipt) => receipt.logs.map((log) => log.topics.map(bytesToHex))),
    )
    expect(traces[2]!.result).toMatchObject({ type: 'CALL', from: WALLET_HEX, to: TOKEN })
  })

  it('are the same by hash, and for one transaction', async () => {
    const hash = bytesToHex(view.chain.hash(2)!)
    const byHash = (await invoke(traceBlockByHash, chainContext(chain, view), hash)) as { result: unknown }[]
    const byNumber = await invoke(traceBlockByNumber, chainContext(chain, view), '0x2')
    expect(byHash).toEqual(byNumber)
    for (const [index, txHash] of hashes.entries()) {
      expect(await invoke(traceTransaction, chainContext(chain, view), txHash)).toEqual(byHash[index]!.result)
    }
  })

  it('see what earlier transactions of the block did', async () => {
    const storage = async (hash: string): Promise<unknown> => {
      const { structLogs } = (await invoke(traceTransaction, chainContext(chain, view), hash)) as {
        structLogs: { op: string; storage?: Record<string, string> }[]
      }
      return Object.values(structLogs.find(({ op }) => op === 'SSTORE')!.storage!)
    }
    expect(await storage(hashes[0]!)).toEqual([`0x${'1'.padStart(64, '0')}`])
    expect(await storage(hashes[4]!)).toEqual([`0x${'2'.padStart(64, '0')}`])
  })

  it('show state before and after', async () => {
    const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
    const { pre, post } = (await invoke(traceTransaction, chainContext(chain, view), hashes[1]!, config)) as Record<
      'pre' | 'post',
      Record<string, { balance: string; nonce?: number }>
    >
    expect(Object.keys(pre)).toEqual([WALLET_HEX])
    expect(pre[WALLET_HEX]!.nonce).toBe(3)
    expect(post[WALLET_HEX]!.nonce).toBe(4)
    expect(post[RECEIVER]).toEqual({ balance: '0x5' })
  })

  it('show what a stateful precompile changed, and that it was called', async () => {
    const tracerConfig = { prestateTracer: { diffMode: true }, '4byteTracer': {} }
    const traced = await invoke(traceTransaction, chainContext(chain, view), hashes[2]!, {
      tracer: 'muxTracer',
      tracerConfig,
    })
    const { prestateTracer, '4byteTracer': selectors } = traced as Record<string, Record<string, unknown>>
    expect(prestateTracer).toMatchObject({
      pre: { [RECEIVER]: { balance: '0x5' } },
      post: { [RECEIVER]: { balance: '0x52' } },
    })
    expect(selectors).toEqual({ '0xa9059cbb-64': 1 })
  })
})

describe('a traced call', () => {
  it('runs on the state of a block, with overrides', async () => {
    const request = { to: counter, from: WALLET_HEX }
    const config = {
      tracer: 'prestateTracer',
      stateOverrides: { [counter]: { stateDiff: { [`0x${'00'.repeat(32)}`]: `0x${'9'.padStart(64, '0')}` } } },
    }
    const slotOf = (trace: unknown): string =>
      Object.values((trace as Record<string, { storage: Record<string, string> }>)[counter]!.storage)[0]!
    expect(
      BigInt(
        slotOf(await invoke(traceCall, chainContext(chain, view), request, 'latest', { tracer: 'prestateTracer' })),
      ),
    ).toBe(2n)
    expect(BigInt(slotOf(await invoke(traceCall, chainContext(chain, view), request, 'latest', config)))).toBe(9n)
  })

  it('runs within a block before one of its transactions', async () => {
    const request = { to: counter, from: WALLET_HEX }
    const slotAt = async (txIndex: string): Promise<unknown> => {
      const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true }, txIndex }
      const { post } = (await invoke(traceCall, chainContext(chain, view), request, '0x2', config)) as {
        post: Record<string, { storage: Record<string, string> }>
      }
      return BigInt(Object.values(post[counter]!.storage)[0]!)
    }
    expect(await slotAt('0x0')).toBe(1n)
    expect(await slotAt('0x1')).toBe(2n)
    expect(await invokeError(traceCall, chainContext(chain, view), request, '0x2', { txIndex: '0x5' })).toEqual({
      code: -32000,
      message: 'transaction index 5 out of range for block 2',
    })
  })

  it('takes block overrides', async () => {
    const request = { data: '0x4360005260206000f3' }
    const config = { blockOverrides: { number: '0x1234' } }
    expect(await invoke(traceCall, chainContext(chain, view), request, 'latest', config)).toMatchObject({
      failed: false,
      returnValue: `0x${'1234'.padStart(64, '0')}`,
    })
  })
})

describe('a tracer in JavaScript', () => {
  const scope = { ...OWN_SCOPE, jsTracers: true }
  const COUNT = `{
    count: 0,
    setup: function(config) { this.first = JSON.parse(config).first },
    step: function() { this.count++ },
    fault: function() {},
    result: function(ctx, db) { return [this.first, this.count, ctx.gasUsed, ctx.txIndex, db.getNonce(ctx.from)] }
  }`

  it('runs for each transaction of a block, on the state that it is about', async () => {
    const config = { tracer: COUNT, tracerConfig: { first: 'x' } }
    const traces = (await invoke(traceBlockByNumber, chainContext(chain, view, { scope }), '0x2', config)) as {
      result: unknown[]
    }[]
    const logged = (await invoke(traceBlockByNumber, chainContext(chain, view), '0x2')) as {
      result: { structLogs: unknown[] }
    }[]
    const receipts = view.chain.receipts(2)!
    expect(traces.map(({ result }) => result)).toEqual(
      logged.map(({ result }, index) => [
        'x',
        result.structLogs.length,
        Number(receipts[index]!.gasUsed),
        index,
        index + 3,
      ]),
    )
  })

  it('may be one of several', async () => {
    const config = { tracer: 'muxTracer', tracerConfig: { [COUNT]: { first: 1 }, noopTracer: {} } }
    const trace = (await invoke(traceTransaction, chainContext(chain, view, { scope }), hashes[0]!, config)) as Record<
      string,
      unknown[]
    >
    expect(trace[COUNT]!.slice(0, 1)).toEqual([1])
    expect(trace['noopTracer']).toEqual({})
  })

  it('ends with its error, and others go on', async () => {
    const config = {
      tracer: '{ step: function() { for (;;); }, fault: function() {}, result: function() {} }',
      timeout: '100ms',
    }
    const { message } = (await invokeError(
      traceTransaction,
      chainContext(chain, view, { scope }),
      hashes[0]!,
      config,
    )) as {
      message: string
    }
    expect(message).toContain('execution timeout')
    expect(
      await invoke(traceTransaction, chainContext(chain, view, { scope }), hashes[0]!, { tracer: COUNT }),
    ).toHaveLength(5)
  })
})

describe('what cannot be traced', () => {
  const unknown = `0x${'00'.repeat(31)}01`
  const tracers =
    'callTracer, prestateTracer, flatCallTracer, erc7562Tracer, keccak256PreimageTracer, 4byteTracer, opcountTracer, unigramTracer, bigramTracer, trigramTracer, noopTracer, muxTracer'

  it.each([
    ['an unknown transaction', traceTransaction, [unknown], 'transaction not found'],
    ['the genesis block', traceBlockByNumber, ['0x0'], 'genesis is not traceable'],
    ['a later block', traceBlockByNumber, ['0x99'], 'block #153 not found'],
    ['an unknown block', traceBlockByHash, [unknown], `block ${unknown} not found`],
    ['a call on pending', traceCall, [{}, 'pending'], 'tracing on top of pending is not supported'],
    [
      'another tracer',
      traceCall,
      [{}, 'latest', { tracer: 'stepTracer' }],
      `tracer not found: expected one of ${tracers}`,
    ],
    [
      'JavaScript, unless it is allowed',
      traceCall,
      [{}, 'latest', { tracer: '{step(){}}' }],
      'tracers in JavaScript are not run on this port: the operator allows them with RPC_JS_TRACERS=true, or at PRIVATE_RPC_PORT',
    ],
    ['a wrong timeout', traceCall, [{}, 'latest', { timeout: '5' }], 'time: invalid duration "5"'],
    [
      'a wrong switch',
      traceCall,
      [{}, 'latest', { tracer: 'callTracer', tracerConfig: { withLog: 1 } }],
      'invalid tracer configuration: withLog is not a boolean',
    ],
    [
      'too many tracers',
      traceCall,
      [
        {},
        'latest',
        { tracer: 'muxTracer', tracerConfig: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`${i}`, {}])) },
      ],
      'invalid tracer configuration: more than 16 tracers',
    ],
    [
      'contradicting switches',
      traceCall,
      [{}, 'latest', { tracer: 'prestateTracer', tracerConfig: { diffMode: true, includeEmpty: true } }],
      'cannot use diffMode with includeEmpty',
    ],
    [
      'a call that cannot be paid',
      traceCall,
      [{ from: RECEIVER, to: RECEIVER, value: '0xffffffffffffffffff' }],
      expect.stringMatching(/^tracing failed: insufficient funds/),
    ],
  ])('%s', async (_, method, params, message) => {
    expect(await invokeError(method, chainContext(chain, view), ...params)).toEqual({ code: -32000, message })
  })

  it('what takes too long', async () => {
    const request = { data: '0x5b5f56', gas: '0x2faf080' }
    const config = { tracer: 'callTracer', timeout: '1ms' }
    expect(await invokeError(traceCall, chainContext(chain, view), request, 'latest', config)).toEqual({
      code: -32000,
      message: 'execution timeout',
    })
  })

  it('what is too long', async () => {
    const context = chainContext(chain, view, { limits: { ...TEST_LIMITS, responseBytes: 10_000 } })
    const request = { data: '0x5b5f56', gas: '0x30d40' }
    expect(await invokeError(traceCall, context, request, 'latest', {})).toEqual({
      code: -32003,
      message: 'response too large',
    })
  })

  it('what is too long already, before its gas ends', async () => {
    const { execution } = chainContext(chain, view)
    let pauses = 0
    const yieldUntil = () => async () => {
      pauses++
    }
    const context = chainContext(chain, view, {
      limits: { ...TEST_LIMITS, responseBytes: 10_000 },
      execution: { ...execution!, yieldUntil },
    })
    const request = { data: '0x5b5f56', gas: '0x2faf080' }
    expect(await invokeError(traceCall, context, request, 'latest', {})).toMatchObject({ code: -32003 })
    expect(pauses).toBeLessThan(2)
  })
})
