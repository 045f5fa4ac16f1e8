import type { RequestListener, ServerResponse } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createRankedSet } from '../../../../src/chain/comet/validatorSet.ts'
import { commitJson, headerJson } from '../../../../src/rpc/comet/json/block.ts'
import { validatorJson } from '../../../../src/rpc/comet/json/values.ts'
import { LightClientError, type LightClientProblem } from '../../../../src/sync/light/lightBlockSource.ts'
import { RpcSource, type RpcSourceOptions } from '../../../../src/sync/light/rpcSource.ts'
import { closedAddress, drip, endless, httpServer, listen } from '../../../support/sync/httpServers.ts'
import { clientOf, lightChain } from '../../../support/sync/light/lightChain.ts'
import { lightBlockOf, VECTORS } from '../../../support/sync/light/lightVectors.ts'
import { keyOf, servedChain } from '../../../support/sync/servedChain.ts'

const { signal } = new AbortController()

/** 105 validators, so two pages; from height 7 on one less. */
const CHAIN = lightChain(
  servedChain({
    blocks: 12,
    powers: Array.from({ length: 105 }, (_, index) => BigInt(1000 - index)),
    updatesAt: (height) => (height === 5 ? [{ publicKey: keyOf(104), power: 0n }] : []),
  }),
)

interface Asked {
  readonly method: string
  readonly height: number
  readonly page: number
}

/** What a node answers: the content of `result`. */
function answer({ method, height, page }: Asked, { blocks } = CHAIN): object | null {
  const block = blocks[height - 1]
  if (block === undefined)
    throw new Error(`height ${height} must be less than or equal to the current blockchain height 12`)
  if (method === 'commit') {
    return { signed_header: { header: headerJson(block.header), commit: commitJson(block.commit) }, canonical: true }
  }
  const set = createRankedSet(block.validators.validators)
  const start = (page - 1) * 100
  const validators = set.validators.map((_, index) => validatorJson(set, index)).slice(start, start + 100)
  return {
    block_height: String(height),
    validators,
    count: String(validators.length),
    total: String(set.validators.length),
  }
}

function send(response: ServerResponse, result: unknown): void {
  response.end(JSON.stringify({ jsonrpc: '2.0', id: -1, result }))
}

/** A node whose answers `change` may change, and what it was asked for. */
async function node(change: (result: unknown, asked: Asked) => unknown = (result) => result) {
  const asked: string[] = []
  const url = await httpServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://node')
    asked.push(request.url!)
    const call = {
      method: pathname.slice('/rpc/'.length),
      height: Number(searchParams.get('height')),
      page: Number(searchParams.get('page')),
    }
    try {
      send(response, change(answer(call), call))
    } catch (error) {
      const failure = { code: -32603, message: 'Internal error', data: (error as Error).message }
      response.writeHead(500).end(JSON.stringify({ jsonrpc: '2.0', id: -1, error: failure }))
    }
  })
  return { url, asked }
}

function sourceAt(url: string, limits: RpcSourceOptions['limits'] = {}): RpcSource & { readonly delaysMs: number[] } {
  const delaysMs: number[] = []
  const source = new RpcSource({
    url,
    sleep: async (ms) => {
      delaysMs.push(ms)
    },
    limits: { attempts: 3, ...limits },
  })
  return Object.assign(source, { delaysMs })
}

async function problemOf(fetched: Promise<unknown>, kind: LightClientProblem): Promise<string> {
  const error: unknown = await fetched.catch((error: unknown) => error)
  expect(error).toBeInstanceOf(LightClientError)
  const { kind: found, message } = error as LightClientError
  expect({ kind: found, message }).toEqual({ kind, message })
  expect(message).toMatch(/^[^\n]{1,400}$/)
  return message
}

