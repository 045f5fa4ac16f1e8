import fc from 'fast-check'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import { createCometSocket } from '../../../../src/rpc/comet/socket.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import { answerRest, createRestRouter } from '../../../../src/rpc/cosmos/rest/routes.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { RpcError } from '../../../../src/rpc/jsonrpc/errors.ts'
import { parseRequest } from '../../../../src/rpc/jsonrpc/message.ts'
import { answerString } from '../../../../src/rpc/jsonrpc/resultText.ts'
import { requestTextLimits, scanRequest } from '../../../../src/rpc/transport/scanRequest.ts'
import { createSocketMetrics } from '../../../../src/telemetry/metrics.ts'
import { runs } from '../../../propertyRuns.ts'

const SEED = 20_261_122
const NO_LIMITS = { messages: Infinity, values: Infinity, depth: Infinity }
const BODY_BYTES = 5 * 1_048_576

/** What the scan counts, counted in what `JSON.parse` gives. */
function countValues(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 1
  return Object.values(json).reduce((sum: number, value) => sum + countValues(value), 1)
}

function depthOf(json: unknown): number {
  if (typeof json !== 'object' || json === null) return 0
  return 1 + Math.max(0, ...Object.values(json).map(depthOf))
}

/** Characters that a wrong scan would take for structure, and others. */
const tricky = fc
  .array(
    fc.oneof(
      fc.constantFrom('"', '\\', '\\"', '[', ']', '{', '}', ',', ':', '\u2028', '\ud800', '😀', '\n', 'id', '\u0000'),
      fc.string(),
    ),
    { maxLength: 8 },
  )
  .map((parts) => parts.join(''))
const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    fc.oneof(
      tricky,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(tricky, tie('value'), { maxKeys: 6 }),
  ),
})).value
const text = fc
  .tuple(anyJson, fc.constantFrom(undefined, 1, '\t'), fc.constantFrom('', ' ', '\r\n'), fc.boolean())
  .map(([json, indent, edge, isEscaped]) => {
    const plain = JSON.stringify(json, undefined, indent)
    const written = isEscaped
      ? plain.replaceAll(/[\u0080-\uffff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
      : plain
    return `${edge}${written}${edge}`
  })

describe('a scan of a text', () => {
  test('counts as JSON.parse does', () => {
    fc.assert(
      fc.property(text, (request) => {
        const json: unknown = JSON.parse(request)
        const messages = Array.isArray(json) ? json.length : 0
        const found = scanRequest(request, NO_LIMITS)
        expect(found).toMatchObject({ exceeded: undefined, values: countValues(json), messages, end: request.length })
      }),
      { seed: SEED, numRuns: runs(1_000) },
    )
  })

  test('stops at exactly the limit', () => {
    fc.assert(
      fc.property(text, (request) => {
        const json: unknown = JSON.parse(request)
        const most = {
          values: countValues(json),
          depth: depthOf(json),
          messages: Array.isArray(json) ? json.length : 0,
        }
        expect(scanRequest(request, most).exceeded).toBeUndefined()
        for (const limit of ['values', 'depth', 'messages'] as const) {
          if (most[limit] === 0) continue
          if (limit === 'values' && most.values === 1) continue
          expect(scanRequest(request, { ...NO_LIMITS, [limit]: most[limit] - 1 }).exceeded).toBe(limit)
        }
      }),
      { seed: SEED, numRuns: runs(500) },
    )
  })

  test('a text that is not JSON gets a parse error, whatever is missing of it', () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.constantFrom('', '"', '[', '}', ',', '\\'), (request, position, put) => {
        const at = position % (request.length + 1)
        const broken = request.slice(0, at) + put + request.slice(at + 1)
        let isJson = true
        try {
          JSON.parse(broken)
        } catch {
          isJson = false
        }
        const outcome = parseRequest(broken, 1_000)
        if (isJson) expect(outcome).not.toBeInstanceOf(RpcError)
        else expect(outcome).toMatchObject({ code: -32700, message: 'parse error' })
      }),
      { seed: SEED, numRuns: runs(1_000) },
    )
  })
})

