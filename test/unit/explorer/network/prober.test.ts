import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { openServices, type ServiceQueries } from '../../../../explorer/database/services.ts'
import { storeReport } from '../../../../explorer/network/nodeBook.ts'
import { locate, probe } from '../../../../explorer/network/probe.ts'
import { startProber } from '../../../../explorer/network/prober.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { REAL_ADDRESSES } from '../../../../src/primitives/publicAddresses.ts'
import { closedAddress, endless, httpServer } from '../../../support/sync/httpServers.ts'

const HASH = new Uint8Array(32).fill(5)
const KNOWN = { evmChainId: 76287, height: 1, hash: bytesToHex(HASH) }
const LOOPBACK = { address: '127.0.0.1', family: 4 }
const { signal } = new AbortController()

const rpcAnswer = (chainId = '0x129ff', hash = KNOWN.hash): string =>
  // A batch may be answered in any order.
  JSON.stringify([
    { jsonrpc: '2.0', id: 1, result: { hash } },
    { jsonrpc: '2.0', id: 0, result: chainId },
  ])
const answering =
  (text: string, status = 200): RequestListener =>
  (_request, response) =>
    response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(text)

/** @returns the latency as `right`, or the problem */
async function asked(listener: RequestListener, timeoutMs = 2_000): Promise<string> {
  const url = new URL(await httpServer(listener))
  return probe(url, LOOPBACK, KNOWN, signal, timeoutMs).then(
    (latencyMs) => (Number.isInteger(latencyMs) ? 'right' : 'no number'),
    ({ message }: Error) => message,
  )
}

describe('an RPC address that a node reports', () => {
  it('is right when chain ID and block are', async () => {
    const bodies: unknown[] = []
    const url = await asked(async (request, response) => {
      let text = ''
      for await (const part of request) text += String(part)
      bodies.push(JSON.parse(text), request.method, request.headers['content-type'])
      response.end(rpcAnswer())
    })
    expect(url).toBe('right')
    expect(bodies).toMatchObject([
      [{ method: 'eth_chainId' }, { method: 'eth_getHeaderByNumber', params: ['0x1'] }],
      'POST',
      'application/json',
    ])
  })

  it.each<[string, RequestListener, string]>([
    ['of another chain', answering(rpcAnswer('0x1')), 'has another chain ID'],
    [
      'with another block',
      answering(rpcAnswer('0x129ff', bytesToHex(new Uint8Array(32)))),
      'has another block at height 1',
    ],
    ['without the block', answering('[{"id":0,"result":"0x129ff"},{"id":1,"result":null}]'), 'its answer is not from'],
    ['with HTML', answering('<html>'), 'its answer is not from'],
    ['with nothing', answering(''), 'its answer is not from'],
    ['with odd JSON', answering('[null,7]'), 'its answer is not from'],
    ['that redirects', answering(rpcAnswer(), 302), 'redirects'],
    ['that refuses', answering(rpcAnswer(), 404), 'responds with status 404'],
    ['without end', (_request, response) => endless(response), 'responds with more than 64 KiB'],
    ['that hangs up', (request) => request.socket.destroy(), 'ECONNRESET'],
  ])('%s is not', async (_name, listener, problem) => {
    expect(await asked(listener)).toContain(problem)
  })

  it('that is slow is given up, also where bytes come', async () => {
    expect(await asked(() => undefined, 50)).toBe('no answer in 0.05 s')
    const dripping: RequestListener = (_request, response) => {
      const timer = setInterval(() => response.write(' '), 5)
      response.on('close', () => clearInterval(timer))
    }
    expect(await asked(dripping, 50)).toBe('no answer in 0.05 s')
    const url = new URL(await closedAddress())
    await expect(probe(url, LOOPBACK, KNOWN, signal)).rejects.toThrow('ECONNREFUSED')
  })

  it.each([
    'http://127.0.0.1:8545/',
    'http://localhost/',
    'http://2130706433/',
    'http://[::1]/',
    'http://[::ffff:10.0.0.1]/',
    'http://10.1.2.3/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://[fd00:ec2::254]/',
    'http://[fe80::1]/',
    'http://0.0.0.0/',
    'http://255.255.255.255/',
    'http://224.0.0.1/',
  ])('%s is not public', async (url) => {
    const resolve = async () => [LOOPBACK]
    await expect(locate(new URL(url), { ...REAL_ADDRESSES, resolve })).rejects.toThrow(
      'does not have a public IP address',
    )
  })

  it.each(['http://host.example:25/', 'https://host.example:22/'])('%s has a port of another service', async (url) => {
    await expect(locate(new URL(url), REAL_ADDRESSES)).rejects.toThrow('is not allowed for an RPC server')
  })

  it('is looked up once, and only public addresses of a name are used', async () => {
    const resolve = async () => [LOOPBACK, { address: '8.8.8.8', family: 4 }]
    expect(await locate(new URL('http://host.example/'), { ...REAL_ADDRESSES, resolve })).toMatchObject({
      address: '8.8.8.8',
    })
    const unknown = { ...REAL_ADDRESSES, resolve: () => Promise.reject(new Error('ENOTFOUND 10.0.0.1')) }
    await expect(locate(new URL('http://host.example/'), unknown)).rejects.toThrow(/^its host name cannot be resolved$/)
  })
})

