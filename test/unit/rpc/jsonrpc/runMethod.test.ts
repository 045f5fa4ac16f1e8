import { beforeEach, expect, test } from 'vitest'
import { bytesKey, bytesToHex } from '../../../../src/primitives/bytes.ts'
import { defineMethod, type RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { METHODS } from '../../../../src/rpc/jsonrpc/methodTable.ts'
import { serveViewCall } from '../../../../src/rpc/jsonrpc/runMethod.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread, type TestThread } from '../../../support/rpc/rpcTestServer.ts'
import { testAccount } from '../../../support/rpc/testAccount.ts'

let node: MemoryNode
let thread: TestThread
let here: number
let elsewhere: number

const quick = defineMethod({
  name: 'test_quick',
  runs: 'quick',
  params: [],
  required: 0,
  run: async () => {
    here++
    return 'here'
  },
})

beforeEach(async () => {
  node = await createMemoryNode()
  here = 0
  elsewhere = 0
  thread = createTestThread(node, {
    extraMethods: [quick],
    views: {
      call: async (queue) => {
        expect(queue).toBe('cheap')
        elsewhere++
        return '"elsewhere"'
      },
    },
  })
})

const CALL = { jsonrpc: '2.0', id: 1, method: 'test_quick' }

test('quick methods run in the socket thread until they have taken enough of a turn, then in a view thread', async () => {
  for (let round = 1; round <= 2; round++) {
    const answers = (await Promise.all(Array.from({ length: 200 }, () => thread.ask(CALL)))) as { result: string }[]
    expect(answers.map(({ result }) => result)).toEqual([...Array(128).fill('here'), ...Array(72).fill('elsewhere')])
    expect([here, elsewhere]).toEqual([128 * round, 72 * round])
    await new Promise((resolve) => setImmediate(resolve))
  }
})

test('those of a batch stay in the socket thread, so that they keep their order', async () => {
  const batches = Array.from({ length: 20 }, () => thread.ask(Array.from({ length: 20 }, () => CALL)))
  for (const answers of await Promise.all(batches)) {
    expect((answers as { result: string }[]).map(({ result }) => result)).toEqual(Array(20).fill('here'))
  }
  expect([here, elsewhere]).toEqual([400, 0])
})

test('all run in a view thread where they are not quick', async () => {
  const slow = createTestThread(node, {
    extraMethods: [quick],
    runsQuickCalls: false,
    views: { call: async () => '"elsewhere"' },
  })
  expect(await slow.ask(CALL)).toMatchObject({ result: 'elsewhere' })
  expect(await slow.ask([CALL, CALL])).toMatchObject([{ result: 'elsewhere' }, { result: 'elsewhere' }])
})

test('a call that comes upon a bug fails alone, and is logged', async () => {
  const address = new Uint8Array(20).fill(0xba)
  const run = () => {
    throw new TypeError('a bug')
  }
  const broken = await createMemoryNode({ precompiles: new Map([[bytesKey(address), { address, run }]]) })
  const ownThread = createTestThread(broken)
  const ask = (method: string, to: Uint8Array) =>
    ownThread.ask({ jsonrpc: '2.0', id: 1, method, params: [{ to: bytesToHex(to) }, 'latest'] })
  for (const method of ['eth_call', 'eth_estimateGas', 'eth_createAccessList', 'debug_traceCall']) {
    ownThread.logged.length = 0
    expect(await ask(method, address)).toMatchObject({ error: { code: -32603, message: 'internal error' } })
    expect(ownThread.logged.length).toBe(1)
  }
  expect(await ask('eth_call', new Uint8Array(20).fill(0xbb))).toMatchObject({ result: '0x' })
})

test('whole blocks are decoded in the socket thread when they are among the newest, all others in a view thread', async () => {
  const sender = testAccount('one')
  const chain = await createMemoryNode({ accounts: [{ address: sender.address, balance: 10n ** 20n }] })
  for (let nonce = 0n; nonce < 9n; nonce++)
    await chain.produce([sender.sign({ nonce, to: sender.address, gasLimit: 21_000n })])
  const decoded = { socket: [] as number[], view: [] as number[] }
  const watched = (where: number[], context: RpcContext): RpcContext => {
    const note =
      <T>(read: (height: number) => T) =>
      (height: number): T => {
        where.push(height)
        return read(height)
      }
    const { chain: reader } = context.view
    const bodies = { transactions: note(reader.transactions), receipts: note(reader.receipts), size: note(reader.size) }
    return { ...context, view: { ...context.view, chain: { ...reader, ...bodies } } }
  }
  const own = createTestThread(
    { ...chain, context: (overrides) => watched(decoded.socket, chain.context(overrides)) },
    {
      views: {
        call: (_, method, params, scope) =>
          serveViewCall(
            METHODS,
            watched(decoded.view, chain.context({ scope })),
            { method, params },
            { error: () => undefined },
          ),
      },
    },
  )
  const ask = (method: string, ...params: unknown[]) => own.ask({ jsonrpc: '2.0', id: 1, method, params })
  const requestsOf = async (height: number) => {
    const { hash, transactions } = chain.blocks[height]!
    const [block, transaction] = [bytesToHex(hash), bytesToHex(transactions[0]!.transaction.hash)]
    const number = `0x${height.toString(16)}`
    const answers = [
      await ask('eth_getTransactionByHash', transaction),
      await ask('eth_getRawTransactionByHash', transaction),
      await ask('debug_getRawTransaction', transaction),
      await ask('eth_getTransactionReceipt', transaction),
      await ask('eth_getTransactionByBlockNumberAndIndex', number, '0x0'),
      await ask('eth_getTransactionByBlockHashAndIndex', block, '0x0'),
      await ask('eth_getRawTransactionByBlockHashAndIndex', block, '0x0'),
      await ask('eth_getBlockTransactionCountByNumber', number),
      await ask('eth_getBlockTransactionCountByHash', block),
    ]
    for (const answer of answers) expect(answer).toMatchObject({ result: expect.anything() })
  }
  for (const height of [1, 4]) await requestsOf(height)
  expect(decoded.socket).toEqual([])
  expect(new Set(decoded.view)).toEqual(new Set([1, 4]))
  decoded.view.length = 0
  for (const height of [5, 9]) await requestsOf(height)
  expect(new Set(decoded.socket)).toEqual(new Set([5, 9]))
  expect(decoded.view).toEqual([])
})
