import { describe, expect, it } from 'vitest'
import { answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import { createCometTable, defineCometMethod } from '../../../../src/rpc/comet/method.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { createCometTest } from '../../../support/rpc/comet/cometNode.ts'
import { createSignedChain } from '../../../support/rpc/comet/signedChain.ts'

const { get, post } = createCometTest(createSignedChain([{}, {}, {}]))

const invalidParams = (reason: string) => ({
  error: { code: -32602, message: 'Invalid params', data: `error converting http params to arguments: ${reason}` },
})
const internal = (reason: string) => ({ error: { code: -32603, message: 'Internal error', data: reason } })

// The texts are those that CometBFT 0.38.19 answered to the same requests.
describe('parameters of GET', () => {
  it.each([
    ['block?height=0', internal('height must be greater than 0, but got 0')],
    ['block?height=-1', internal('height must be greater than 0, but got -1')],
    ['block?height=5', internal('height 5 must be less than or equal to the current blockchain height 3')],
    ['commit?height=5', internal('height 5 must be less than or equal to the current blockchain height 3')],
    ['validators?height=5', internal('height 5 must be less than or equal to the current blockchain height 4')],
    ['consensus_params?height=99', internal('height 99 must be less than or equal to the current blockchain height 4')],
    ['block?height=0x05', invalidParams("got a hex string arg, but expected 'int64'")],
    ['block?height=abc', invalidParams('invalid 64-bit integer encoding "abc", expected string')],
    ['block?height=1.5', invalidParams('invalid 64-bit integer encoding "1.5", expected string')],
    ['block?height=true', invalidParams('invalid 64-bit integer encoding "true", expected string')],
    ['block?height="x"', invalidParams("invalid character 'x' looking for beginning of value")],
    ['block?height="-"', invalidParams('unexpected end of JSON input')],
    [
      'block?height=99999999999999999999',
      invalidParams('json: cannot unmarshal number 99999999999999999999 into Go value of type int64'),
    ],
    ['validators?page=abc', invalidParams('invalid 64-bit integer encoding "abc", expected string')],
    ['genesis_chunked?chunk=-1', invalidParams('json: cannot unmarshal number -1 into Go value of type uint')],
    ['genesis_chunked?chunk=1', internal('there are 0 chunks, 1 is invalid')],
    ['header_by_hash?hash=0xzz', invalidParams("encoding/hex: invalid byte: U+007A 'z'")],
    ['block_by_hash?hash=abc', invalidParams("invalid character 'a' looking for beginning of value")],
    ['validators?page=0', internal('page should be within [1, 1] range, given 0')],
    ['validators?page=2', internal('page should be within [1, 1] range, given 2')],
    ['blockchain?minHeight=3&maxHeight=2', internal("min height 3 can't be greater than max height 2")],
    ['blockchain?minHeight=5', internal("min height 5 can't be greater than max height 3")],
    ['blockchain?minHeight=-1', internal('heights must be non-negative')],
    ['broadcast_evidence', internal('no evidence was provided')],
    ['broadcast_evidence?evidence={}', invalidParams('interface type cannot be empty')],
    ['header_by_hash', { header: null }],
    ['header_by_hash?hash=0x00', { header: null }],
    ['block_by_hash?hash=0x00', { block_id: { hash: '', parts: { total: 0, hash: '' } }, block: null }],
  ])('%s', async (path, expected) => {
    expect(await get(path)).toEqual(expected)
  })

  it.each(['block?height=2', 'block?height="2"', 'header?height=2', 'commit?height=%222%22'])(
    'a height may be quoted: %s',
    async (path) => {
      const answer = await get(path)
      const header = answer.header ?? answer.block?.header ?? answer.signed_header.header
      expect(header.height).toBe('2')
    },
  )

  it('digits beyond those of a 64-bit integer are not read', async () => {
    const digits = '2'.padStart(21, '0')
    const reason = `json: cannot unmarshal number ${digits} into Go value of type int64`
    expect(await get(`block?height=${digits}`)).toEqual(invalidParams(reason))
  })

  it.each(['', 'null'])('the value "%s" is none', async (value) => {
    expect((await get(`block?height=${value}`)).block.header.height).toBe('3')
  })
})

describe('POST', () => {
  const ok = (id: unknown, result: unknown) => ({ jsonrpc: '2.0', id, result })
  const bad = (id: unknown, code: number, message: string, data?: string) => ({
    jsonrpc: '2.0',
    ...(id === undefined ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) },
  })
  it.each(['9007199254740993', '1.5', '-0', '1e3', '123456789012345678901234567890'])(
    'the ID %s comes back as it was sent, alone and in a batch',
    async (id) => {
      const table = createCometTable([defineCometMethod({ name: 'health', params: [], run: () => ({}) })])
      const options = { log: { error: () => undefined }, responseBytes: 1e6 }
      const request = `{"id":${id},"method":"health"}`
      const answer = `{"jsonrpc":"2.0","id":${id},"result":{}}`
      expect((await answerCometPost(table, request, OWN_SCOPE, options)).json).toBe(answer)
      const both = await answerCometPost(table, `[${request},${request}]`, OWN_SCOPE, options)
      expect(both.json).toBe(`[${answer},${answer}]`)
    },
  )
  const parameters = (reason: string) =>
    bad('a', -32602, 'Invalid params', `error converting json params to arguments: ${reason}`)
  const unreadable = (reason: string) =>
    bad(undefined, -32700, 'Parse error. Invalid JSON', `error unmarshaling request: ${reason}`)
  const tooHigh = 'height 99999 must be less than or equal to the current blockchain height 3'

  it.each([
    ['{"jsonrpc":"2.0","id":1,"method":"health"}', 200, ok(1, {})],
    ['{"id":1,"method":"health"}', 200, ok(1, {})],
    ['{"jsonrpc":"2.0","id":1.7,"method":"health"}', 200, ok(1.7, {})],
    ['{"jsonrpc":"2.0","id":1,"method":"health","params":null}', 200, ok(1, {})],
    ['{"jsonrpc":"2.0","id":"a","method":"nope"}', 200, bad('a', -32601, 'Method not found')],
    ['{"jsonrpc":"2.0","id":"a"}', 200, bad('a', -32601, 'Method not found')],
    ['{"jsonrpc":"2.0","id":"a","method":null}', 200, bad('a', -32601, 'Method not found')],
    ['{"jsonrpc":"2.0","id":1,"method":5}', 500, unreadable('a method is not text')],
    ['{"jsonrpc":"2.0","id":"a","method":"toString"}', 200, bad('a', -32601, 'Method not found')],
    [
      '{"jsonrpc":"2.0","id":"a","method":"commit","params":["99999"]}',
      200,
      bad('a', -32603, 'Internal error', tooHigh),
    ],
    [
      '{"jsonrpc":"2.0","id":"a","method":"commit","params":{"height":99999}}',
      200,
      bad('a', -32603, 'Internal error', tooHigh),
    ],
    [
      '{"jsonrpc":"2.0","id":"a","method":"block","params":{"height":"1x"}}',
      200,
      parameters("invalid character 'x' after top-level value"),
    ],
    [
      '{"jsonrpc":"2.0","id":"a","method":"commit","params":[]}',
      200,
      parameters('expected 1 parameters ([height]), got 0'),
    ],
    [
      '{"jsonrpc":"2.0","id":"a","method":"commit","params":5}',
      200,
      parameters(
        'unknown type for JSON params: json: cannot unmarshal number into Go value of type []json.RawMessage. Expected map or array',
      ),
    ],
    [
      '{"jsonrpc":"2.0","id":"a","method":"validators","params":{"page":true}}',
      200,
      parameters('invalid 64-bit integer encoding "true", expected string'),
    ],
    [
      '{"jsonrpc":"2.0","id":"a","method":"block_by_hash","params":{"hash":true}}',
      200,
      parameters('json: cannot unmarshal bool into Go value of type []uint8'),
    ],
    [
      '{"jsonrpc":"2.0","id":"a","method":"block_by_hash","params":{"hash":"!!"}}',
      200,
      parameters('illegal base64 data at input byte 0'),
    ],
    ['[{"id":1,"method":"health"},{"id":2,"method":"nope"}]', 200, [ok(1, {}), bad(2, -32601, 'Method not found')]],
    ['[{"id":1,"method":"health"}]', 200, ok(1, {})],
    ['5', 500, unreadable('a request is not an object')],
    ['{"id":{},"method":"health"}', 500, unreadable('an ID is neither text nor a number')],
  ])('%s', async (text, status, expected) => {
    const answer = await post(text)
    expect([answer.status, JSON.parse(answer.json)]).toEqual([status, expected])
  })

  it.each(['{"jsonrpc":"2.0","method":"health"}', '{"id":null,"method":"health"}', '[]', '{}', 'null', '[null]'])(
    'nothing is answered to %s',
    async (text) => {
      expect(await post(text)).toEqual({ status: 200, json: '' })
    },
  )

  it('what is not JSON is a parse error', async () => {
    const { status, json } = await post('nonsense')
    expect([status, JSON.parse(json)]).toMatchObject([
      500,
      { error: { code: -32700, message: 'Parse error. Invalid JSON' } },
    ])
  })

  it('a batch has at most 100 requests', async () => {
    const request = { id: 1, method: 'health' }
    expect(JSON.parse((await post(Array(100).fill(request))).json)).toHaveLength(100)
    const { status, json } = await post(Array(101).fill(request))
    const reason = 'batch request exceeds maximum (100) allowed number of requests'
    expect([status, JSON.parse(json)]).toEqual([200, bad(undefined, -32600, 'Invalid Request', reason)])
  })

  it('the answers to a batch are bounded', async () => {
    const { json } = await post(
      [1, 2, 3].map((id) => ({ id, method: 'block' })),
      1_000,
    )
    const [first, second, third] = JSON.parse(json)
    expect(first.result.block.header.height).toBe('3')
    expect([second, third].map(({ error }) => error.code)).toEqual([-32000, -32000])
  })

  it('what is unexpected is logged and not told', async () => {
    const logged: unknown[] = []
    const fail = defineCometMethod({ name: 'fail', params: [], run: () => Promise.reject(new TypeError('secret')) })
    const { json } = await answerCometPost(createCometTable([fail]), '{"id":1,"method":"fail"}', OWN_SCOPE, {
      log: { error: (fields) => void logged.push(fields) },
      responseBytes: 1,
    })
    expect(JSON.parse(json)).toEqual(bad(1, -32603, 'Internal error'))
    expect(logged).toMatchObject([{ method: 'fail', error: { message: 'secret' } }])
  })
})
