import type { DescService } from '@bufbuild/protobuf'
import { Code, type ConnectError, createClient, type Transport } from '@connectrpc/connect'
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web'
import { QueryBalanceRequest, QueryBalanceResponse } from 'cosmjs-types/cosmos/bank/v1beta1/query'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { typesOfAny } from '../../../../../src/rpc/cosmos/anyTypes.ts'
import { describeMethods } from '../../../../../src/rpc/cosmos/grpc/descriptors.ts'
import { grpcServices } from '../../../../../src/rpc/cosmos/grpc/services.ts'
import { QUERIES } from '../../../../../src/rpc/cosmos/queries.ts'
import { frame, readFrames } from '../../../../support/rpc/cosmos/grpc/grpcCall.ts'
import { makeHistory, OTHER } from '../../../../support/rpc/cosmos/nativeHistory.ts'
import { createNativeNode, type NativeNode } from '../../../../support/rpc/cosmos/nativeNode.ts'
import { createMemoryNode } from '../../../../support/rpc/memoryNode.ts'
import { createTestThread, NO_COSMOS, startTestServer, type TestServer } from '../../../../support/rpc/rpcTestServer.ts'

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

  const postText = (type: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(new URL(BALANCE, server.url), { method: 'POST', headers: { 'content-type': type, ...headers }, body })
  const request = () => frame(QueryBalanceRequest.encode({ address: OTHER.bech32, denom: 'acoin' }).finish())

  test.each([
    'application/grpc-web-text',
    'application/grpc-web-text+proto',
    'Application/gRPC-Web-Text; charset=UTF-8',
  ])('the text form: %s is base64 both ways', async (type) => {
    const response = await postText(type, request().toString('base64'), { 'x-grpc-web': '1' })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/grpc-web-text+proto'])
    const text = await response.text()
    expect(text).toMatch(/^[A-Za-z0-9+/]+={0,2}$/)
    const [message, trailers] = readFrames(Buffer.from(text, 'base64'))
    expect(QueryBalanceResponse.decode(message!).balance?.amount).toBe('5000000000000000007')
    expect(Buffer.from(trailers!).toString()).toContain('grpc-status: 0')
  })

  test('the text form may come in pieces that are padded each, and a binary request may ask for it', async () => {
    const bytes = request()
    const pieces = [bytes.subarray(0, 4), bytes.subarray(4, 9), bytes.subarray(9)]
    const text = pieces.map((piece) => piece.toString('base64')).join('')
    expect(text).toMatch(/=[^=]/)
    const read = async (response: Response) =>
      QueryBalanceResponse.decode(readFrames(Buffer.from(await response.text(), 'base64'))[0]!).balance?.denom
    expect(await read(await postText('application/grpc-web-text', text))).toBe('acoin')
    const accept = { accept: 'application/grpc-web-text' }
    expect(await read(await fetchBinary(accept))).toBe('acoin')
  })
  const fetchBinary = (headers: Readonly<Record<string, string>>) =>
    fetch(new URL(BALANCE, server.url), {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto', ...headers },
      body: new Uint8Array(request()),
    })

  test('errors of the text form are base64 too; what is no base64, or too long, is refused', async () => {
    const wrong = frame(QueryBalanceRequest.encode({ address: 'coin1', denom: 'acoin' }).finish())
    const response = await postText('application/grpc-web-text', wrong.toString('base64'))
    const status =
      response.headers.get('grpc-status') ?? Buffer.from(await response.text(), 'base64').toString('latin1')
    expect(status).toMatch(/^3$|grpc-status: 3/)
    const refused = async (text: string) => {
      const { status, body } = await postText('application/grpc-web-text', text).then(async (got) => ({
        status: got.status,
        body: await got.text(),
      }))
      return [status, body]
    }
    for (const text of ['AAAA!', 'AAA', 'AAAA=AAA', 'A===', 'AA==='.repeat(2), 'AAA='.repeat(65)])
      expect([text, ...(await refused(text))]).toEqual([text, 400, 'the body is not base64'])
    expect(await refused('A'.repeat(400_000))).toEqual([413, 'content length too large (>352256)'])
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
