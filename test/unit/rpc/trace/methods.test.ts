import { beforeAll, describe, expect, test } from 'vitest'
import type { SignedTransaction } from '../../../../src/chain/block/transaction.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { METHODS } from '../../../../src/rpc/jsonrpc/methodTable.ts'
import { invoke, invokeError } from '../../../support/rpc/invoke.ts'
import { createMemoryNode, type MemoryNode, TEST_LIMITS } from '../../../support/rpc/memoryNode.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'
import { COUNTER, ECHO, FORWARDER, LOOP, REVERTER } from '../../../support/rpc/testContracts.ts'

const alice = testAccount('alice')
const address = (byte: string): Uint8Array => hexToBytes(`0x${byte.repeat(20)}`)
const [counter, forwarder, reverter, echo, loop] = ['c1', 'c2', 'c3', 'c4', 'c5'].map(address) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
]
const hex = bytesToHex
/** FORWARDER's calldata */
const to = (target: Uint8Array): Uint8Array => Uint8Array.of(...new Uint8Array(12), ...target)

let node: MemoryNode
/** of block 1 */
let forwarded: SignedTransaction
let reverted: SignedTransaction
let created: SignedTransaction

beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 18n },
      { address: counter, nonce: 1n, code: COUNTER },
      { address: forwarder, nonce: 1n, code: FORWARDER },
      { address: reverter, nonce: 1n, code: REVERTER },
      { address: echo, nonce: 1n, code: ECHO },
      { address: loop, nonce: 1n, code: LOOP },
    ],
  })
  forwarded = alice.sign({ nonce: 0n, to: forwarder, data: to(counter) })
  reverted = alice.sign({ nonce: 1n, to: reverter, data: Uint8Array.of(1, 2) })
  created = alice.sign({ nonce: 2n, to: undefined, data: hexToBytes('0x60015f5360015ff3'), value: 5n })
  await node.produce([forwarded, reverted, created])
  await node.produce([])
  await node.produce([alice.sign({ nonce: 3n, to: address('ee'), value: 1n })])
})

const ask = (name: string, ...params: unknown[]) => invoke(METHODS.get(`trace_${name}`)!, node.context(), ...params)
const refusal = async (name: string, ...params: unknown[]) =>
  (await invokeError(METHODS.get(`trace_${name}`)!, node.context(), ...params)) as { code: number; message: string }

const hashOf = ({ transaction }: SignedTransaction): string => hex(transaction.hash)

interface Trace {
  readonly type: string
  readonly action: Readonly<Record<string, string>>
  readonly traceAddress: readonly number[]
  readonly transactionPosition: number
}

describe('the calls of mined transactions', () => {
  test('trace_transaction: in Parity’s form, gas without what the transaction itself costs', async () => {
    const place = {
      blockHash: hex(node.blocks[1]!.hash),
      blockNumber: 1,
      transactionHash: hashOf(forwarded),
      transactionPosition: 0,
    }
    const [outer, inner] = (await ask('transaction', hashOf(forwarded))) as Record<string, unknown>[]
    expect(outer).toEqual({
      type: 'call',
      action: {
        callType: 'call',
        from: alice.hex,
        gas: '0xeeec8',
        input: hex(to(counter)),
        to: hex(forwarder),
        value: '0x0',
      },
      result: { gasUsed: expect.stringMatching(/^0x/), output: '0x' },
      subtraces: 1,
      traceAddress: [],
      ...place,
    })
    expect(inner).toMatchObject({ action: { from: hex(forwarder), to: hex(counter) }, traceAddress: [0], ...place })
  })

  test('errors have Parity’s words; a creation has its contract', async () => {
    expect(await ask('transaction', hashOf(reverted))).toMatchObject([
      { error: 'Reverted', result: { output: '0x0102' }, subtraces: 0 },
    ])
    expect(await ask('transaction', hashOf(created))).toMatchObject([
      {
        type: 'create',
        action: { creationMethod: 'create', from: alice.hex, value: '0x5', init: '0x60015f5360015ff3' },
        result: { code: '0x01', address: expect.stringMatching(/^0x[0-9a-f]{40}$/) },
      },
    ])
  })

  test('trace_block has those of all transactions; trace_get the one at a path', async () => {
    const traces = (await ask('block', '0x1')) as Trace[]
    expect(traces.map(({ transactionPosition, traceAddress }) => [transactionPosition, traceAddress])).toEqual([
      [0, []],
      [0, [0]],
      [1, []],
      [2, []],
    ])
    expect(await ask('block', { blockHash: hex(node.blocks[1]!.hash) })).toEqual(traces)
    expect(await ask('get', hashOf(forwarded), ['0x0'])).toEqual(traces[1])
    expect(await ask('get', hashOf(forwarded), [0])).toEqual(traces[1])
    expect(await ask('get', hashOf(forwarded), [])).toEqual(traces[0])
    expect(await ask('get', hashOf(forwarded), ['0x1'])).toBeNull()
  })

  test('what is unknown is null, blocks without transactions are empty', async () => {
    const unknown = `0x${'99'.repeat(32)}`
    expect(await ask('transaction', unknown)).toBeNull()
    expect(await ask('get', unknown, ['0x0'])).toBeNull()
    expect(await ask('replayTransaction', unknown, ['trace'])).toBeNull()
    expect(await ask('block', '0xff')).toBeNull()
    expect(await ask('block', '0x2')).toEqual([])
    expect(await ask('block', 'earliest')).toEqual([])
  })
})

