import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { createPrivateAccess, readJwtSecret } from '../../../../src/rpc/transport/privateAccess.ts'
import { createMemoryNode } from '../../../support/rpc/memoryNode.ts'
import { createTestThread, startTestServer, type TestServer } from '../../../support/rpc/rpcTestServer.ts'

const NOW_MS = 1_790_000_000_000
const SECRET = new Uint8Array(32).fill(7)

const token = (options: Record<string, unknown> & { alg?: string; secret?: Uint8Array } = {}): Promise<string> => {
  const { alg = 'HS256', secret = SECRET, ...claims } = options
  return new SignJWT({ iat: NOW_MS / 1000, ...claims }).setProtectedHeader({ alg }).sign(secret)
}

describe('who may use the private listener', () => {
  const open = createPrivateAccess({ hostNames: ['localhost', 'node.lan'], jwtSecret: undefined, nowMs: () => NOW_MS })
  const locked = createPrivateAccess({ hostNames: ['localhost'], jwtSecret: SECRET, nowMs: () => NOW_MS })

  test.each([
    ['localhost:8545', true],
    ['LOCALHOST', true],
    ['node.lan:8081', true],
    ['127.0.0.1:8545', true],
    ['[::1]:8545', true],
    ['rebound.example:8545', false],
    ['localhost.example', false],
    ['node.lan@rebound.example', false],
    ['rebound.example@node.lan', false],
    ['node.lan/rebound.example', false],
    ['node.lan#rebound.example', false],
    ['node.lan\\rebound.example', false],
    ['node.lan.', false],
    ['', false],
    [':::', false],
  ])('host %s: %s', async (host, isAllowed) => {
    const refusal = await open.check({ host })
    expect(refusal?.status).toBe(isAllowed ? undefined : 403)
  })

  test('no web page', async () => {
    for (const origin of ['http://localhost:8545', 'https://a.example', 'null']) {
      expect(await open.check({ host: 'localhost', origin })).toMatchObject({ status: 403 })
    }
  })

  test('tokens as for the Engine API', async () => {
    const answers = async (authorization: string | undefined) =>
      (await locked.check({ host: 'localhost', ...(authorization === undefined ? {} : { authorization }) }))?.text
    expect(await answers(undefined)).toBe('missing token')
    expect(await answers('Basic abc')).toBe('missing token')
    expect(await answers(`Bearer ${await token()}`)).toBeUndefined()
    expect(await answers(`bearer ${await token({ iat: NOW_MS / 1000 - 59 })}`)).toBeUndefined()
    expect(await answers(`Bearer ${await token({ iat: NOW_MS / 1000 + 59 })}`)).toBeUndefined()
    expect(await answers(`Bearer ${await token({ iat: NOW_MS / 1000 - 61 })}`)).toContain('stale')
    expect(await answers(`Bearer ${await token({ iat: NOW_MS / 1000 + 61 })}`)).toContain('stale')
    expect(await answers(`Bearer ${await token({ secret: new Uint8Array(32) })}`)).toContain('invalid token')
    expect(await answers(`Bearer ${await token({ alg: 'HS512', secret: new Uint8Array(64) })}`)).toContain('invalid')
    // as cast sends it
    expect(await answers(`Bearer ${await token({ exp: null })}`)).toBeUndefined()
    expect(await answers(`Bearer ${await token({ exp: NOW_MS / 1000 - 1 })}`)).toBe('token is expired')
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{"iat":1}').toString('base64url')}.`
    for (const bad of [none, '..', 'a.b.c', '\u0000', 'x'.repeat(10_000)]) {
      expect(await answers(`Bearer ${bad}`)).toContain('invalid token')
    }
    expect(await answers(`Bearer ${await new SignJWT({}).setProtectedHeader({ alg: 'HS256' }).sign(SECRET)}`)).toBe(
      'missing issued-at',
    )
  })

  test('reads a secret, or says what is wrong with its file', () => {
    const directory = mkdtempSync(join(tmpdir(), 'coind-jwt-'))
    try {
      const path = join(directory, 'jwt.hex')
      writeFileSync(path, `0x${'07'.repeat(32)}\n`)
      expect(readJwtSecret(path)).toEqual(Buffer.from(SECRET))
      writeFileSync(path, '07'.repeat(31))
      expect(() => readJwtSecret(path)).toThrow('openssl rand -hex 32')
      expect(() => readJwtSecret(join(directory, 'none'))).toThrow('cannot be read')
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})

describe('a listener with rules of access', () => {
  let server: TestServer
  beforeAll(async () => {
    const node = await createMemoryNode()
    server = await startTestServer(node, createTestThread(node), {
      cosmos: undefined,
      allowedOrigins: [],
      access: createPrivateAccess({ hostNames: ['localhost'], jwtSecret: SECRET, nowMs: () => NOW_MS }),
    })
  })
  afterAll(() => server.close())

  const post = (headers: Record<string, string>, path = '/'): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = request(new URL(path, server.url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
      })
      sent.on('response', (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.on('error', reject)
      sent.end('{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}')
    })

  const connect = (headers: Record<string, string>): Promise<string> =>
    new Promise((resolve) => {
      const socket = new WebSocket(server.wsUrl, { headers })
      socket.on('open', () => {
        socket.close()
        resolve('open')
      })
      socket.on('error', (error) => resolve(error.message))
    })

  test('serves JSON-RPC to those who may, on both transports, and nothing else', async () => {
    const authorization = `Bearer ${await token()}`
    expect(await post({ authorization })).toBe(200)
    expect(await connect({ authorization })).toBe('open')
    expect(await post({ authorization }, '/rpc/status')).toBe(404)
    expect(await post({})).toBe(401)
    expect(await connect({})).toContain('401')
    expect(await post({ authorization, host: 'rebound.example' })).toBe(403)
    expect(await connect({ authorization, host: 'rebound.example' })).toContain('403')
    expect(await post({ authorization, origin: 'http://localhost' })).toBe(403)
    expect(await connect({ authorization, origin: 'http://localhost' })).toContain('403')
  })
})
