import { request as httpRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createClientAddresses, forwardedFor, isLoopback } from '../../../src/config/clientAddress.ts'
import type { AddressRange } from '../../../src/config/valueKind.ts'
import { createCometTable, defineCometMethod } from '../../../src/rpc/comet/method.ts'
import { defineMethod } from '../../../src/rpc/jsonrpc/method.ts'
import { createMemoryNode } from '../../support/rpc/memoryNode.ts'
import {
  createTestThread,
  NO_COSMOS,
  startTestServer,
  type TestServer,
  type TestThread,
} from '../../support/rpc/rpcTestServer.ts'
import { openTestSocket } from '../../support/rpc/testSocket.ts'

const PROXIES: readonly AddressRange[] = [
  { address: '127.0.0.1', prefix: 32 },
  { address: '10.0.0.0', prefix: 8 },
  { address: '2001:db8:ffff::', prefix: 48 },
]

describe('the client of a connection', () => {
  const clients = createClientAddresses([])
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:DB8::5:6', '2001:db8:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['::2', '0:0:0:0::/64'],
    ['::1:2:3:4:5:6', '0:0:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, 'unknown'],
  ])('%s is %s', (address, client) => {
    expect(clients.of(address, undefined)).toBe(client)
    // A forwarded request is never the machine's own, which has no limits.
    const forwarded = client === '127.0.0.1' || client === '::1' ? `proxied ${client}` : client
    expect(clients.of(address, '198.51.100.1')).toBe(forwarded)
    expect(clients.of(address, '')).toBe(forwarded)
  })
})