describe('trace_filter', () => {
  const filter = async (wanted: object): Promise<string[]> => {
    const traces = (await ask('filter', wanted)) as (Trace & { readonly blockNumber: number })[]
    return traces.map(({ blockNumber, transactionPosition, traceAddress }) =>
      [blockNumber, transactionPosition, ...traceAddress].join('.'),
    )
  }

  test('finds by who calls and who is called', async () => {
    expect(await filter({})).toEqual(['1.0', '1.0.0', '1.1', '1.2', '3.0'])
    expect(await filter({ fromBlock: '0x2', toBlock: 'latest' })).toEqual(['3.0'])
    expect(await filter({ fromAddress: [alice.hex] })).toEqual(['1.0', '1.1', '1.2', '3.0'])
    expect(await filter({ toAddress: [hex(counter), hex(reverter)] })).toEqual(['1.0.0', '1.1'])
    const both = { fromAddress: [hex(forwarder)], toAddress: [hex(reverter)] }
    expect(await filter(both)).toEqual([])
    expect(await filter({ ...both, mode: 'union' })).toEqual(['1.0.0', '1.1'])
    const [creation] = (await ask('transaction', hashOf(created))) as [{ result: { address: string } }]
    expect(await filter({ toAddress: [creation.result.address] })).toEqual(['1.2'])
  })

  test('in pages', async () => {
    expect(await filter({ count: 2 })).toEqual(['1.0', '1.0.0'])
    expect(await filter({ after: 2, count: '0x2' })).toEqual(['1.1', '1.2'])
    expect(await filter({ after: 4 })).toEqual(['3.0'])
    expect(await filter({ after: 9 })).toEqual([])
    expect(await filter({ count: 0 })).toEqual([])
  })

  test('within limits', async () => {
    const limits = { ...TEST_LIMITS, logResults: 3, logBlockRange: 4 }
    const limited = (wanted: object) => invokeError(METHODS.get('trace_filter')!, node.context({ limits }), wanted)
    expect(await limited({ fromBlock: '0x0' })).toMatchObject({ code: -32005, message: /too many results \(3\)/ })
    expect(await limited({ fromBlock: '0x0', toBlock: '0x4' })).toMatchObject({ message: /maximum block range 4/ })
    expect(await refusal('filter', { fromBlock: '0x2', toBlock: '0x1' })).toMatchObject({ code: -32602 })
    expect(await refusal('filter', { mode: 'both' })).toMatchObject({ code: -32602 })
    expect(await refusal('filter', { count: -1 })).toMatchObject({ code: -32602 })
  })
})

describe('replays', () => {
  test('show what changed and every opcode where they are asked for', async () => {
    const all = (await ask('replayBlockTransactions', '0x1', ['trace', 'stateDiff', 'vmTrace'])) as {
      transactionHash: string
      stateDiff: Record<string, unknown>
      vmTrace: { code: string; ops: { op: string; pc: number; sub: { ops: unknown[] } | null }[] }
    }[]
    expect(all.map(({ transactionHash }) => transactionHash)).toEqual([forwarded, reverted, created].map(hashOf))
    const [first] = all
    expect(first!.stateDiff[hex(counter)]).toEqual({
      balance: '=',
      code: '=',
      nonce: '=',
      storage: { [`0x${'00'.repeat(32)}`]: { '*': { from: `0x${'00'.repeat(32)}`, to: `0x${'00'.repeat(31)}01` } } },
    })
    expect(first!.stateDiff[alice.hex]).toMatchObject({ nonce: { '*': { from: '0x0', to: '0x1' } }, code: '=' })
    expect(first!.vmTrace.code).toBe(hex(FORWARDER))
    const inner = first!.vmTrace.ops.find(({ sub }) => sub !== null)!
    expect(inner.op).toBe('CALL')
    // COUNTER: PUSH0 SLOAD PUSH1 ADD DUP1 PUSH0 SSTORE …
    expect(inner.sub!.ops.slice(0, 7)).toMatchObject([
      { op: 'PUSH0', pc: 0, cost: 2, ex: { push: ['0x0'], mem: null, store: null }, sub: null },
      { op: 'SLOAD', cost: 2100, ex: { push: ['0x0'] } },
      { op: 'PUSH1', ex: { push: ['0x1'] } },
      { op: 'ADD', ex: { push: ['0x1'] } },
      { op: 'DUP1', ex: { push: ['0x1', '0x1'] } },
      { op: 'PUSH0' },
      { op: 'SSTORE', cost: 20_000, ex: { push: [], store: { key: '0x0', val: '0x1' } } },
    ])
    expect(inner.sub!.ops).toContainEqual(
      expect.objectContaining({
        op: 'MSTORE',
        ex: expect.objectContaining({ mem: { data: `0x${'00'.repeat(31)}01`, off: 0 } }),
      }),
    )
    const [alone] = [await ask('replayTransaction', hashOf(forwarded), ['trace'])]
    expect(alone).toEqual({ output: '0x', stateDiff: null, trace: expect.any(Array), vmTrace: null })
    expect(await ask('replayTransaction', hashOf(forwarded), [])).toMatchObject({ trace: [] })
    const born = all[2]!.stateDiff
    expect(Object.values(born)).toContainEqual({
      balance: { '+': '0x5' },
      code: { '+': '0x01' },
      nonce: { '+': '0x1' },
      storage: {},
    })
  })

  test('refuse what they do not know', async () => {
    expect(await refusal('replayTransaction', hashOf(forwarded), ['logs'])).toMatchObject({ code: -32602 })
    expect(await refusal('replayTransaction', hashOf(forwarded), 'trace')).toMatchObject({ code: -32602 })
  })
})

