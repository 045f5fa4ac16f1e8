import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import type { ParamReader, RpcMethod } from '../../../src/rpc/jsonrpc/method.ts'
import { createFilterStore } from '../../../src/rpc/subscriptions/filters.ts'
import { createClientBudget } from '../../../src/rpc/transport/clientBudget.ts'
import { runs } from '../../propertyRuns.ts'
import { createMemoryNode, type MemoryNode } from '../../support/rpc/memoryNode.ts'
import { createTestThread, startTestServer, type TestServer, type TestThread } from '../../support/rpc/rpcTestServer.ts'
import { testAccount } from '../../support/rpc/testAccount.ts'
import { COUNTER, LOOP } from '../../support/rpc/testContracts.ts'

/**
 * Whatever clients send, each server keeps answering, nothing is logged as unexpected and nobody gets −32603. Two servers
 * share the filters, as with two socket threads. Seeds are fixed.
 */
const SEED = 20_261_121
const alice = testAccount('alice')
const CONTRACT = new Uint8Array(20).fill(0xcc)
const ENDLESS = new Uint8Array(20).fill(0xee)

/** Methods that wait for blocks, of which there are none here: they are asked for nothing that they would take. */
const WAITING: ReadonlySet<string> = new Set(['eth_sendRawTransactionSync', 'testing_commitBlockV1'])

let node: MemoryNode
let threads: readonly TestThread[]
let servers: readonly TestServer[]
let turn = 0

beforeAll(async () => {
  node = await createMemoryNode({
    accounts: [
      { address: alice.address, balance: 10n ** 24n },
      { address: CONTRACT, code: COUNTER },
      { address: ENDLESS, code: LOOP },
    ],
  })
  await node.produce([alice.sign({ to: CONTRACT, nonce: 0n })])
  await node.produce([alice.sign({ to: CONTRACT, nonce: 1n }), alice.sign({ nonce: 2n, data: COUNTER })])
  const filters = createFilterStore({ criteria: createClientBudget({ total: 1e8 }) })
  const limits = { callTimeoutMs: 50, callGas: 100_000n }
  threads = [createTestThread(node, { filters, limits }), createTestThread(node, { filters, limits })]
  servers = await Promise.all(
    threads.map((thread) => startTestServer(node, thread, { limits: { headersMs: 1_000, requestMs: 2_000 } })),
  )
})

afterEach(async () => {
  for (const server of servers) expect(await alive(server)).toBe('0x1dcc')
  for (const thread of threads) {
    expect(thread.logged).toEqual([])
    expect(thread.leases()).toBe(0)
  }
})

afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()))
})

interface Answer {
  readonly jsonrpc?: unknown
  readonly result?: unknown
  readonly error?: { readonly code: unknown; readonly message: unknown }
}

async function post(body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(servers[turn++ % 2]!.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: turn % 3 === 0 ? 'close' : 'keep-alive', ...headers },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  })
}

async function alive(server: TestServer): Promise<unknown> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
  const response = await fetch(server.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return ((await response.json()) as Answer).result
}

/** Each answer is well-formed and no error is an internal one. */
function checkAnswers(text: string): void {
  if (text === '') return
  const json = JSON.parse(text) as Answer | readonly Answer[]
  for (const answer of Array.isArray(json) ? (json as readonly Answer[]) : [json as Answer]) {
    expect(answer.jsonrpc).toBe('2.0')
    expect('result' in answer).not.toBe('error' in answer)
    if (answer.error === undefined) continue
    expect(Number.isInteger(answer.error.code) && typeof answer.error.message === 'string').toBe(true)
    expect(answer.error).not.toMatchObject({ code: -32603 })
  }
}

const address = bytesToHex(CONTRACT)

