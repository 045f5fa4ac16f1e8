import fc from 'fast-check'
import { Registry } from 'prom-client'
import { beforeAll, describe, expect, test } from 'vitest'
import { type CallScope, monotonicMs, OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { RpcError } from '../../../../src/rpc/jsonrpc/errors.ts'
import { defineMethod, type ParamReader } from '../../../../src/rpc/jsonrpc/method.ts'
import { answerString } from '../../../../src/rpc/jsonrpc/resultText.ts'
import { createSocketMetrics } from '../../../../src/telemetry/metrics.ts'
import { runs } from '../../../propertyRuns.ts'
import { createMemoryNode, type MemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread, type TestThread } from '../../../support/rpc/rpcTestServer.ts'

const readAny: ParamReader<unknown> = (json) => json
let running = 0
let mostRunning = 0
/** Reading calls of one batch that run at a time. */
const OVERLAPPING = 16
const allRun = Promise.withResolvers<void>()
const release = Promise.withResolvers<void>()

const probes = [
  defineMethod({ name: 'test_fail', runs: 'socket', params: [], required: 0, run: () => fail('secret path /root') }),
  defineMethod({ name: 'test_failInView', runs: 'heavy', params: [], required: 0, run: () => fail('secret') }),
  defineMethod({
    name: 'test_revert',
    runs: 'heavy',
    params: [],
    required: 0,
    run: () => {
      throw new RpcError(3, 'execution reverted: no', '0x01')
    },
  }),
  defineMethod({
    name: 'test_big',
    runs: 'heavy',
    params: [readAny],
    required: 1,
    run: (_, length) => 'x'.repeat(Number(length)),
  }),
  defineMethod({
    name: 'test_slow',
    runs: 'heavy',
    params: [readAny],
    required: 1,
    run: async (_, name) => {
      running++
      mostRunning = Math.max(mostRunning, running)
      if (running === OVERLAPPING) allRun.resolve()
      await allRun.promise
      // More than these would have started by then.
      await new Promise((resolve) => setTimeout(resolve, 5))
      running--
      return name
    },
  }),
  defineMethod({
    name: 'test_produce',
    runs: 'heavy',
    params: [],
    required: 0,
    run: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      await node.produce([])
      return 'produced'
    },
  }),
  defineMethod({ name: 'test_forever', runs: 'socket', params: [], required: 0, run: () => release.promise }),
  defineMethod({ name: 'test_void', runs: 'socket', params: [], required: 0, run: () => undefined }),
  defineMethod({ name: 'test_bigint', runs: 'socket', params: [], required: 0, run: () => 1n }),
]

function fail(message: string): never {
  throw new TypeError(message)
}

let node: MemoryNode
let thread: TestThread

beforeAll(async () => {
  node = await createMemoryNode()
  thread = createTestThread(node, { extraMethods: probes, limits: { batchItems: 20, responseBytes: 5_000 } })
})

const answer = (text: string): Promise<string | undefined> => thread.answer(text)
const error = (id: string, code: number, message: string): string =>
  `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}}}`
const CHAIN_ID = '"0x1dcc"'

