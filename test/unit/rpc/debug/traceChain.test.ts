import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { openTraceChain } from '../../../../src/rpc/debug/traceChain.ts'
import { type CallScope, OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { serverError } from '../../../../src/rpc/jsonrpc/errors.ts'
import type { RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread, startTestServer, type TestServer } from '../../../support/rpc/rpcTestServer.ts'
import { openTestSocket, type TestSocket } from '../../../support/rpc/testSocket.ts'

/** Traces that the view threads were asked for, and what answers them. */
let calls: { readonly method: string; readonly params: readonly unknown[]; readonly scope: CallScope }[]
let answer: (number: string) => Promise<string>

let headerAnswer: (number: string) => string

let node: MemoryNode
let server: TestServer
let client: TestSocket

beforeAll(async () => {
  node = await createMemoryNode()
  for (let height = 1; height <= 5; height++) await node.produce()
})

beforeEach(async () => {
  calls = []
  answer = async (number) => (number === '0x2' ? `[{"txHash":"0x01","result":"of ${number}"}]` : '[]')
  headerAnswer = (number) => JSON.stringify({ hash: hashOf(Number(number)) })
  const views = {
    call: async (queue: string, method: string, params: readonly unknown[], scope: CallScope) => {
      if (method === 'eth_getHeaderByNumber') {
        expect(queue).toBe('heavy')
        return headerAnswer(params[0] as string)
      }
      expect(queue).toBe('trace')
      calls.push({ method, params, scope })
      return answer(params[0] as string)
    },
  }
  server = await startTestServer(node, createTestThread(node, { views }))
  client = await openTestSocket(server.wsUrl)
})

afterEach(async () => {
  client.socket.terminate()
  await server.close()
})

const subscribe = async (...params: readonly unknown[]): Promise<{ result?: string; error?: { message: string } }> =>
  (await client.ask('debug_subscribe', ['traceChain', ...params])) as { result?: string; error?: { message: string } }
const hashOf = (height: number): string => bytesToHex(node.view().chain.hash(height)!)
const notification = (subscription: string | undefined, result: unknown) => ({
  jsonrpc: '2.0',
  method: 'debug_subscription',
  params: { subscription, result },
})

describe('the subscription traceChain', () => {
  it('tells of the blocks with transactions in the range, and of the last', async () => {
    const config = { tracer: 'callTracer' }
    const { result: id } = await subscribe('0x0', '0x4', config)
    const traces = [{ txHash: '0x01', result: 'of 0x2' }]
    expect(await client.next()).toEqual(notification(id, { block: '0x2', hash: hashOf(2), traces }))
    expect(await client.next()).toEqual(notification(id, { block: '0x4', hash: hashOf(4), traces: [] }))
    expect(calls.map(({ method, params }) => [method, ...params])).toEqual(
      ['0x1', '0x2', '0x3', '0x4'].map((number) => ['debug_traceBlockByNumber', number, config]),
    )
  })

  it('ends with a block that cannot be traced', async () => {
    answer = async (number) => {
      if (number === '0x2') throw serverError('execution timeout')
      return '[]'
    }
    const { result: id } = await subscribe('0x0', 'latest')
    const traces = [{ error: 'execution timeout' }]
    expect(await client.next()).toEqual(notification(id, { block: '0x2', hash: hashOf(2), traces }))
    expect(calls).toHaveLength(2)
  })

  it('tells of the traces without a hash that cannot be read', async () => {
    headerAnswer = () => {
      throw serverError('too many requests, try again later')
    }
    const { result: id } = await subscribe('0x3', '0x4')
    expect(await client.next()).toEqual(notification(id, { block: '0x4', hash: null, traces: [] }))
  })

  it('reads no block in the thread of the connection: its bounds are those of the chain', () => {
    const chain = { headHeight: 9, base: 4, oldestBlock: 6 }
    const open = (first: string, last: string) => () =>
      openTraceChain(
        {
          lease: () => ({ context: { view: { chain } } as unknown as RpcContext, release: () => undefined }),
          views: { call: () => new Promise(() => undefined) },
          scope: OWN_SCOPE,
          log: { error: (fields) => expect.unreachable(String(fields)) },
        },
        ['traceChain', first, last],
      )
    expect(open('0x0', '0x4')).not.toThrow()
    expect(open('earliest', 'latest')).not.toThrow()
    expect(open('0x3', '0x5')).toThrow('pruned history unavailable: the oldest block is 6')
    expect(open('0x4', '0xa')).toThrow('block #10 not found')
  })

  it('is one of each connection at a time, and ends with it or when it is not wanted any more', async () => {
    answer = () => new Promise(() => undefined)
    const { result: id } = await subscribe('0x0', '0x4')
    await vi.waitFor(() => expect(calls).toHaveLength(1))
    expect(await subscribe('0x0', '0x4')).toMatchObject({ error: { code: -32005 } })
    expect(calls[0]!.scope.signal.aborted).toBe(false)
    expect(await client.ask('debug_unsubscribe', [id])).toMatchObject({ result: true })
    expect(calls[0]!.scope.signal.aborted).toBe(true)
    // What was ended may still be waiting for its block.
    expect((await subscribe('0x0', '0x4')).error).toBeUndefined()
    await vi.waitFor(() => expect(calls).toHaveLength(2))
    expect(await subscribe('0x0', '0x4')).toMatchObject({ error: { code: -32005 } })
  })

  it.each([
    [['0x3', '0x3'], 'end block (#3) needs to come after start block (#3)'],
    [['0x3', '0x9'], 'block #9 not found'],
    [['0x3'], 'missing value for required argument 2'],
    [['0x1', '0x3', 5], 'invalid argument 3: json: cannot unmarshal number into Go value of type tracers.TraceConfig'],
  ])('refuses %j', async (params, message) => {
    expect((await subscribe(...params)).error?.message).toBe(message)
  })

  it('is the only one of its namespace, and goes with it', async () => {
    expect(await client.ask('debug_subscribe', ['newHeads'])).toMatchObject({
      error: { message: 'no "newHeads" subscription in debug namespace' },
    })
    const thread = createTestThread(node)
    expect(
      await thread.ask({ jsonrpc: '2.0', id: 1, method: 'debug_subscribe', params: ['traceChain'] }),
    ).toMatchObject({
      error: { message: 'notifications not supported' },
    })
  })
})