/** Values that parameters are likely to choke on, and such that some method takes. */
const TRICKY: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e308, -0, 2 ** 53, '', ' ', '0x', '0x0', '0x00', '0x1', '0xg', '1', 'latest'],
  ...['pending', 'earliest', 'safe', 'finalized', 'Latest', '\ud800', '\u0000', '__proto__', 'constructor', 'toString'],
  ...[
    `0x${'f'.repeat(64)}`,
    `0x${'f'.repeat(65)}`,
    `0x${'f'.repeat(16)}`,
    `0x${'0'.repeat(64)}`,
    `0x7${'f'.repeat(15)}`,
  ],
  ...[`0x${'ab'.repeat(2_000)}`, '9'.repeat(400), address, address.toUpperCase(), bytesToHex(ENDLESS), alice.hex],
  ...[
    [],
    [null],
    [[]],
    [[[[]]]],
    ['0x1', 1],
    [address],
    Array.from({ length: 1_100 }, () => address),
    [50, 20],
    [1e9, Number.NaN],
  ],
  ...[
    {},
    { __proto__: null, length: -1 },
    { toString: 1 },
    { blockNumber: '0x1' },
    { blockHash: 1 },
    { blockNumber: {} },
  ],
  ...[
    { to: address, data: '0x' },
    { to: bytesToHex(ENDLESS), gas: '0xffffff' },
    { from: alice.hex, value: `0x${'f'.repeat(64)}` },
  ],
  ...[
    { data: '0x00', input: '0x01' },
    { gas: '0xffffffffffffffff', gasPrice: '0x0', maxFeePerGas: '0x0' },
    { to: null, data: '0xfe' },
  ],
  ...[
    { type: '0x3', blobVersionedHashes: [], authorizationList: [{}] },
    { accessList: [{ address, storageKeys: [1] }] },
  ],
  ...[
    { nonce: '0x1', chainId: '0x1' },
    { fromBlock: '0x0', toBlock: '0xffffffffffff' },
    { fromBlock: '0x0', topics: [[], null, []] },
  ],
  ...[
    { topics: [[[[]]]] },
    { address: [1] },
    { address, topics: {} },
    { tracer: 'callTracer' },
    { tracer: 'x' },
    { tracer: 1 },
  ],
  ...[
    { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
    { tracer: 'callTracer', tracerConfig: 7, timeout: 'x' },
  ],
  ...[{ enableMemory: 'x', limit: -1 }, { timeout: '999h', reexec: -5 }, { [address]: { balance: '0x1', code: 5 } }],
  ...[
    { [address]: { state: {}, stateDiff: {} } },
    { [address]: { stateDiff: { '0x1': 'x' } } },
    { [address]: ['0x0', 5] },
    { x: {} },
  ],
  ...[
    { number: '0x0', time: -1 },
    { baseFeePerGas: `0x${'f'.repeat(64)}`, gasLimit: '0x0', feeRecipient: 'x', prevRandao: '0x' },
  ],
]

const junk = fc.anything({
  maxDepth: 3,
  maxKeys: 4,
  withNullPrototype: true,
  key: fc.constantFrom('to', 'from', 'data', 'address', 'topics', 'blockHash', '__proto__', 'gas', 'state', 'x'),
})
const value = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...TRICKY) }, { weight: 1, arbitrary: junk })

/** JSON, whatever the value holds: what JSON lacks becomes a text. */
function toJson(json: unknown): string {
  return JSON.stringify(json, (_, item: unknown) =>
    typeof item === 'bigint' || typeof item === 'symbol' ? String(item) : item,
  )
}

/** Those of `values` that a parameter can be read from. */
function readable(read: ParamReader<unknown>, values: readonly unknown[]): readonly unknown[] {
  return values.filter((json) => {
    try {
      read(json)
      return json !== null
    } catch {
      return false
    }
  })
}

/** For each parameter of a method the values that it takes, with hashes of what the node has. */
function takenBy({ params }: Pick<RpcMethod, 'params'>): (readonly unknown[])[] {
  const { hash, transactions } = node.blocks[2]!
  const known = [transactions[0]!.transaction.hash, transactions[1]!.transaction.hash, hash].map(bytesToHex)
  return params.map((read) => readable(read, [...known, ...TRICKY]))
}