describe('light blocks over RPC', () => {
  it("are read from CometBFT's JSON", async () => {
    const url = await httpServer((request, response) =>
      send(response, request.url!.includes('commit') ? VECTORS.rpc.commit : VECTORS.rpc.validators),
    )
    expect(await sourceAt(`${url}/rpc`).fetch(12, signal)).toEqual(lightBlockOf(VECTORS.rpcBlock))
  })

  it('are read from what this node answers; validators once, page by page, as long as they stay', async () => {
    const { url, asked } = await node()
    const source = sourceAt(url)
    for (const height of [1, 2, 6, 7, 12]) expect(await source.fetch(height, signal)).toEqual(CHAIN.blocks[height - 1])
    const pages = (height: number) => [1, 2].map((page) => `/rpc/validators?height=${height}&per_page=100&page=${page}`)
    const commits = [1, 2, 6, 7, 12].map((height) => `/rpc/commit?height=${height}`)
    expect(asked).toEqual([commits[0], ...pages(1), commits[1], commits[2], commits[3], ...pages(7), commits[4]])
  })

  it('verify', async () => {
    const { url } = await node()
    const client = clientOf(CHAIN, { sources: [sourceAt(url), sourceAt(`${url}/rpc/`)] })
    expect(await client.verify(12, signal)).toEqual(CHAIN.blocks[11])
    expect(client.warnings).toEqual([])
  })

  it('that a node does not have are missing', async () => {
    const { url } = await node()
    expect(await sourceAt(url).fetch(13, signal)).toBeUndefined()
    for (const text of [
      'height 5 is not available, lowest height is 9',
      'could not find validator set for height #5',
      'height 5 must be less than or equal to the current blockchain height 3',
    ]) {
      for (const method of ['commit', 'validators']) {
        const pruned = await node((result, call) => {
          if (call.method === method) throw new Error(text)
          return result
        })
        expect(await sourceAt(pruned.url).fetch(5, signal)).toBeUndefined()
      }
    }
    expect(await sourceAt((await node(() => null)).url).fetch(5, signal)).toBeUndefined()
  })

  it('of a node that names its lowest height are sought there', async () => {
    const { url, asked } = await node((result, { height }) => {
      if (height < 9) throw new Error(`height ${height} is not available, lowest height is 9`)
      return result
    })
    const source = sourceAt(url)
    const nearest = (height: number, from: number, to: number) => source.nearest(height, { from, to }, signal)
    expect(await source.fetch(6, signal)).toBeUndefined()
    expect(await nearest(6, 0, 12)).toBe(9)
    expect(asked).toEqual(['/rpc/commit?height=6'])
    expect(await nearest(6, 0, 9)).toBeUndefined()
    expect(await nearest(10, 9, 12)).toBe(10)
    expect(await nearest(13, 11, 20)).toBeUndefined()
  })

  it('of a node that has some below its lowest height are sought among these', async () => {
    const kept = [2, 3, 7]
    const { url, asked } = await node((result, { height }) => {
      if (height >= 9 || kept.includes(height)) return result
      const next = kept.find((other) => other > height)
      const also = next === undefined ? '' : `, next light block is ${next}`
      throw new Error(`height ${height} is not available, lowest height is 9${also}`)
    })
    const source = sourceAt(url)
    const nearest = (height: number, from: number, to: number) => source.nearest(height, { from, to }, signal)
    expect(await nearest(4, 0, 12)).toBe(7)
    expect(await nearest(4, 0, 7)).toBe(2)
    expect(await nearest(8, 3, 9)).toBe(7)
    asked.length = 0
    expect(await nearest(6, 3, 7)).toBeUndefined()
    expect(asked).toEqual(['/rpc/commit?height=6', '/rpc/commit?height=4'])
  })
})

interface Json {
  [key: string]: Json
}

const listOf = (json: Json | undefined): unknown[] => json as unknown as unknown[]