describe('the prober', () => {
  let directory: string
  let database: IndexDatabase
  let services: ServiceQueries
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'coind-prober-'))
    const path = join(directory, 'index.sqlite')
    database = await openDatabase(path)
    services = await openServices(path)
    const bytes = new Uint8Array(20)
    await database.write(async (writer) => {
      await writer.insert('ingest', [
        { id: 1, chain_id: 'coin_76287-1', evm_chain_id: 76287, first_height: 1, height: 1, opening_height: 0 },
      ])
      await writer.insert('block', [
        {
          height: 1,
          hash: HASH,
          consensus_hash: HASH,
          time: 0,
          proposer: bytes,
          miner: bytes,
          gas_used: 0,
          gas_limit: 0,
          base_fee: bytes,
          evm_count: 0,
          native_count: 0,
          size: 0,
        },
      ])
    })
  })
  afterAll(async () => {
    await services.destroy()
    await database.close()
    rmSync(directory, { recursive: true })
  })
  beforeEach(async () => {
    await services.deleteFrom('node').execute()
  })

  const store = (number: number, rpcAddress: string | null, isSigned = true) =>
    storeReport(
      services,
      {
        moniker: `node ${number}`,
        chainId: 'coin_76287-1',
        evmChainId: 76287,
        nodeId: new Uint8Array(20).fill(number),
        version: '1',
        height: 1,
        blockHash: HASH,
        blockTimeMs: 0,
        peers: 0,
        rpcAddress,
        signedAtMs: isSigned ? Date.now() : undefined,
      },
      { lag: 0, nowMs: Date.now(), mayAdd: () => true },
    )
  const nodes = () => services.selectFrom('node').selectAll().orderBy('number').execute()
  const problems: unknown[] = []
  const logger = { warn: (error: unknown) => void problems.push(error) }

  it('asks only nodes that sign, connects to the address that it has checked, and each server once in a while', async () => {
    let requests = 0
    const server = createServer((_request, response) => {
      requests++
      response.end(rpcAnswer())
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    // The name resolves to a public address once, and then to one inside.
    const lookUps: string[] = []
    const prober = startProber({
      queries: database.queries,
      services,
      logger,
      allowsPrivate: false,
      addresses: {
        resolve: async (host) => {
          lookUps.push(host)
          return host.startsWith('inside') || lookUps.filter((name) => name === host).length > 1
            ? [{ address: '127.0.0.2', family: 4 }]
            : [LOOPBACK]
        },
        // 127.0.0.1 plays a public one.
        isPublic: (address) => address === '127.0.0.1',
      },
      pollMs: 5,
      serverPauseMs: 1_000_000,
    })
    await store(1, `http://rebinding.example:${port}/`)
    await store(2, `http://unsigned.example:${port}/`, false)
    await store(3, null)
    await store(4, `http://inside.example:${port}/`)
    while ((await nodes()).filter(({ probed_at }) => probed_at > 0).length < 2) await new Promise(setImmediate)
    // The same server under another name.
    await store(5, `http://again.example:${port}/`)
    while ((await nodes()).at(-1)!.probed_at === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    await prober.stop()
    server.close()
    server.closeAllConnections()
    const [one, two, three, four, five] = await nodes()
    expect(one).toMatchObject({ rpc_latency: expect.any(Number), rpc_problem: null })
    for (const other of [two, three])
      expect(other).toMatchObject({ probed_at: 0, rpc_latency: null, rpc_problem: null })
    expect(four).toMatchObject({ rpc_latency: null, rpc_problem: 'does not have a public IP address' })
    expect(five).toMatchObject({ rpc_latency: null, rpc_problem: null })
    expect(lookUps).toEqual(['rebinding.example', 'inside.example', 'again.example'])
    expect([requests, problems]).toEqual([1, []])
    // What was found out is of this address alone.
    await store(1, `http://other.example:${port}/`)
    expect((await nodes())[0]).toMatchObject({ rpc_latency: null, rpc_problem: null })
  })

  it('stops while a name is looked up', async () => {
    let hasAsked = false
    const prober = startProber({
      queries: database.queries,
      services,
      logger,
      allowsPrivate: true,
      addresses: {
        resolve: () => {
          hasAsked = true
          return new Promise(() => undefined)
        },
        isPublic: () => true,
      },
      pollMs: 5,
    })
    await store(1, 'http://slow.example/')
    while (!hasAsked) await new Promise((resolve) => setTimeout(resolve, 5))
    await prober.stop()
    expect(problems).toEqual([])
  })
})
