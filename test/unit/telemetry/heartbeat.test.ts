import { createHash, createPublicKey, verify } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { ed25519Key } from '../../../src/primitives/ed25519.ts'
import { type HeartbeatBody, startHeartbeat } from '../../../src/telemetry/heartbeat.ts'

const key = ed25519Key(new Uint8Array(32).fill(7))

const BODY: HeartbeatBody = {
  moniker: 'one',
  network: 'testnet',
  chain_id: 'coin_76287-1',
  evm_chain_id: 76287,
  node_id: 'ab'.repeat(20),
  version: '0.1.0',
  height: 7,
  block_hash: `0x${'00'.repeat(32)}`,
  block_time: '2026-01-01T00:00:00.400Z',
  peers: 0,
  rpc_address: null,
}

interface Explorer {
  readonly url: string
  readonly requests: { method: string; type: string; body: unknown; text: string; headers: IncomingHttpHeaders }[]
  stop(): void
}

async function startExplorer(answer: (response: ServerResponse, count: number) => void): Promise<Explorer> {
  const requests: Explorer['requests'] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const { method, headers } = request
    requests.push({ method: method!, type: headers['content-type']!, body: JSON.parse(text), text, headers })
    answer(response, requests.length)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/api/network/heartbeat?token=hidden`,
    requests,
    stop: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function collectLogs() {
  const lines: string[] = []
  const log = (level: string) => (first: unknown, message?: string) => {
    lines.push(`${level} ${message ?? String(first)} ${JSON.stringify(first)}`)
  }
  return { lines, logger: { debug: log('debug'), warn: log('warn'), info: log('info') } }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('startHeartbeat', () => {
  it('posts the status at once and then at each interval', async () => {
    const explorer = await startExplorer((response) => response.end('{}'))
    let height = 7
    const { lines, logger } = collectLogs()
    const heartbeat = startHeartbeat({
      url: explorer.url,
      status: () => ({ ...BODY, height: height++ }),
      logger,
      key,
      intervalMs: 10,
    })
    await until(() => explorer.requests.length >= 3)
    heartbeat.stop()
    explorer.stop()
    expect(explorer.requests[0]).toMatchObject({ method: 'POST', type: 'application/json', body: BODY })
    expect(explorer.requests[2]?.body).toEqual({ ...BODY, height: 9 })
    expect(lines).toEqual([])
  })

  it('signs the bytes of each report and its time with the node key, as docs/operations.md says', async () => {
    const explorer = await startExplorer((response) => response.end())
    const { lines, logger } = collectLogs()
    const heartbeat = startHeartbeat({ url: explorer.url, status: () => BODY, key, logger })
    await until(() => explorer.requests.length > 0)
    heartbeat.stop()
    explorer.stop()
    const { headers, text } = explorer.requests[0]!
    const time = headers['coind-report-time'] as string
    expect(Math.abs(Date.parse(time) - Date.now())).toBeLessThan(120_000)
    const publicKey = Buffer.from(headers['coind-node-key'] as string, 'hex')
    expect(publicKey).toEqual(Buffer.from(key.publicKey))
    const object = createPublicKey({
      key: { kty: 'OKP', crv: 'Ed25519', x: publicKey.toString('base64url') },
      format: 'jwk',
    })
    const hash = createHash('sha256').update(text).digest()
    const signed = Buffer.concat([Buffer.from(`coind heartbeat v1\n${time}\n`), hash])
    const signature = Buffer.from(headers['coind-report-signature'] as string, 'hex')
    expect(verify(null, signed, object, signature)).toBe(true)
    expect(lines).toEqual([])
  })

  it.each([
    ['{"error":"the clock of the node is\\n wrong"}', 'HTTP status 401: the clock of the node is  wrong'],
    ['<html>', 'HTTP status 401'],
    [JSON.stringify({ error: 'x'.repeat(2_000) }), 'HTTP status 401'],
  ])('logs why it is refused: %.30s', async (answer, reason) => {
    const explorer = await startExplorer((response) => {
      response.statusCode = 401
      response.end(answer)
    })
    const { lines, logger } = collectLogs()
    const heartbeat = startHeartbeat({ url: explorer.url, status: () => BODY, key, logger })
    await until(() => lines.length > 0)
    heartbeat.stop()
    explorer.stop()
    expect(lines[0]).toContain(JSON.stringify({ reason }))
  })

  it('warns once of a row of failures, says when they end, and never shows the address', async () => {
    const explorer = await startExplorer((response, count) => {
      response.statusCode = count <= 3 ? 500 : 200
      response.end()
    })
    const { lines, logger } = collectLogs()
    const heartbeat = startHeartbeat({ url: explorer.url, status: () => BODY, key, logger, intervalMs: 5 })
    await until(() => lines.some((line) => line.startsWith('info')))
    heartbeat.stop()
    explorer.stop()
    expect(lines.map((line) => line.split(' ')[0])).toEqual(['debug', 'warn', 'debug', 'info'])
    expect(lines.join()).toContain('HTTP status 500')
    expect(lines.join()).not.toContain('hidden')
  })

  it('gives up a request that hangs, and one that nobody answers', async () => {
    const explorer = await startExplorer(() => undefined)
    const { lines, logger } = collectLogs()
    const options = { status: () => BODY, key, logger, intervalMs: 5, timeoutMs: 30 }
    const hanging = startHeartbeat({ ...options, url: explorer.url })
    await until(() => explorer.requests.length >= 2)
    hanging.stop()
    const gone = explorer.url
    explorer.stop()
    const refused = startHeartbeat({ ...options, url: gone })
    await until(() => lines.some((line) => line.includes('ECONNREFUSED')))
    refused.stop()
    expect(lines.every((line) => !line.includes('hidden'))).toBe(true)
  })

  it('survives a status that throws', async () => {
    const { lines, logger } = collectLogs()
    const heartbeat = startHeartbeat({
      url: 'http://127.0.0.1:9/',
      status: () => {
        throw new Error('no head yet')
      },
      logger,
      key,
      intervalMs: 5,
    })
    await until(() => lines.length >= 2)
    heartbeat.stop()
    expect(lines[0]).toContain('no head yet')
  })
})