describe('the client of a connection through proxies', () => {
  const clients = createClientAddresses(PROXIES)
  test.each([
    ['a proxy', '127.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['a proxy that writes IPv4 as IPv6', '::ffff:10.1.2.3', '::ffff:198.51.100.1', '198.51.100.1'],
    ['a proxy of IPv6', '2001:db8:ffff:1::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['what the client made up is left of its own address', '127.0.0.1', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['several proxies', '127.0.0.1', '1.1.1.1,198.51.100.1 , 10.9.9.9', '198.51.100.1'],
    ['with ports', '127.0.0.1', '198.51.100.1:4711, [2001:db8:ffff::2]:443', '198.51.100.1'],
    ['in brackets', '127.0.0.1', '[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['proxies only', '127.0.0.1', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['no header', '10.0.0.1', undefined, '10.0.0.1'],
    ['an empty header', '10.0.0.1', '', '10.0.0.1'],
    ['a client that is no proxy', '198.51.100.9', '198.51.100.1', '198.51.100.9'],
    ['no address', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['no address before a proxy', '10.0.0.1', '198.51.100.1, nonsense, 10.0.0.2', '10.0.0.1'],
    ['an empty hop', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
  ])('%s', (_, address, header, client) => {
    expect(clients.of(address, header)).toBe(client)
  })
})

describe('no forwarded request counts for the machine itself', () => {
  test.each([
    ['a trusted proxy names itself', PROXIES, '127.0.0.1', '127.0.0.1'],
    ['a trusted proxy names no address', PROXIES, '127.0.0.1', 'unix:'],
    ['a trusted proxy on another machine names loopback', PROXIES, '10.0.0.1', '::1'],
    ['a proxy that is not trusted', [], '127.0.0.1', '198.51.100.1'],
    ['a client that names loopback itself', [], '::ffff:127.0.0.1', '127.0.0.1'],
  ])('%s', (_, proxies, address, header) => {
    const client = createClientAddresses(proxies).of(address, header)
    expect(client).toMatch(/^proxied /)
    expect(isLoopback(client)).toBe(false)
  })

  test.each(['x-forwarded-for', 'forwarded', 'x-forwarded-proto', 'x-real-ip', 'via', 'cf-connecting-ip'])(
    '%s shows that a request was forwarded',
    (header) => {
      expect(forwardedFor((name) => (name === header ? 'x' : undefined))).toBe(header === 'x-forwarded-for' ? 'x' : '')
    },
  )

  test('the lines of X-Forwarded-For are one list, and no such header is none', () => {
    expect(forwardedFor((name) => (name === 'x-forwarded-for' ? ['a', 'b'] : undefined))).toBe('a,b')
    expect(forwardedFor(() => undefined)).toBeUndefined()
  })
})

test('a proxy that is not trusted is told of once', () => {
  const told: string[] = []
  const clients = createClientAddresses(PROXIES, (address) => told.push(address))
  clients.of('192.0.2.1', undefined)
  clients.of('10.0.0.1', '198.51.100.1')
  for (const address of ['192.0.2.1', '192.0.2.1', '192.0.2.2']) clients.of(address, '198.51.100.1')
  expect(told).toEqual(['192.0.2.1'])
})

describe('every transport knows its client', () => {
  const whoAmI = defineMethod({ name: 'test_client', runs: 'socket', run: ({ scope }) => scope.client })
  const comet = createCometTable([defineCometMethod({ name: 'client', params: [], run: ({ client }) => client })])
  const forwarded = (address: string) => ({ 'x-forwarded-for': `192.0.2.1, ${address}` })
  let thread: TestThread
  let server: TestServer

  beforeAll(async () => {
    const node = await createMemoryNode()
    thread = createTestThread(node, { extraMethods: [whoAmI] })
    server = await startTestServer(node, thread, {
      cosmos: { ...NO_COSMOS, comet },
      clients: createClientAddresses(PROXIES),
    })
  })
  afterAll(async () => {
    await server.close()
    expect(thread.logged).toEqual([])
  })

  const post = (path: string, method: string, headers: Record<string, string>): Promise<{ readonly result: unknown }> =>
    new Promise((resolve, reject) => {
      const all = { 'content-type': 'application/json', ...headers }
      const request = httpRequest(server.url + path, { method: 'POST', headers: all }, async (response) => {
        resolve(JSON.parse((await response.toArray()).join('')))
      })
      request.on('error', reject)
      request.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }))
    })

  test('the fast path: each request of a connection counts for its own', async () => {
    expect(await post('/', 'test_client', forwarded('198.51.100.1'))).toMatchObject({ result: '198.51.100.1' })
    expect(await post('/', 'test_client', forwarded('2001:db8::1'))).toMatchObject({ result: '2001:db8:0:0::/64' })
    expect(await post('/', 'test_client', {})).toMatchObject({ result: '127.0.0.1' })
  })

  test('the HTTP server', async () => {
    const headers = { ...forwarded('198.51.100.2'), origin: 'https://app.example' }
    expect(await post('/', 'test_client', headers)).toMatchObject({ result: '198.51.100.2' })
  })

  test("CometBFT's RPC", async () => {
    expect(await post('/rpc', 'client', forwarded('198.51.100.3'))).toMatchObject({ result: '198.51.100.3' })
    const get = await fetch(`${server.url}/rpc/client`, { headers: forwarded('198.51.100.4') })
    expect(await get.json()).toMatchObject({ result: '198.51.100.4' })
  })

  test('WebSockets', async () => {
    const { socket, ask } = await openTestSocket(server.wsUrl, forwarded('198.51.100.5'))
    expect(await ask('test_client')).toMatchObject({ result: '198.51.100.5' })
    socket.close()
    const comet = new WebSocket(`${server.url}/rpc/websocket`, { headers: forwarded('198.51.100.6') })
    const answer = new Promise((resolve) => comet.once('message', resolve))
    comet.once('open', () => comet.send('{"jsonrpc":"2.0","id":1,"method":"client"}'))
    expect(JSON.parse(String(await answer))).toMatchObject({ result: '198.51.100.6' })
    comet.close()
  })

  test('a request that any header shows to be forwarded is not the own machine’s, whatever it came by', async () => {
    const headers = { forwarded: 'for=127.0.0.1' }
    const client = 'proxied 127.0.0.1'
    expect(await post('/', 'test_client', headers)).toMatchObject({ result: client })
    const slow = { 'x-real-ip': '127.0.0.1', origin: 'https://app.example' }
    expect(await post('/', 'test_client', slow)).toMatchObject({ result: client })
    expect(await post('/rpc', 'client', { via: '1.1 proxy' })).toMatchObject({ result: client })
    const { socket, ask } = await openTestSocket(server.wsUrl, { 'x-forwarded-for': '127.0.0.1' })
    expect(await ask('test_client')).toMatchObject({ result: client })
    socket.close()
  })
})
