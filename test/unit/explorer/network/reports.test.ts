import { mkdtempSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { openServices, type ServiceQueries } from '../../../../explorer/database/services.ts'
import { deleteOldReports, storeReport } from '../../../../explorer/network/nodeBook.ts'
import type { Report } from '../../../../explorer/network/readReport.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { ed25519Address, ed25519Key, signEd25519 } from '../../../../src/primitives/ed25519.ts'
import type { HeartbeatBody } from '../../../../src/telemetry/heartbeat.ts'
import { heartbeatMessage } from '../../../../src/telemetry/heartbeatSignature.ts'
import { createTestServer } from '../../../support/explorer/testServer.ts'

const keyOf = (number: number) => ed25519Key(new Uint8Array(32).fill(number))
const idOf = (key: ReturnType<typeof keyOf>): string => bytesToHex(ed25519Address(key.publicKey)).slice(2)
const KEY = keyOf(1)
const HASHES = [1, 2, 3].map((number) => new Uint8Array(32).fill(number))

const body = (changes: Partial<Record<keyof HeartbeatBody, unknown>> = {}): string =>
  JSON.stringify({
    moniker: 'one',
    network: 'devnet',
    chain_id: 'coin_76287-1',
    evm_chain_id: 76287,
    node_id: idOf(KEY),
    version: '0.1.0',
    height: 3,
    block_hash: bytesToHex(HASHES[2]!),
    block_time: '2026-01-01T00:00:00.400Z',
    peers: 0,
    rpc_address: null,
    ...changes,
  })

function signed(text: string, key = KEY, timeMs = Date.now()): Record<string, string> {
  const time = new Date(timeMs).toISOString()
  return {
    'coind-node-key': bytesToHex(key.publicKey).slice(2),
    'coind-report-time': time,
    'coind-report-signature': bytesToHex(signEd25519(key, heartbeatMessage(time, Buffer.from(text)))).slice(2),
  }
}

let directory: string
let url: string
let services: ServiceQueries
let stop: () => Promise<void>
/** Each test is another client, as the proxy on loopback says. */
let tests = 0

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-heartbeats-'))
  const path = join(directory, 'index.sqlite')
  const database = await openDatabase(path)
  services = await openServices(path)
  await database.write(async (writer) => {
    await writer.insert('ingest', [
      { id: 1, chain_id: 'coin_76287-1', evm_chain_id: 76287, first_height: 1, height: 3, opening_height: 0 },
    ])
    const bytes = new Uint8Array(20)
    const rows = HASHES.map((hash, index) => ({
      height: index + 1,
      hash,
      consensus_hash: hash,
      time: 0,
      proposer: bytes,
      miner: bytes,
      gas_used: 0,
      gas_limit: 0,
      base_fee: bytes,
      evm_count: 0,
      native_count: 0,
      size: 0,
    }))
    await writer.insert('block', rows)
  })
  const app = await createTestServer({ queries: database.queries, services })
  await app.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  stop = async () => {
    await app.close()
    await services.destroy()
    await database.close()
  }
})
afterAll(async () => {
  await stop()
  rmSync(directory, { recursive: true })
})
beforeEach(async () => {
  tests++
  await services.deleteFrom('node').execute()
  await services.deleteFrom('heartbeat').execute()
})