describe('a node that lies', () => {
  const edit = (path: string, value: unknown) => (json: Json) => {
    const keys = path.split('.')
    let at: Json = json
    for (const key of keys.slice(0, -1)) at = at[key]!
    at[keys.at(-1)!] = value as Json
    return json
  }
  const signed = 'signed_header'

  it.each<[string, 'commit' | 'validators', (json: Json) => unknown, RegExp]>([
    ['another height', 'commit', edit(`${signed}.header.height`, '6'), /answers for height 6, not 5/],
    ['the validators of another height', 'validators', edit('block_height', '6'), /answers for height 6, not 5/],
    [
      'a height that is no number',
      'commit',
      edit(`${signed}.header.height`, 'five'),
      /signed_header.header.height: expected an integer/,
    ],
    ['a height beyond all', 'commit', edit(`${signed}.header.height`, '9'.repeat(19)), /signed_header.header.height/],
    [
      'a short hash',
      'commit',
      edit(`${signed}.header.app_hash`, 'AB'),
      /invalid header or commit of height 5: .*app hash has 1 bytes/,
    ],
    [
      'a hash that is no hex',
      'commit',
      edit(`${signed}.header.app_hash`, 'x\ny'),
      /signed_header.header.app_hash: expected hex/,
    ],
    [
      'an endless hash',
      'commit',
      edit(`${signed}.header.app_hash`, 'AB'.repeat(100_000)),
      /app_hash: expected hex digits/,
    ],
    ['an incomplete block ID', 'commit', edit(`${signed}.commit.block_id.parts.total`, 0), /neither complete nor nil/],
    [
      'nanoseconds',
      'commit',
      edit(`${signed}.header.time`, '2026-01-01T00:00:00.000001Z'),
      /header.time: expected a time/,
    ],
    ['no time', 'commit', edit(`${signed}.header.time`, '2026-02-30T00:00:00Z'), /header.time: expected a time/],
    [
      'an unknown flag',
      'commit',
      edit(`${signed}.commit.signatures.3.block_id_flag`, 7),
      /signatures\[3\].block_id_flag/,
    ],
    ['a short signature', 'commit', edit(`${signed}.commit.signatures.3.signature`, 'AAAA'), /signature has 3 bytes/],
    ['no signatures', 'commit', edit(`${signed}.commit.signatures`, []), /block ID and signatures, or neither/],
    ['a negative round', 'commit', edit(`${signed}.commit.round`, -1), /round -1 is out of range/],
    ['no commit', 'commit', edit(`${signed}.commit`, null), /signed_header.commit: /],
    ['a list', 'commit', () => [], /wrong form/],
    [
      'a validator twice',
      'validators',
      (json) => edit('validators.1', listOf(json['validators'])[0])(json),
      /invalid validators of height 5: a validator is named twice/,
    ],
    ['a negative power', 'validators', edit('validators.0.voting_power', '-7'), /power is -7, not positive/],
    ['too much power', 'validators', edit('validators.0.voting_power', '9223372036854775807'), /total power/],
    [
      'another power',
      'validators',
      edit('validators.0.voting_power', '7'),
      /validators of height 5 that are not those of its header/,
    ],
    [
      'a key of another kind',
      'validators',
      edit('validators.0.pub_key.type', 'tendermint/PubKeySecp256k1'),
      /pub_key.type/,
    ],
    ['a short key', 'validators', edit('validators.0.pub_key.value', 'AAAA'), /public key has 3 bytes/],
    ['no validators', 'validators', edit('validators', []), /returned 0 of 105 validators/],
    [
      'a page that is not full',
      'validators',
      (json) => edit('validators', listOf(json['validators']).slice(1))(json),
      /returned 99 of 105 validators/,
    ],
    [
      'too many validators',
      'validators',
      edit('total', '10001'),
      /has 10001 validators at height 5, more than a chain can have/,
    ],
    ['fewer validators than it gives', 'validators', edit('total', '50'), /returned 100 of 50 validators/],
    ['a negative total', 'validators', edit('total', '-1'), /returned 100 of -1 validators/],
  ])('gives %s', async (_, method, change, problem) => {
    const { url, asked } = await node((result, call) => (call.method === method ? change(result as Json) : result))
    const source = sourceAt(url)
    const message = await problemOf(source.fetch(5, signal), 'invalid')
    expect(message).toMatch(problem)
    expect(message).toContain(`${url}/rpc/${method} `)
    expect(asked.length).toBeLessThan(5)
    expect(source.delaysMs).toEqual([])
  })

  it('gives the same page again and again', async () => {
    const { url, asked } = await node((result, { method }) =>
      method === 'validators' ? { ...(answer({ method, height: 5, page: 1 }) as Json), total: '300' } : result,
    )
    expect(await problemOf(sourceAt(url).fetch(5, signal), 'invalid')).toMatch(/a validator is named twice/)
    expect(asked).toHaveLength(4)
  })

  it('is of another chain', async () => {
    const { url } = await node()
    const client = clientOf({ ...CHAIN, chainId: 'other_1-1' }, { sources: [sourceAt(url)] })
    const message = await problemOf(client.verify(5, signal), 'invalid')
    expect(message).toBe(
      `${url} returned an invalid light block of height 5: the header is of the chain "coin_76287-1", not other_1-1`,
    )
  })

  it.each<[string, RequestListener, RegExp]>([
    ['a web page', (_, r) => r.end('<html>'), /\/rpc\/commit does not answer with JSON$/],
    ['no object', (_, r) => r.end('5'), /\/rpc\/commit answers in a wrong form/],
    ['depth', (_, r) => r.end('['.repeat(500_000)), /does not answer with JSON/],
    ['a bomb', (_, r) => void r.end(Buffer.alloc(3 << 20, 0x20)), /answers with more than 2 MiB$/],
    ['an endless answer', (_, r) => endless(r), /answers with more than 2 MiB$/],
    ['a long error', (_, r) => void r.writeHead(500).end(Buffer.alloc(3 << 20, 0x20)), /answers with more than 2 MiB$/],
  ])('answers with %s', async (_, listener, problem) => {
    const url = await httpServer(listener)
    const source = sourceAt(`${url}/?token=secret`, { maxBytes: 2 << 20 })
    const message = await problemOf(source.fetch(5, signal), 'invalid')
    expect(message).toMatch(problem)
    expect(message).not.toContain('secret')
    expect(source.name).toBe(url)
    expect(source.delaysMs).toEqual([])
  })
})