describe('a single request', () => {
  const parseError = error('null', -32700, 'parse error')
  const invalid = (id: string): string => error(id, -32600, 'invalid request')
  const result = (id: string, value = CHAIN_ID): string => `{"jsonrpc":"2.0","id":${id},"result":${value}}`
  const call = (rest: string): string => `{"jsonrpc":"2.0","id":1,${rest}}`
  const params = (message: string): string => error('1', -32602, message)
  const cases: readonly (readonly [name: string, request: string, answer: string | undefined])[] = [
    ['a call', call('"method":"eth_chainId","params":[]'), result('1')],
    ['no params', call('"method":"eth_chainId"'), result('1')],
    ['null params', call('"method":"eth_chainId","params":null'), result('1')],
    ['unknown members', call('"method":"eth_chainId","extra":{"id":9}'), result('1')],
    ['not JSON', '{"jsonrpc":', parseError],
    ['nothing', '', parseError],
    ['white space', ' \n', parseError],
    ['a byte order mark', `\ufeff${call('"method":"eth_chainId"')}`, parseError],
    ['nesting beyond all use', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, parseError],
    ['a number', '1', invalid('null')],
    ['null', 'null', invalid('null')],
    ['a string', '"eth_chainId"', invalid('null')],
    ['no version', '{"id":1,"method":"eth_chainId"}', invalid('1')],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"eth_chainId"}', invalid('1')],
    ['version as a number', '{"jsonrpc":2.0,"id":1,"method":"eth_chainId"}', invalid('1')],
    ['no method', '{"jsonrpc":"2.0","id":1}', invalid('1')],
    ['an empty method', call('"method":""'), invalid('1')],
    ['a method that is no string', call('"method":7'), invalid('1')],
    ['a list as id', '{"jsonrpc":"2.0","id":[1],"method":"eth_chainId"}', invalid('null')],
    ['an object as id', '{"jsonrpc":"2.0","id":{},"method":"eth_chainId"}', invalid('null')],
    ['an answer', '{"jsonrpc":"2.0","id":1,"result":"0x1"}', undefined],
    ['a notification', '{"jsonrpc":"2.0","method":"eth_chainId"}', undefined],
    ['a notification that fails', '{"jsonrpc":"2.0","method":"eth_nothing"}', undefined],
    [
      'duplicate keys: the last one counts',
      '{"jsonrpc":"2.0","id":1,"id":2,"method":"x","method":"eth_chainId"}',
      result('2'),
    ],
    ['escaped keys', '{"jsonrpc":"2.0","\\u0069d":1.50,"method":"eth_chainId"}', result('1.50')],
    ['__proto__', call('"method":"eth_chainId","__proto__":{"id":5}'), result('1')],
    [
      'an unknown method',
      call('"method":"ots_getApiLevel"'),
      error('1', -32601, 'the method ots_getApiLevel does not exist/is not available'),
    ],
    [
      'a name that all objects have',
      call('"method":"constructor"'),
      error('1', -32601, 'the method constructor does not exist/is not available'),
    ],
    [
      'a lone surrogate',
      call('"method":"\\ud800"'),
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"the method \\ud800 does not exist/is not available"}}',
    ],
    ['a long name', call(`"method":"${'m'.repeat(2049)}"`), error('1', -32600, 'method name too long: 2049 > 2048')],
    ['params by name', call('"method":"eth_chainId","params":{}'), params('non-array args')],
    ['params that are no list', call('"method":"eth_chainId","params":"x"'), params('non-array args')],
    ['one too many', call('"method":"eth_chainId","params":[1]'), params('too many arguments, want at most 0')],
    ['none of one', call('"method":"web3_sha3"'), params('missing value for required argument 0')],
    [
      'null for a required one',
      call('"method":"web3_sha3","params":[null]'),
      params('missing value for required argument 0'),
    ],
    [
      'the second is missing',
      call('"method":"eth_getBlockByNumber","params":["latest"]'),
      params('missing value for required argument 1'),
    ],
    [
      'a wrong value',
      call('"method":"web3_sha3","params":["12"]'),
      params(
        'invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go value of type hexutil.Bytes',
      ),
    ],
    [
      'a wrong value in a view thread',
      call('"method":"eth_getProof","params":["0x12",[],"latest"]'),
      params('invalid argument 0: hex string has length 2, want 40 for common.Address'),
    ],
    [
      'a revert',
      call('"method":"test_revert"'),
      '{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted: no","data":"0x01"}}',
    ],
    ['no result is null', call('"method":"test_void"'), result('1', 'null')],
    [
      'an answer that is too large',
      call('"method":"test_big","params":[5000]'),
      error('1', -32003, 'response too large'),
    ],
    [
      'eth_subscribe',
      call('"method":"eth_subscribe","params":["newHeads"]'),
      error('1', -32601, 'notifications not supported'),
    ],
    [
      'eth_unsubscribe',
      call('"method":"eth_unsubscribe","params":["0x1"]'),
      error('1', -32000, 'subscription not found'),
    ],
  ]
  test.each(cases)('%s', async (_, request, expected) => {
    expect(await answer(request)).toBe(expected)
  })

  const ids = ['0', '-1', '1.0', '1e3', '-0', '9007199254740993', '1e999', '"a\\"b"', '""', 'null', 'true', '"ünï"']
  test.each(ids)('the id %s comes back as it was sent', async (id) => {
    expect(await answer(`{"params":[],"method":"eth_chainId", "id" : ${id} ,"jsonrpc":"2.0"}`)).toBe(result(id))
  })

  test('disabled namespaces do not exist', async () => {
    for (const method of ['personal_sign', 'admin_peers', 'miner_start', 'ots_x', 'engine_x', 'eth_sendTransaction']) {
      const message = `the method ${method} does not exist/is not available`
      expect(await answer(call(`"method":"${method}"`))).toBe(error('1', -32601, message))
    }
  })

  test('every number that JSON allows comes back as an id', async () => {
    const number = fc.stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?$/)
    const text = fc.string().map((value) => JSON.stringify(value))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(number, text), { minLength: 1, maxLength: 5 }), async (items) => {
        const batch = items.map(
          ([id, noise]) =>
            `{"params":[],"id":7,"x":{"id":${noise},"y":[${noise}]},"id":${id},"jsonrpc":"2.0","method":"eth_chainId"}`,
        )
        const expected = items.map(([id]) => result(id))
        expect(await answer(`[${batch.join(' , ')}]`)).toBe(`[${expected.join(',')}]`)
      }),
      { seed: 1, numRuns: runs(200) },
    )
  })

  test.each(['test_fail', 'test_failInView', 'test_bigint'])(
    'what is unexpected in %s is logged and not told',
    async (name) => {
      const before = thread.logged.length
      expect(await answer(call(`"method":"${name}"`))).toBe(error('1', -32603, 'internal error'))
      expect(thread.logged.length).toBe(before + 1)
      thread.logged.length = 0
    },
  )

  test('a call that takes too long is answered, and keeps its view until it ends', async () => {
    const hasty = createTestThread(node, { extraMethods: probes, requestTimeoutMs: 20 })
    expect(await hasty.answer(call('"method":"test_forever"'))).toBe(error('1', -32002, 'request timed out'))
    expect(hasty.leases()).toBe(1)
    release.resolve()
    await release.promise
    await new Promise((resolve) => setImmediate(resolve))
    expect(hasty.leases()).toBe(0)
  })

  test('metrics name only methods that exist', async () => {
    const registry = new Registry()
    const metered = createTestThread(node, { metrics: createSocketMetrics(registry) })
    for (const method of ['eth_chainId', 'made_up', 'web3_sha3']) await metered.ask({ jsonrpc: '2.0', id: 1, method })
    const text = await registry.getSingleMetricAsString('coind_rpc_requests_total')
    expect(text).toContain('{method="eth_chainId",outcome="ok"} 1')
    expect(text).toContain('{method="unknown",outcome="-32601"} 1')
    expect(text).toContain('{method="web3_sha3",outcome="-32602"} 1')
    expect(text).not.toContain('made_up')
    for (const request of ['nonsense', '['.repeat(300), `[${'1,'.repeat(1_000)}1]`]) await metered.ask(request)
    expect(await registry.getSingleMetricAsString('coind_rpc_refused_total')).toContain('{reason="text"} 3')
  })
})

