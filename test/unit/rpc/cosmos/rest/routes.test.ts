import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineQuery } from '../../../../../src/modules/query/query.ts'
import { string } from '../../../../../src/primitives/protoSchema.ts'
import { createQueryTable, type NativeCall, type NativePort } from '../../../../../src/rpc/cosmos/queryPort.ts'
import { createRestRouter } from '../../../../../src/rpc/cosmos/rest/routes.ts'
import { createMemoryNode } from '../../../../support/rpc/memoryNode.ts'
import { createTestThread, NO_COSMOS, startTestServer, type TestServer } from '../../../../support/rpc/rpcTestServer.ts'

const calls: NativeCall[] = []
const port: NativePort = {
  query: async (_, call) => {
    calls.push(call)
    if (call.path.endsWith('Broken')) throw new Error('no view thread')
    return { kind: 'json', height: 7, json: '{"text":"yes"}' }
  },
}
const query = (name: string, get: string[], post: string[] = []) =>
  defineQuery({
    service: 'test.Query',
    name,
    get,
    post,
    request: { name: string(1) },
    response: { text: string(1) },
    run: () => ({ text: '' }),
  })
const queries = createQueryTable([
  query('One', ['/cosmos/one/{name}'], ['/cosmos/one']),
  query('Broken', ['/cosmos/broken']),
])

let server: TestServer
let logged: unknown[]

beforeAll(async () => {
  const node = await createMemoryNode()
  const thread = createTestThread(node)
  logged = thread.logged
  server = await startTestServer(node, thread, {
    cosmos: { ...NO_COSMOS, rest: { router: createRestRouter(queries), port } },
  })
})
afterAll(() => server.close())

describe('the gateway over HTTP', () => {
  it('answers GET with the height in both headers', async () => {
    const response = await fetch(`${server.url}/cosmos/one/a%20b`, { headers: { 'x-cosmos-block-height': '7' } })
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('x-cosmos-block-height')).toBe('7')
    expect(response.headers.get('grpc-metadata-x-cosmos-block-height')).toBe('7')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual({ text: 'yes' })
    expect(calls.at(-1)).toEqual({ path: '/test.Query/One', request: { json: '{"name":"a b"}' }, height: 7 })
  })

  it('gives a POST its body as the request, whatever type it is said to have', async () => {
    for (const type of ['application/json', 'text/plain']) {
      const response = await fetch(`${server.url}/cosmos/one`, {
        method: 'POST',
        headers: { 'content-type': type },
        body: '{"name":"x"}',
      })
      expect(response.status).toBe(200)
      expect(calls.at(-1)).toEqual({ path: '/test.Query/One', request: { json: '{"name":"x"}' }, height: 0 })
    }
  })

  it('answers HEAD and OPTIONS', async () => {
    expect((await fetch(`${server.url}/cosmos/one/a`, { method: 'HEAD' })).status).toBe(200)
    const preflight = await fetch(`${server.url}/cosmos/one/a`, {
      method: 'OPTIONS',
      headers: { 'access-control-request-headers': 'x-cosmos-block-height' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-headers')).toBe('x-cosmos-block-height')
  })

  it.each([
    ['GET', '/cosmos/two'],
    ['POST', '/cosmos/one/a'],
    ['GET', '/cosmos/'],
    ['GET', '/ibc/apps/transfer/v1/params'],
  ])('does not know %s %s', async (method, path) => {
    const response = await fetch(server.url + path, { method })
    expect(response.status).toBe(501)
    expect(response.headers.get('x-cosmos-block-height')).toBeNull()
    expect(await response.json()).toEqual({ code: 12, message: 'Not Implemented', details: [] })
  })

  it('refuses a request that is too long', async () => {
    const response = await fetch(`${server.url}/cosmos/one/a?name=${'x'.repeat(16_000)}&b=${'x'.repeat(400)}`)
    expect([400, 431]).toContain(response.status)
  })

  it('leaves other paths alone, except those that a module of another chain could have', async () => {
    expect((await fetch(`${server.url}/cosmosX`)).status).toBe(404)
    expect((await fetch(`${server.url}/feemarket/v1/params`)).status).toBe(501)
  })

  it('reports a lost view thread as an error of its own', async () => {
    expect((await fetch(`${server.url}/cosmos/broken`)).status).toBe(500)
    expect(logged).toHaveLength(1)
  })
})