describe('a node that does not answer', () => {
  const QUICK_MS = 100
  const PATIENT_MS = 30_000

  it.each<[string, () => Promise<string>, number, RegExp]>([
    ['nobody listens', closedAddress, PATIENT_MS, /\/rpc\/commit cannot be reached \(ECONNREFUSED\)/],
    ['it says nothing', () => listen(createTcpServer(() => undefined)), QUICK_MS, /does not answer in 0.1 seconds/],
    ['it drips', () => httpServer((_, response) => drip(response)), QUICK_MS, /does not answer in 0.1 seconds/],
    ['it is busy', () => httpServer((_, r) => void r.writeHead(429).end()), PATIENT_MS, /answers with status 429/],
    ['a proxy fails', () => httpServer((_, r) => void r.writeHead(500).end('<html>')), PATIENT_MS, /with status 500/],
    [
      'it fails',
      () => httpServer((_, r) => void r.writeHead(500).end('{"error":{"code":-1,"message":"a\\nb"}}')),
      PATIENT_MS,
      /reports an error: "a\\nb"$/,
    ],
  ])('is asked again when %s', async (_, start, timeoutMs, problem) => {
    const source = sourceAt(await start(), { timeoutMs })
    expect(await problemOf(source.fetch(5, signal), 'unavailable')).toMatch(problem)
    expect(source.delaysMs).toEqual([500, 1000])
  })

  it.each<[string, RequestListener, RegExp]>([
    ['is none', (_, r) => void r.writeHead(404).end(), /answers with status 404: it must be the RPC of a node$/],
    [
      'leads elsewhere',
      (_, r) => void r.writeHead(302, { location: 'http://10.0.0.1/x?token=1' }).end(),
      /answers with status 302 and leads to http:\/\/10.0.0.1\/x: it must/,
    ],
  ])('is not asked again when it %s', async (_, listener, problem) => {
    const source = sourceAt(await httpServer(listener))
    expect(await problemOf(source.fetch(5, signal), 'unavailable')).toMatch(problem)
    expect(source.delaysMs).toEqual([])
  })

  it('answers later', async () => {
    const statuses = [503, 429]
    const { url } = await node()
    const busy = await httpServer((request, response) => {
      const status = statuses.shift()
      if (status !== undefined) return void response.writeHead(status).end()
      fetch(`${url}${request.url}`).then(async (answer) => response.end(await answer.text()))
    })
    expect(await sourceAt(busy).fetch(5, signal)).toEqual(CHAIN.blocks[4])
  })

  it('has a limited time for a light block, and ends with the reason of the signal', async () => {
    const url = await listen(createTcpServer(() => undefined))
    const waiting = new RpcSource({
      url,
      sleep: (ms, stop) => sleep(ms, undefined, { signal: stop }),
      limits: { blockTimeoutMs: 50 },
    })
    expect(await problemOf(waiting.fetch(5, signal), 'unavailable')).toBe(
      `${url} does not give the light block of height 5 in 0.05 seconds`,
    )
    for (const address of [url, await closedAddress()]) {
      const stopped = new AbortController()
      const reason = new Error('stopped')
      const source = new RpcSource({ url: address, sleep: (ms, stop) => sleep(ms, undefined, { signal: stop }) })
      setTimeout(() => stopped.abort(reason), 20)
      await expect(source.fetch(5, stopped.signal)).rejects.toBe(reason)
    }
  })
})
