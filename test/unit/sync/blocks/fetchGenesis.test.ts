import type { RequestListener } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { exampleGenesis } from '../../../../scripts/exampleGenesis.ts'
import { genesisHash, parseGenesis } from '../../../../src/chain/genesis/genesis.ts'
import { fetchGenesis } from '../../../../src/sync/blocks/fetchGenesis.ts'
import { cometEndpoint } from '../../../../src/sync/blocks/httpGet.ts'
import { closedAddress, drip, endless, httpServer, listen } from '../../../support/sync/httpServers.ts'

const GENESIS = parseGenesis(exampleGenesis())
const EXPECTED = {
  chainId: GENESIS.chain_id,
  evmChainId: BigInt(GENESIS.app_state.evm.params.chain_config.chain_id),
  hash: undefined,
}
const ANSWER = JSON.stringify({ jsonrpc: '2.0', id: -1, result: { genesis: GENESIS } })

interface Outcome {
  readonly problem: string
  readonly retries: readonly string[]
  readonly delaysMs: readonly number[]
}

async function attempt(
  url: string,
  expected: Partial<Parameters<typeof fetchGenesis>[0]['expected']> = {},
  limits: Parameters<typeof fetchGenesis>[0]['limits'] = {},
): Promise<Outcome> {
  const retries: string[] = []
  const delaysMs: number[] = []
  const outcome = (problem: string): Outcome => ({ problem, retries, delaysMs })
  try {
    const genesis = await fetchGenesis({
      url,
      expected: { ...EXPECTED, ...expected },
      sleep: async () => undefined,
      signal: new AbortController().signal,
      onRetry: (reason, delayMs) => {
        retries.push(reason)
        delaysMs.push(delayMs)
      },
      limits: { attempts: 3, timeoutMs: 5_000, ...limits },
    })
    expect(genesis).toEqual(GENESIS)
    return outcome('')
  } catch (error) {
    return outcome(`${(error as Error).name}: ${(error as Error).message}`)
  }
}

describe('the address of a method', () => {
  it.each([
    ['http://seed.example', 'http://seed.example/rpc/genesis'],
    ['http://seed.example:8080/', 'http://seed.example:8080/rpc/genesis'],
    ['https://seed.example/testnet/', 'https://seed.example/testnet/rpc/genesis'],
    ['https://seed.example/rpc', 'https://seed.example/rpc/genesis'],
    ['https://seed.example/rpc/?key=1#x', 'https://seed.example/rpc/genesis?key=1'],
  ])('of %s is %s', (url, endpoint) => {
    expect(cometEndpoint(url, 'genesis').href).toBe(endpoint)
  })
})