describe('parsed characters', () => {
  afterEach(() => vi.restoreAllMocks())

  const spyOnParse = (): (() => number) => {
    const parse = vi.spyOn(JSON, 'parse')
    return () => parse.mock.calls.reduce((sum, [parsed]) => sum + parsed.length, 0)
  }
  const longBatch = `[${'{},'.repeat(BODY_BYTES / 3 - 2)}{}]`
  const manyKeys = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[{${Array.from({ length: 380_000 }, (_, i) => `"${i}":0`).join()}}]}`
  const log = { error: () => {} }
  const overSocket = async (request: string): Promise<unknown> => {
    const protocol = createCometSocket({
      table: new Map(),
      hub: { add: () => () => {} } as never,
      log,
      responseBytes: 1e6,
      maxSubscriptions: 1,
    })
    return JSON.parse(answerString((await protocol.answer(request, OWN_SCOPE, {} as never)) ?? ''))
  }

  test('of a batch that is too long: those within the limit', () => {
    const parsed = spyOnParse()
    expect(parseRequest(longBatch, 1_000)).toMatchObject({ isBatch: true, isTooLong: true })
    expect(parsed()).toBe('{},'.repeat(1_000).length + 1)
  })

  test('of a request with too many values: none', () => {
    const parsed = spyOnParse()
    expect(parseRequest(manyKeys, 1_000)).toMatchObject({
      code: -32600,
      message: 'request has more than 120000 values',
    })
    expect(parsed()).toBe(0)
  })

  test.each([
    ['batch', longBatch, 'batch request exceeds maximum (100) allowed number of requests'],
    ['request', manyKeys, 'the request has more than 102000 values'],
  ])('of a %s that is too long for CometBFT: none', async (_, request, data) => {
    const parsed = spyOnParse()
    const registry = new Registry()
    const options = { log, responseBytes: 1e6, metrics: createSocketMetrics(registry) }
    const { status, json } = await answerCometPost(new Map(), request, OWN_SCOPE, options)
    expect(await registry.getSingleMetricAsString('coind_rpc_refused_total')).toContain('{reason="text"} 1')
    expect(parsed()).toBe(0)
    expect(status).toBe(200)
    expect(JSON.parse(json)).toEqual({ jsonrpc: '2.0', error: { code: -32600, message: 'Invalid Request', data } })
    const before = parsed()
    expect(await overSocket(request)).toMatchObject({ error: { code: -32600, data } })
    expect(parsed() - before).toBeLessThan(1_000)
  })

  test.each([
    ['nested too deeply', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, 'the request is nested too deeply'],
    [
      'too long',
      `{${Array.from({ length: 380_000 }, (_, i) => `"${i}":0`).join()}}`,
      'the request has more than 100000 values',
    ],
  ])('of a REST request that is %s: none, and it goes to no other thread', async (_, body, message) => {
    const registry = new Registry()
    const query = vi.fn()
    const options = { router: createRestRouter(QUERIES), port: { query }, metrics: createSocketMetrics(registry) }
    const request = { method: 'POST', url: '/cosmos/tx/v1beta1/simulate', height: undefined, body, scope: OWN_SCOPE }
    const parsed = spyOnParse()
    const { status, json } = await answerRest(options, request)
    expect(parsed()).toBe(0)
    expect(query).not.toHaveBeenCalled()
    expect([status, JSON.parse(json)]).toEqual([400, { code: 3, message, details: [] }])
    const refused = await registry.getSingleMetricAsString('coind_rpc_refused_total')
    expect(refused).toContain('{reason="text"} 1')
  })

  test('of a request for CometBFT over a WebSocket: all, once', async () => {
    const request = `{"jsonrpc":"2.0","id":1,"method":"nope","params":["${'x'.repeat(10_000)}"]}`
    const parsed = spyOnParse()
    await overSocket(request)
    expect(parsed()).toBeLessThan(1.5 * request.length)
  })
})

const hex = (bytes: number, i: number): string => `"0x${i.toString(16).padStart(2 * bytes, '0')}"`
const list = (length: number, item: (i: number) => string): string => Array.from({ length }, (_, i) => item(i)).join()
const call = (method: string, params: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"${method}","params":[${params}]}`

describe('what clients send is never refused', () => {
  test.each([
    ['a long transaction', call('eth_sendRawTransaction', `"0x${'f'.repeat(BODY_BYTES - 200)}"`)],
    ['1,000 topics', call('eth_getLogs', `{"topics":[[${list(1_000, (i) => hex(32, i))}]]}`)],
    [
      'thousands of slots',
      call('eth_call', `{},"latest",{"0x1":{"state":{${list(37_000, (i) => `${hex(32, i)}:${hex(32, i)}`)}}}}`),
    ],
    [
      'a batch of 1,000 requests with 100 values each',
      `[${list(1_000, () => call('eth_feeHistory', `"0x1","latest",[${list(100, String)}]`))}]`,
    ],
    [
      'a body full of addresses',
      `[${list(115, () => call('eth_getLogs', `{"address":[${list(1_000, (i) => hex(20, i))}]}`))}]`,
    ],
  ])('%s', (_, request) => {
    expect(request.length).toBeLessThanOrEqual(BODY_BYTES)
    expect(parseRequest(request, 1_000)).toMatchObject({ isTooLong: false })
  })

  test('a full batch of usual requests, whatever the limit of a batch', () => {
    const limits = requestTextLimits(100_000)
    const batch = `[${list(100_000, () => call('eth_call', '{"to":"0x1","data":"0x2","from":"0x3","value":"0x4"},"latest"'))}]`
    expect(scanRequest(batch, limits).exceeded).toBeUndefined()
  })
})