describe('calls', () => {
  const request = { from: alice.hex, to: hex(counter) }

  test('trace_call changes nothing, and takes overrides', async () => {
    expect(await ask('call', { to: hex(echo), data: '0xabcd' }, ['trace'])).toMatchObject({
      output: '0xabcd',
      trace: [{ result: { output: '0xabcd' } }],
    })
    const override = { [hex(echo)]: { code: hex(REVERTER) } }
    expect(await ask('call', { to: hex(echo), data: '0xab' }, ['trace'], 'latest', override)).toMatchObject({
      output: '0xab',
      trace: [{ error: 'Reverted' }],
    })
  })

  test('trace_callMany: each on what those before it changed', async () => {
    const answers = (await ask('callMany', [
      [request, ['stateDiff']],
      [request, ['stateDiff']],
    ])) as { stateDiff: Record<string, { storage: Record<string, { '*': { to: string } }> }> }[]
    const sums = answers.map(({ stateDiff }) => Object.values(stateDiff[hex(counter)]!.storage)[0]!['*'].to)
    expect(sums.map(BigInt)).toEqual([2n, 3n])
    const many = Array.from({ length: 1_001 }, () => [request, ['trace']])
    expect(await refusal('callMany', many)).toMatchObject({ code: -32005 })
    expect(await refusal('callMany', [[request]])).toMatchObject({ code: -32602 })
  })

  test('trace_rawTransaction takes a list of bytes, as cast sends it', async () => {
    const { transaction } = alice.sign({ nonce: 4n, to: address('ee'), value: 1n })
    const answer = await ask('rawTransaction', [...transaction.raw], ['trace'])
    expect(answer).toEqual(await ask('rawTransaction', hex(transaction.raw), ['trace']))
    expect(await refusal('rawTransaction', [1, 256], ['trace'])).toMatchObject({ code: -32602 })
  })

  test('trace_rawTransaction: as it would run now', async () => {
    const signed = alice.sign({ nonce: 4n, to: counter })
    const answer = await ask('rawTransaction', hex(signed.transaction.raw), ['trace', 'stateDiff'])
    expect(answer).toMatchObject({ trace: [{ action: { from: alice.hex, to: hex(counter) } }] })
    expect(await refusal('rawTransaction', '0x05c0', ['trace'])).toMatchObject({
      message: 'transaction type not supported',
    })
    expect(await refusal('rawTransaction', hex(alice.sign({ nonce: 9n }).transaction.raw), ['trace'])).toMatchObject({
      message: expect.stringContaining('nonce too high'),
    })
  })
})

describe('what would take too long or too much', () => {
  test('ends with the limit’s error', async () => {
    const limits = { ...TEST_LIMITS, callTimeoutMs: 50, callGas: 10n ** 12n }
    const call = (context: Parameters<MemoryNode['context']>[0], ...params: unknown[]) =>
      invokeError(METHODS.get('trace_call')!, node.context(context), ...params)
    expect(await call({ limits }, { to: hex(loop) }, ['trace'])).toMatchObject({ message: 'execution timeout' })
    const small = { ...TEST_LIMITS, responseBytes: 10_000 }
    expect(await call({ limits: small }, { to: hex(loop), gas: '0x10000' }, ['vmTrace'])).toMatchObject({
      code: -32003,
    })
  })

  test('blocks below the depth that the way in allows', async () => {
    const scope = { ...OWN_SCOPE, traceDepth: 1 }
    const request = { to: hex(loop), gas: '0x10000' }
    for (const [method, ...params] of [
      ['trace_block', '0x1'],
      ['trace_call', request, ['trace'], '0x1'],
      ['debug_traceCall', request, '0x1'],
      ['debug_traceCallMany', [{ transactions: [request] }], { blockNumber: '0x1' }],
    ] as const) {
      const error = await invokeError(METHODS.get(method)!, node.context({ scope }), ...params)
      expect(error, method).toMatchObject({ message: expect.stringContaining('RPC_TRACE_DEPTH allows 1 blocks') })
    }
    expect(await invoke(METHODS.get('trace_block')!, node.context({ scope }), '0x3')).toHaveLength(1)
  })
})
