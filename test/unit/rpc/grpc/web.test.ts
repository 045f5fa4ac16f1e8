import type { DescService } from '@bufbuild/protobuf'
import { Code, type ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
import { QueryBalanceRequest, QueryBalanceResponse } from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { describeMethods } from '../../../../src/rpc/grpc/descriptors.ts'
import { grpcServices } from '../../../../src/rpc/grpc/services.ts'
import { typesOfAny } from '../../../../src/rpc/native/anyTypes.ts'
import { QUERIES } from '../../../../src/rpc/native/queries.ts'
import { createMemoryNode } from '../memoryNode.ts'
import { makeHistory, OTHER } from '../native/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../native/nativeNode.ts'
import { createTestThread, NO_COSMOS, startTestServer, type TestServer } from '../rpcTestServer.ts'
import { frame, readFrames } from './grpcCall.ts'

let node: NativeNode
let server: TestServer

beforeAll(async () => {
  node = await createNativeNode()
  await makeHistory(node)
  const memory = await createMemoryNode()
  server = await startTestServer(memory, createTestThread(memory), {
    cosmos: {
      ...NO_COSMOS,
      grpc: { paths: QUERIES.keys(), services: async () => grpcServices({ queries: QUERIES, port: node.port }) },
    },
  })
})
afterAll(async () => {
  await server.close()
  expect(node.logged).toEqual([])
  await node.close()
})

const BALANCE = '/cosmos.bank.v1beta1.Query/Balance'
const bank = describeMethods(QUERIES.values(), typesOfAny()).getService('cosmos.bank.v1beta1.Query') as DescService

describe('the client of browsers', () => {
  const transports: readonly (readonly [string, () => Transport])[] = [
    ['gRPC-Web', () => createGrpcWebTransport({ baseUrl: server.url })],
    ['Connect with protobuf', () => createConnectTransport({ baseUrl: server.url, useBinaryFormat: true })],
    ['Connect with JSON', () => createConnectTransport({ baseUrl: server.url })],
  ]
  test.each(transports)('%s', async (_, transport) => {
    const client = createClient(bank, transport()) as unknown as Record<
      string,
      (request: object, options?: object) => Promise<Record<string, unknown>>
    >
    let height: string | null = null
    const answer = await client.balance!(
      { address: OTHER.bech32, denom: 'acoin' },
      { onHeader: (headers: Headers) => (height = headers.get('x-cosmos-block-height')) },
    )
    expect(answer.balance).toMatchObject({ denom: 'acoin', amount: '5000000000000000007' })
    expect(height).toBe('4')
    const error = (await client.balance!({ address: 'coin1', denom: 'acoin' }).catch(
      (caught) => caught,
    )) as ConnectError
    expect(error.code).toBe(Code.InvalidArgument)
  })
})

describe('gRPC-Web by its own words', () => {
  const post = (type: string, body: Buffer) =>
    fetch(new URL(BALANCE, server.url), {
      method: 'POST',
      headers: { 'content-type': type, origin: 'https://a.example' },
      body,
    })

  test('an answer is a frame and the trailers as another, for pages of other origins', async () => {
    const request = QueryBalanceRequest.encode({ address: OTHER.bech32, denom: 'acoin' }).finish()
    const response = await post('application/grpc-web+proto', frame(request))
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(response.headers.get('access-control-expose-headers')).toContain('x-cosmos-block-height')
    const [message, trailers] = readFrames(Buffer.from(await response.arrayBuffer()))
    expect(QueryBalanceResponse.decode(message!).balance?.denom).toBe('acoin')
    expect(Buffer.from(trailers!).toString()).toContain('grpc-status: 0')
  })

  test('a message has room for a transaction, not for a million values', async () => {
    const url = new URL('/cosmos.tx.v1beta1.Service/Simulate', server.url)
    const simulate = async (body: Buffer) =>
      (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/proto' }, body })).json()
    expect(await simulate(Buffer.alloc(262_146, Buffer.from([0x0a, 0])))).toMatchObject({ code: 'resource_exhausted' })
    expect(await simulate(Buffer.alloc(1_000, Buffer.from([0x0a, 0])))).toMatchObject({ code: 'invalid_argument' })
  })

  test('what is no frame or of another kind is refused', async () => {
    expect((await post('text/plain', Buffer.alloc(5))).status).toBe(415)
    const broken = await post('application/grpc-web', Buffer.from([0, 0, 0, 9, 9, 1]))
    const status = broken.headers.get('grpc-status') ?? Buffer.from(await broken.arrayBuffer()).toString()
    expect(status).toMatch(/^[1-9]|grpc-status: [1-9]/)
    expect((await fetch(new URL(BALANCE, server.url))).status).toBe(404)
  })
})