/** @returns `200`, or `401 why` */
async function post(
  text: string | Buffer,
  headers: Record<string, string> = {},
  client = `10.0.0.${tests}`,
): Promise<string> {
  const response = await fetch(`${url}/api/network/heartbeat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': client, ...headers },
    body: text,
  })
  const { error } = (await response.json()) as { error?: string }
  return error === undefined ? String(response.status) : `${response.status} ${error}`
}

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
const get = async (path: string): Promise<any> => (await fetch(`${url}/api/v1/${path}`)).json()

describe('heartbeats', () => {
  it('are shown as verified when the key of the node ID signs them, as unverified without a signature', async () => {
    const other = body({ node_id: 'ab'.repeat(20), moniker: 'two', height: 2, rpc_address: 'http://two.example/' })
    expect([await post(body(), signed(body())), await post(other)]).toEqual(['200', '200'])
    const { items } = await get('network/nodes')
    expect(items).toMatchObject([
      { moniker: 'two', isVerified: false, isSilent: false, chain: 'other', lag: 1, rpc: null },
      { moniker: 'one', isVerified: true, isSilent: false, chain: 'same', lag: 0, height: 3, nodeId: idOf(KEY) },
    ])
    expect(await get('network')).toMatchObject({
      verified: 1,
      unverified: 1,
      silent: 0,
      versions: [{ version: '0.1.0', nodes: 1 }],
      lags: [{ from: 0, to: 2, nodes: 1 }, {}, {}, {}, {}],
    })
    expect((await get(`network/nodes/${idOf(KEY)}`)).hours).toMatchObject([{ reports: 1, height: 3 }])
    await services
      .updateTable('node')
      .set({ last_seen: Date.now() - 91_000 })
      .execute()
    expect((await get('network/nodes?verified=true')).items).toMatchObject([{ moniker: 'one', isSilent: true }])
    expect(await get('network')).toMatchObject({ verified: 0, unverified: 0, silent: 1 })
  })

  it('are refused when another key signs, the body or the time is another one, or they come again', async () => {
    const text = body()
    const good = signed(text)
    expect(await post(text, signed(text, keyOf(2)))).toBe('401 node_id is not the ID of the signing key')
    const forged = { ...good, 'coind-report-signature': signed(text, keyOf(2))['coind-report-signature']! }
    const wrong = '401 the signature is wrong for this key, body and time'
    expect(await post(text, forged)).toBe(wrong)
    expect(await post(body({ height: 4 }), good)).toBe(wrong)
    const later = { ...good, 'coind-report-time': new Date(Date.now() + 1_000).toISOString() }
    expect(await post(text, later)).toBe(wrong)
    for (const offset of [-121_000, 130_000]) {
      expect(await post(text, signed(text, KEY, Date.now() + offset))).toMatch(/^401 .* check the node's clock$/)
    }
    expect(await post(text, good)).toBe('200')
    expect(await post(text, good)).toBe('401 the report is not newer than the previous report of this node')
    expect(await post(body({ moniker: 'thief' }))).toBe('401 reports of this node must be signed, as earlier ones were')
    const [node] = (await get('network/nodes')).items
    expect(node).toMatchObject({ moniker: 'one', isVerified: true })
  })

  it('that are signed take the place of what somebody has said in the name of the node', async () => {
    expect(await post(body({ moniker: 'thief' }))).toBe('200')
    const text = body()
    expect(await post(text, signed(text))).toBe('200')
    const { items } = await get('network/nodes')
    expect(items).toMatchObject([{ moniker: 'one', isVerified: true }])
    expect((await get(`network/nodes/${idOf(KEY)}`)).hours).toMatchObject([{ reports: 1 }])
  })

  it.each([
    ['coind-node-key', 'x'],
    ['coind-node-key', '02'.repeat(32)],
    ['coind-report-signature', 'ff'],
    ['coind-report-signature', 'ff'.repeat(64)],
    ['coind-report-time', '2026-01-01'],
    ['coind-report-time', '9'.repeat(100)],
    ['coind-report-time', ''],
  ])('with the header %s %.20s are refused', async (name, value) => {
    expect(await post(body(), { ...signed(body()), [name]: value })).toMatch(/^40[01] \w/)
    const { [name]: _, ...rest } = signed(body())
    expect(await post(body(), rest)).toMatch(/^400 a signed report must have each of the headers/)
  })

  it.each<[string, Partial<Record<keyof HeartbeatBody, unknown>>]>([
    ['moniker', { moniker: 'x'.repeat(71) }],
    ['moniker', { moniker: 'a\0b' }],
    ['moniker', { moniker: 'a\u202eb' }],
    ['moniker', { moniker: '\ud800' }],
    ['version', { version: 7 }],
    ['node_id', { node_id: 'AB'.repeat(20) }],
    ['height', { height: -1 }],
    ['height', { height: 1.5 }],
    ['height', { height: 1e300 }],
    ['height', { height: '3' }],
    ['block_hash', { block_hash: '0x12' }],
    ['block_time', { block_time: 'yesterday' }],
    ['block_time', { block_time: '9999-01-01T00:00:00Z' }],
    ['block_time', { block_time: '1969-01-01T00:00:00Z' }],
    ['peers', { peers: 1e9 }],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a script's address
    ['rpc_address', { rpc_address: 'javascript:alert(`${1}`)' }],
    ['rpc_address', { rpc_address: 'http://user:password@host.example/' }],
    ['rpc_address', { rpc_address: `http://host.example/${'x'.repeat(300)}` }],
    ['this explorer takes reports of the chain', { chain_id: 'coin_1-1' }],
    ['this explorer takes reports of the chain', { evm_chain_id: 1 }],
  ])('with a wrong %s are refused: %j', async (name, changes) => {
    expect(await post(body(changes))).toMatch(new RegExp(`^400 ${name}`))
  })

  it.each([
    ['', 400],
    ['{', 400],
    ['[]', 400],
    ['null', 400],
    [Buffer.from('{"moniker":"\xff"}', 'latin1'), 400],
    [`{"__proto__":{"x":1},${body().slice(1)}`, 200],
    ['['.repeat(8_000), 400],
    ['x'.repeat(9_000), 413],
  ])('of other bodies are answered: %.20s', async (text, status) => {
    expect(await post(text)).toMatch(new RegExp(`^${status}`))
  })

  it('are JSON: what a form of a web page can send is not read', async () => {
    expect(await post(body(), { 'content-type': 'text/plain' })).toMatch(/^415/)
  })

  it('may hold HTML and SQL, which stay text', async () => {
    const hostile = `'; drop table node; --<script>alert("1")</script>`
    expect(await post(body({ moniker: hostile, version: hostile }))).toBe('200')
    const { items } = await get('network/nodes')
    expect(items).toMatchObject([{ moniker: hostile, version: hostile }])
  })

  it('of one address are limited, by new nodes too; those of others go on', async () => {
    const id = (number: number): string => number.toString(16).padStart(40, '0')
    const answers: string[] = []
    for (let i = 0; i < 32; i++) answers.push(await post(body({ node_id: id(i) })))
    expect(answers.filter((answer) => answer === '200')).toHaveLength(30)
    expect(answers.at(-1)).toMatch(/^429 too many new nodes/)
    // Known ones go on, until there are too many reports.
    expect(await post(body({ node_id: id(0) }))).toBe('200')
    while ((await post(body({ node_id: id(0) }))) === '200') answers.push('200')
    expect(answers.length).toBeLessThan(70)
    expect(await post(body({ node_id: id(1) }))).toMatch(/^429 too many reports/)
    expect(await post(body({ node_id: id(99) }), {}, '5.6.7.8')).toBe('200')
  })
})

