import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { ProtobufWriter } from '../../../../src/primitives/protobuf.ts'
import type { AnyMessageType } from '../../../../src/primitives/protoScalars.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import type { NativeQuery } from '../../../../src/rpc/cosmos/queryPort.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { runs } from '../../../propertyRuns.ts'
import { CONSENSUS, HOLDER, makeHistory, OPERATOR } from '../../../support/rpc/cosmos/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../../../support/rpc/cosmos/nativeNode.ts'

let node: NativeNode

beforeAll(async () => {
  node = await createNativeNode()
  await makeHistory(node)
})
afterAll(() => node.close())

/** What a field may be where another one is wrong. */
const RIGHT: Readonly<Record<string, string>> = {
  address: HOLDER,
  granter: HOLDER,
  grantee: HOLDER,
  voter: HOLDER,
  depositor: HOLDER,
  delegator_addr: HOLDER,
  delegator_address: HOLDER,
  validator_addr: OPERATOR,
  validator_address: OPERATOR,
  cons_address: CONSENSUS,
  proposal_id: '1',
  height: '2',
  denom: 'acoin',
}

const WRONG = [
  '',
  '-1',
  '1.5',
  '99999999999999999999999999',
  '18446744073709551615',
  '-9223372036854775808',
  'abc',
  HOLDER,
  OPERATOR,
  `${HOLDER.slice(0, -1)}q`,
  '\u0000',
  '💩',
  'AAAA',
  'x'.repeat(3_000),
] as const

/** Names of a request's fields, `pagination.key` too. */
function fieldsOf({ fields }: AnyMessageType, prefix = '', depth = 0): string[] {
  return fields.flatMap(({ jsonName, codec }) => {
    const nested = codec.messageType
    if (nested === undefined) return [prefix + jsonName]
    return depth > 0 ? [] : fieldsOf(nested(), `${prefix}${jsonName}.`, depth + 1)
  })
}

function urlOf(template: string, values: Readonly<Record<string, string>>): string {
  const used = new Set<string>()
  const path = template.replace(/\{(\w+)(=\*\*)?\}/g, (_, name: string) => {
    used.add(name)
    return encodeURIComponent(values[name] ?? RIGHT[name] ?? 'x')
  })
  const query = Object.entries(values).filter(([name]) => !used.has(name))
  return `${path}?${new URLSearchParams(query)}`
}

function expectAnswered(answer: { readonly status: number; readonly json: unknown }, of: string): void {
  expect([200, 400, 404, 429, 501], of).toContain(answer.status)
  if (answer.status !== 200) {
    expect(answer.json, of).toEqual({ code: expect.any(Number), message: expect.any(String), details: [] })
  }
}

const queries = [...QUERIES.values()].map((query): [string, NativeQuery] => [query.path, query])

describe('whatever a client sends, no query fails with an internal error', () => {
  it.each(queries)('%s', async (_, query) => {
    const { request, rest } = query
    for (const { method, template } of rest) {
      if (method === 'GET') {
        const fields = fieldsOf(request)
        expectAnswered(await node.get(urlOf(template, {})), template)
        for (const field of fields) {
          for (const value of WRONG) {
            const url = urlOf(template, { [field]: value })
            expectAnswered(await node.get(url), url.slice(0, 300))
          }
        }
        // All of the fields at once, twice, in brackets.
        expectAnswered(await node.get(urlOf(template, Object.fromEntries(fields.map((name) => [name, '1'])))), template)
        const twice = fields.flatMap((name) => [`${name}=1`, `${name}=2`, `${name}[a]=1`]).join('&')
        expectAnswered(await node.get(`${urlOf(template, {})}&${twice}`), template)
      } else {
        for (const body of ['', '{}', '[]', 'null', '{', '{"__proto__":1}', '\u0000']) {
          expectAnswered(await node.post(template, body), `${template} ${body}`)
        }
        for (const field of fieldsOf(request)) {
          for (const value of [null, 1, -1, true, [], {}, [[]], '', '*', 'AAAA', 'x'.repeat(3_000)]) {
            expectAnswered(await node.post(template, { [field]: value }), `${template} ${field}`)
          }
        }
      }
    }
    expect(node.logged).toEqual([])
  })

  it.each(queries)('%s with bytes for a request', async (path, { request }) => {
    const numbers = request.fields.map(({ number }) => number)
    const field = fc.constantFrom(...numbers, 1, 77)
    const part = fc.oneof(
      fc
        .tuple(field, fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n))
        .map(([at, value]) => new ProtobufWriter().varint(at, value).finish()),
      fc
        .tuple(
          field,
          fc.oneof(
            fc.uint8Array({ maxLength: 30 }),
            fc.constantFrom(...WRONG).map((text) => Buffer.from(text)),
          ),
        )
        .map(([at, value]) => new ProtobufWriter().bytes(at, value).finish()),
      fc.uint8Array({ maxLength: 8 }),
    )
    const requests = fc.array(part, { maxLength: 4 }).map((parts) => new Uint8Array(Buffer.concat(parts)))
    await fc.assert(
      fc.asyncProperty(requests, fc.constantFrom(0, 0, 1, 4, 9), async (protobuf, height) => {
        const answer = await node.port.query('cheap', { path, request: { protobuf }, height }, OWN_SCOPE)
        if (answer.kind === 'error') expect([2, 3, 5, 8, 9]).toContain(answer.code)
        else expect(answer.kind).toBe('protobuf')
      }),
      { numRuns: runs(8) },
    )
    expect(node.logged).toEqual([])
  })
})

it('a query that comes upon a bug fails alone, and is logged', async () => {
  const url = '/cosmos/mint/v1beta1/params'
  const query = QUERIES.get('/cosmos.mint.v1beta1.Query/Params')!
  vi.spyOn(query, 'run').mockImplementationOnce(() => {
    throw new TypeError('a bug')
  })
  expect(await node.get(url)).toMatchObject({ status: 500, json: { code: 13, message: 'internal error' } })
  expect(node.logged.splice(0)).toMatchObject([{ error: { message: 'a bug' } }])
  expect(await node.get(url)).toMatchObject({ status: 200 })
})