describe('parameters', () => {
  test('of every method: each tricky value in each place', { timeout: 60_000 }, async () => {
    for (const method of threads[0]!.methods.values()) {
      const { name } = method
      const taken = takenBy(method)
      const lists: unknown[][] = []
      for (let place = 0; place < taken.length; place++) {
        const before = taken.slice(0, place).map((values) => values[0])
        for (const tricky of TRICKY) lists.push([...before, tricky])
      }
      if (WAITING.has(name)) lists.splice(0, lists.length, [alice.hex, '0x5'], ['0x02', {}])
      for (let start = 0; start < lists.length; start += 100) {
        const batch = lists
          .slice(start, start + 100)
          .map((list, id) => ({ jsonrpc: '2.0', id, method: name, params: list }))
        checkAnswers(await (await post(toJson(batch))).text())
      }
    }
  })

  test('of every method: random lists of values that it takes', { timeout: 60_000 }, async () => {
    let results = 0
    for (const method of threads[0]!.methods.values()) {
      if (method.params.length === 0 || WAITING.has(method.name)) continue
      const places = takenBy(method).map((values) => fc.constantFrom(...values))
      const lists = fc.sample(fc.tuple(...places), { seed: SEED, numRuns: runs(60) })
      const batch = lists.map((params, id) => ({ jsonrpc: '2.0', id, method: method.name, params }))
      const text = await (await post(toJson(batch))).text()
      checkAnswers(text)
      results += (JSON.parse(text) as Answer[]).filter((answer) => 'result' in answer).length
    }
    expect(results).toBeGreaterThan(1_000)
  })

  test('of any method: random lists of anything', async () => {
    const names = [...threads[0]!.methods.keys(), 'eth_subscribe', 'eth_unsubscribe', 'x_subscribe']
    const call = fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.nat(),
      method: fc.constantFrom(...names),
      params: fc.array(value, { maxLength: 5 }),
    })
    const batch = fc.array(call, { minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(batch, async (calls) => {
        const quick = calls.filter(({ method }) => !WAITING.has(method))
        checkAnswers(await (await post(toJson(quick))).text())
      }),
      { seed: SEED, numRuns: runs(100) },
    )
  })
})

describe('bodies', () => {
  const good =
    '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x00000000000000000000000000000000000000ee","latest"]}'

  test('requests of any shape', async () => {
    const message = fc.record(
      {
        jsonrpc: fc.constantFrom('2.0', '1.0', 2, null),
        id: junk,
        method: fc.oneof(junk, fc.constantFrom('eth_chainId', 'eth_subscribe')),
        params: junk,
      },
      { requiredKeys: [] },
    )
    const request = fc.oneof(message, fc.array(fc.oneof(message, junk), { maxLength: 8 }), junk)
    await fc.assert(
      fc.asyncProperty(request, async (json) => {
        const response = await post(toJson(json) ?? 'undefined')
        expect(response.status).toBe(200)
        checkAnswers(await response.text())
      }),
      { seed: SEED, numRuns: runs(300) },
    )
  })

  test('requests with bytes changed, cut out and put in', async () => {
    const change = fc.tuple(fc.nat(good.length), fc.nat(3), fc.uint8Array({ maxLength: 4 }))
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const bytes = [...Buffer.from(good)]
        for (const [at, remove, insert] of changes) bytes.splice(at, remove, ...insert)
        const response = await post(Uint8Array.from(bytes))
        expect(response.status).toBe(200)
        checkAnswers(await response.text())
      }),
      { seed: SEED, numRuns: runs(300) },
    )
  })

  const MEBIBYTES_5 = 5 * 2 ** 20
  test.each([
    ['deep lists', '['.repeat(2_600_000) + ']'.repeat(2_600_000)],
    ['deep lists without an end', '['.repeat(MEBIBYTES_5)],
    ['deep objects', `${'{"a":'.repeat(800_000)}1${'}'.repeat(800_000)}`],
    ['deep parameters', `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":${'['.repeat(250)}${']'.repeat(250)}}`],
    [
      'deep parameters in an object',
      `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[${'{"data":'.repeat(120)}1${'}'.repeat(120)},"latest"]}`,
    ],
    ['a huge batch', `[${'1,'.repeat(2_600_000)}1]`],
    ['many parameters', `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[${'0,'.repeat(2_600_000)}0]}`],
    [
      'many keys',
      `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{${Array.from({ length: 300_000 }, (_, i) => `"${i}":0`).join(',')}}]}`,
    ],
    ['a long string', `{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x${'ab'.repeat(2_600_000)}"]}`],
    ['a long id', `{"jsonrpc":"2.0","id":${'9'.repeat(2_000_000)},"method":"eth_chainId"}`],
    ['a long method', `{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(5_000_000)}"}`],
    [
      'a long number',
      `{"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":[${'9'.repeat(2_000_000)},"latest",[]]}`,
    ],
    ['backslashes', `{"jsonrpc":"2.0","id":1,"method":"x","params":["${'\\\\'.repeat(2_500_000)}\\""]}`],
    ['escaped quotes', `{"jsonrpc":"2.0","id":1,"method":"x","params":["${'\\"'.repeat(2_500_000)}"]}`],
    ['many ids', `{${'"id":1,'.repeat(600_000)}"jsonrpc":"2.0","method":"eth_chainId"}`],
  ])('%s', async (_, body) => {
    const response = await post(body)
    expect(response.status).toBe(200)
    checkAnswers(await response.text())
  })

  test('a batch of a thousand endless calls ends at its limits and leaves room for others', async () => {
    const params = [{ to: bytesToHex(ENDLESS), gas: '0x10000' }, 'latest']
    const calls = Array.from({ length: 300 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'eth_call', params }))
    const work = post(JSON.stringify(calls))
    const others = await Promise.all(servers.map(alive))
    expect(others).toEqual(['0x1dcc', '0x1dcc'])
    checkAnswers(await (await work).text())
  })
})