describe('a batch', () => {
  const call = (id: number | string, method: string, params: unknown[] = []) => ({ jsonrpc: '2.0', id, method, params })
  const idsOf = (answers: unknown): unknown[] => (answers as { id: unknown }[]).map(({ id }) => id)

  test('an empty one is an error, not a list', async () => {
    expect(await answer(' [ ] ')).toBe(error('null', -32600, 'empty batch'))
  })

  test('the limit itself is fine', async () => {
    const batch = Array.from({ length: 20 }, (_, id) => call(id, 'eth_chainId'))
    expect(idsOf(await thread.ask(batch))).toEqual(batch.map(({ id }) => id))
  })

  test('one too large is answered once, with the id of the first call', async () => {
    const batch = [
      { jsonrpc: '2.0', method: 'eth_chainId' },
      5,
      ...Array.from({ length: 20 }, () => call('first', 'eth_chainId')),
    ]
    expect(await answer(JSON.stringify(batch))).toBe(`[${error('"first"', -32600, 'batch too large')}]`)
    expect(await answer(`[${'1,'.repeat(20)}1]`)).toBe(`[${error('null', -32600, 'batch too large')}]`)
  })

  test('items that are wrong are answered in their places, notifications are not', async () => {
    const batch = [call(1, 'eth_chainId'), 7, { jsonrpc: '2.0', method: 'eth_chainId' }, call(2, 'x'), { id: 3 }, []]
    const text = await answer(JSON.stringify(batch))
    expect(text).toBe(
      `[{"jsonrpc":"2.0","id":1,"result":${CHAIN_ID}},${error('null', -32600, 'invalid request')},${error('2', -32601, 'the method x does not exist/is not available')},${error('3', -32600, 'invalid request')},${error('null', -32600, 'invalid request')}]`,
    )
  })

  test('only notifications and answers: nothing comes back', async () => {
    const batch = [
      { jsonrpc: '2.0', method: 'eth_chainId' },
      { jsonrpc: '2.0', id: 1, result: true },
    ]
    expect(await answer(JSON.stringify(batch))).toBeUndefined()
  })

  test('reading methods overlap, and answers keep the order of the requests', async () => {
    mostRunning = 0
    const batch = Array.from({ length: 20 }, (_, id) => call(id, 'test_slow', [id]))
    expect(idsOf(await thread.ask(batch))).toEqual(batch.map(({ id }) => id))
    expect(mostRunning).toBe(OVERLAPPING)
  })

  test('what changes something waits for what comes before it, and what comes after waits for it', async () => {
    const [filter] = (await thread.ask([call(0, 'eth_newBlockFilter')])) as [{ result: string }]
    const batch = [
      call(1, 'test_produce'),
      call(2, 'eth_getFilterChanges', [filter.result]),
      call(3, 'eth_getFilterChanges', [filter.result]),
      call(4, 'eth_uninstallFilter', [filter.result]),
      call(5, 'eth_getFilterChanges', [filter.result]),
    ]
    const answers = (await thread.ask(batch)) as { result?: unknown; error?: unknown }[]
    expect(answers.map(({ result, error: failure }) => result ?? failure)).toEqual([
      'produced',
      [expect.stringMatching(/^0x[0-9a-f]{64}$/)],
      [],
      true,
      { code: -32000, message: 'filter not found' },
    ])
  })

  test('what does not fit the answer is left out, what came before is kept', async () => {
    const batch = [2_000, 2_000, 2_000, 1].map((length, id) => call(id, 'test_big', [length]))
    const answers = (await thread.ask(batch)) as { result?: string; error?: unknown }[]
    expect(answers.map(({ result, error: failure }) => result?.length ?? failure)).toEqual([
      2_000,
      2_000,
      { code: -32003, message: 'response too large' },
      { code: -32003, message: 'response too large' },
    ])
  })

  test('what is not done in time is answered with an error', async () => {
    // The time is over as soon as the call that never ends has begun.
    let deadlineMs = monotonicMs() + 600_000
    const never = defineMethod({
      name: 'test_never',
      runs: 'socket',
      params: [],
      required: 0,
      run: () => {
        deadlineMs = monotonicMs()
        return new Promise(() => 0)
      },
    })
    const stuck = createTestThread(node, { extraMethods: [never] })
    const scope: CallScope = {
      ...OWN_SCOPE,
      get deadlineMs() {
        return deadlineMs
      },
    }
    const batch = [call(1, 'eth_chainId'), call(2, 'test_never'), call(3, 'eth_newBlockFilter')]
    const timeout = { code: -32002, message: 'request timed out' }
    expect(JSON.parse(answerString((await stuck.dispatcher.answer(JSON.stringify(batch), scope))!))).toMatchObject([
      { result: '0x1dcc' },
      { error: timeout },
      { error: timeout },
    ])
  })
})