describe('fetchGenesis', () => {
  it('takes the genesis of the network, with or without its hash', async () => {
    const paths: string[] = []
    const url = await httpServer((request, response) => {
      paths.push(request.url!)
      response.end(ANSWER)
    })
    expect(await attempt(url)).toEqual({ problem: '', retries: [], delaysMs: [] })
    expect(await attempt(url, { hash: genesisHash(GENESIS) })).toMatchObject({ problem: '' })
    expect(paths).toEqual(['/rpc/genesis', '/rpc/genesis'])
  })

  it.each<[string, RequestListener, Partial<typeof EXPECTED> | { hash: Uint8Array }, RegExp]>([
    [
      'of another network',
      (_, r) => r.end(ANSWER),
      { chainId: 'other_1-1' },
      /^SeedRefusedError: .*belongs to the network coin_\S+, but CHAIN_ID is other_1-1/,
    ],
    [
      'with another EVM chain ID',
      (_, r) => r.end(ANSWER),
      { evmChainId: 5n },
      /^SeedRefusedError: .*EVM chain ID \d+, but EVM_CHAIN_ID is 5/,
    ],
    [
      'with another hash',
      (_, r) => r.end(ANSWER),
      { hash: new Uint8Array(32) },
      /^SeedRefusedError: .*hash [0-9a-f]{64}, but GENESIS_HASH is 0{64}/,
    ],
    ['that serves a web page', (_, r) => r.end('<html>'), {}, /^SeedRefusedError: .*does not answer with JSON/],
    ['that answers null', (_, r) => r.end('null'), {}, /^SeedRefusedError: .*does not answer with a genesis/],
    [
      'that answers another method',
      (_, r) => r.end('{"result":{"sync_info":{}}}'),
      {},
      /^SeedRefusedError: .*does not answer with a genesis/,
    ],
    [
      'with a broken genesis',
      (_, r) => r.end('{"result":{"genesis":{"chain_id":"coin_76287-1"}}}'),
      {},
      /^SeedRefusedError: .*no node accepts: genesis: /,
    ],
    ['without that path', (_, r) => void r.writeHead(404).end(), {}, /^SeedRefusedError: .*status 404/],
    [
      'that redirects',
      (_, r) => void r.writeHead(302, { location: 'http://evil.example/x?token=1' }).end(),
      {},
      /^SeedRefusedError: .*redirects to http:\/\/evil\.example\/x: /,
    ],
    ['that does not stop', (_, r) => endless(r), {}, /^SeedRefusedError: .*more than 1 MiB/],
    [
      'that sends a bomb',
      (_, r) => void r.writeHead(200, { 'content-length': 5 << 20 }).end(Buffer.alloc(5 << 20, 0x20)),
      {},
      /more than 1 MiB/,
    ],
  ])('refuses at once a seed %s', async (_, listener, expected, problem) => {
    const url = await httpServer(listener)
    const outcome = await attempt(url, expected, { maxBytes: 1 << 20 })
    expect(outcome.problem).toMatch(problem)
    expect(outcome.problem).toMatch(/^[^\n]{1,400}$/)
    expect(outcome.retries).toEqual([])
  })

  it('waits for a seed that fails or is busy, and takes the genesis when it comes', async () => {
    const statuses = [503, 429]
    const url = await httpServer((_, response) => {
      const status = statuses.shift()
      if (status === undefined) response.end(ANSWER)
      else response.writeHead(status).end()
    })
    const { problem, retries, delaysMs } = await attempt(url)
    expect(problem).toBe('')
    expect(retries).toEqual([
      `${url}/rpc/genesis answers with status 503`,
      `${url}/rpc/genesis answers with status 429`,
    ])
    expect(delaysMs).toEqual([1000, 2000])
  })

  it.each<[string, () => Promise<string>, RegExp]>([
    ['nobody listens', closedAddress, /cannot be reached \(ECONNREFUSED\)/],
    ['the name is unknown', async () => 'http://seed.invalid', /cannot be reached \((ENOTFOUND|EAI_AGAIN)\)/],
    ['it closes the connection', () => listen(createTcpServer((socket) => socket.destroy())), /cannot be reached \(/],
    ['it says nothing', () => listen(createTcpServer(() => undefined)), /does not answer in 0.2 seconds/],
    ['it drips', () => httpServer((_, response) => drip(response)), /does not answer in 0.2 seconds/],
    ['it reports an error', () => httpServer((_, r) => r.end('{"error":{"code":-32603}}')), /reports an error/],
  ])('gives up after some attempts when %s', async (_, start, problem) => {
    const outcome = await attempt(await start(), {}, { timeoutMs: 200 })
    expect(outcome.problem).toMatch(/^SeedUnavailableError: .*\(3 attempts\): check SEED_NODE_URL and the seed node$/)
    expect(outcome.problem).toMatch(problem)
    expect(outcome.retries).toHaveLength(2)
  })

  it('does not wait for a port that fetch never uses', async () => {
    expect((await attempt('http://127.0.0.1:22')).problem).toMatch(/^SeedRefusedError: .*cannot be used \(bad port\)/)
  })

  it('does not wait for a server that does not speak HTTP', async () => {
    const url = await listen(createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')))
    const outcome = await attempt(url)
    expect(outcome.problem).toMatch(/^SeedRefusedError: .*cannot be used \((HPE_|Response does not match)/)
    expect(outcome.retries).toEqual([])
  })

  it('ends with the reason of its signal, in a request and between two', async () => {
    const silent = await listen(createTcpServer(() => undefined))
    for (const url of [silent, await closedAddress()]) {
      const stopped = new AbortController()
      const reason = new Error('stopped')
      const fetching = fetchGenesis({
        url,
        expected: EXPECTED,
        sleep: (ms, signal) => sleep(ms, undefined, { signal }),
        signal: stopped.signal,
        onRetry: () => stopped.abort(reason),
      })
      if (url === silent) setTimeout(() => stopped.abort(reason), 20)
      await expect(fetching).rejects.toBe(reason)
    }
  })
})
