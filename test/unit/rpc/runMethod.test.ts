import { beforeEach, expect, test } from 'vitest'
import { bytesKey, bytesToHex } from '../../../src/primitives/bytes.ts'
import { defineMethod } from '../../../src/rpc/method.ts'
import { createMemoryNode, type MemoryNode } from './memoryNode.ts'
import { createTestThread, type TestThread } from './rpcTestServer.ts'

let node: MemoryNode
let thread: TestThread
let here: number
let elsewhere: number

const quick = defineMethod({
  name: 'test_quick',
  queue: 'quick',
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