describe('sockets', () => {
  test('garbage on the wire', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.boolean(), async (bytes, looksRight) => {
        const socket = connect(servers[turn++ % 2]!.address.port, '127.0.0.1')
        socket.on('error', () => undefined)
        socket.write(looksRight ? 'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n' : '')
        socket.end(bytes)
        socket.resume()
        await once(socket, 'close')
      }),
      { seed: SEED, numRuns: runs(100) },
    )
  })

  test('clients that go away in the middle of anything', async () => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0"}]}'
    const request = `POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const upgrade =
      'GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n'
    for (const text of [request, upgrade]) {
      for (let length = 0; length <= text.length; length += 13) {
        const socket = connect(servers[turn++ % 2]!.address.port, '127.0.0.1')
        socket.on('error', () => undefined)
        await once(socket, 'connect')
        socket.write(text.slice(0, length))
        if (length % 2 === 0) await sleep(1)
        if (length % 3 === 0) socket.resetAndDestroy()
        else socket.destroy()
      }
    }
  })

  test('half-open sockets do not keep others from being served', async () => {
    const halves = await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        const socket = connect(servers[i % 2]!.address.port, '127.0.0.1')
        socket.on('error', () => undefined)
        await once(socket, 'connect')
        socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{')
        return socket.resume()
      }),
    )
    expect(await Promise.all(servers.map(alive))).toEqual(['0x1dcc', '0x1dcc'])
    await Promise.all(halves.map((socket) => once(socket, 'close')))
  })
})

describe('WebSocket', () => {
  test('messages of any shape, while blocks come', async () => {
    const names = [...threads[0]!.methods.keys(), 'eth_subscribe', 'eth_unsubscribe']
    const topic = fc.constantFrom('newHeads', 'logs', 'newPendingTransactions', 'syncing', 'x')
    const call = fc.oneof(
      fc.record({
        jsonrpc: fc.constant('2.0'),
        id: fc.nat(),
        method: fc.constantFrom(...names),
        params: fc.array(value, { maxLength: 3 }),
      }),
      fc.record({
        jsonrpc: fc.constant('2.0'),
        id: fc.nat(),
        method: fc.constant('eth_subscribe'),
        params: fc.tuple(topic, value),
      }),
    )
    const message = fc.oneof(call, fc.array(call, { maxLength: 4 }), junk).map((json) => toJson(json) ?? '')
    const texts = fc
      .sample(message, { seed: SEED, numRuns: runs(400) })
      .filter((text) => ![...WAITING].some((name) => text.includes(name)))
    const server = servers[0]!
    const socket = new WebSocket(server.wsUrl)
    await once(socket, 'open')
    const seen = Promise.withResolvers<void>()
    socket.on('message', (data: Buffer) => {
      const text = data.toString()
      if (text.includes('"last one"')) seen.resolve()
      else if (!text.startsWith('{"jsonrpc":"2.0","method"')) checkAnswers(text)
    })
    for (const [index, text] of texts.entries()) {
      socket.send(index % 5 === 0 ? Buffer.from(text) : text)
      if (index % 50 !== 0) continue
      await node.produce([alice.sign({ to: CONTRACT, nonce: 3n + BigInt(index / 50) })])
      for (const thread of threads) thread.feed.head(node.view())
    }
    await sleep(300)
    socket.send('{"jsonrpc":"2.0","id":"last one","method":"eth_chainId"}')
    await seen.promise
    socket.close()
    await once(socket, 'close')
  })

  test('frames that are wrong close their connection only', async () => {
    const frames = [
      'c180',
      '81ff',
      '8f80',
      '88028000',
      '8180ffffffff',
      '8185000000006869',
      '01026869',
      '80026869',
      '81fe0001',
    ]
    for (const frame of frames) {
      const socket = connect(servers[0]!.address.port, '127.0.0.1')
      socket.on('error', () => undefined)
      socket.write(
        'GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
      )
      await once(socket, 'data')
      socket.write(Buffer.from(frame, 'hex'))
      await sleep(5)
      socket.destroy()
    }
  })
})