describe('the nodes that are kept', () => {
  const report = (number: number, signedAtMs?: number): Report => ({
    moniker: `node ${number}`,
    chainId: 'coin_76287-1',
    evmChainId: 76287,
    nodeId: new Uint8Array(20).fill(number),
    version: '1',
    height: 1,
    blockHash: HASHES[0]!,
    blockTimeMs: 0,
    peers: 0,
    rpcAddress: null,
    signedAtMs,
  })
  const names = async (): Promise<readonly string[]> =>
    (await services.selectFrom('node').select('moniker').orderBy('number').execute()).map(({ moniker }) => moniker)
  const store = async (given: Report, nowMs: number): Promise<number | undefined> =>
    (await storeReport(services, given, { lag: 0, nowMs, mayAdd: () => true, maxNodes: 3 }))?.status

  it('are so many; a silent one makes room, an unverified one first for one that signs', async () => {
    await store(report(1, 1), 0)
    await store(report(2), 0)
    await store(report(3), 50_000)
    expect(await store(report(4), 60_000)).toBe(503)
    // 2 is silent.
    expect(await store(report(4), 100_000)).toBeUndefined()
    expect(await names()).toEqual(['node 1', 'node 3', 'node 4'])
    // 3 reports, and does not sign.
    expect(await store(report(5, 5), 110_000)).toBeUndefined()
    expect(await store(report(6, 6), 111_000)).toBeUndefined()
    expect(await names()).toEqual(['node 1', 'node 5', 'node 6'])
    expect(await store(report(7), 112_000)).toBe(503)
    expect(await store(report(7, 7), 113_000)).toBeUndefined()
    expect(await names()).toEqual(['node 5', 'node 6', 'node 7'])
    expect(await store(report(8, 8), 114_000)).toBe(503)
  })

  it('are forgotten after 30 days without a report, reports after 30 days', async () => {
    const day = 86_400_000
    await store(report(1, 1), 0)
    await store(report(2, 1), 0)
    await store(report(2, 2), 20 * day)
    await deleteOldReports(services, 31 * day)
    expect(await names()).toEqual(['node 2'])
    const hours = await services.selectFrom('heartbeat').select(['hour', 'reports']).execute()
    expect(hours).toEqual([{ hour: 20 * day, reports: 1 }])
  })
})
