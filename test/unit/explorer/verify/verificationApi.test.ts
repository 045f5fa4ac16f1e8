import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CREATION_KINDS } from '../../../../explorer/contracts/tables.ts'
import { transactionPosition } from '../../../../explorer/database/position.ts'
import type { NodeClient } from '../../../../explorer/node/nodeClient.ts'
import { openCompilers } from '../../../../explorer/verify/compilers.ts'
import { createVerifier, type Verifier } from '../../../../explorer/verify/verifier.ts'
import { toChecksumAddress } from '../../../../src/primitives/address.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { PROPERTY_RUNS, variants } from '../../../propertyRuns.ts'
import { openTestDatabases, type TestDatabases } from '../../../support/explorer/testDatabases.ts'
import { createTestServer } from '../../../support/explorer/testServer.ts'

/* The API, its limits and what is kept, with a compiler that gives at once what its sources say. test/e2e has solc and real tools. */

/** Tests that start many processes are for the long run. */
const isLong = PROPERTY_RUNS > 1
const VERSION = '0.8.0+commit.00000001'
const FILE = 'quick.js'
/** `A 6001 6002` is a contract with these two codes, `endless` never ends, everything else is an error. */
const QUICK_COMPILER = `
const compileAll = (sources) => {
  const contracts = {}
  for (const [path, { content }] of Object.entries(sources)) {
    if (content.startsWith('endless')) for (;;);
    const [name, creation, runtime] = content.trim().split(' ')
    if (runtime === undefined) return { errors: [{ severity: 'error', message: 'no contract: ' + content }] }
    const evm = { bytecode: { object: creation }, deployedBytecode: { object: runtime } }
    contracts[path] = { [name]: { abi: [{ type: 'constructor', inputs: [{}] }], metadata: '{"a":1}', userdoc: {}, devdoc: {}, evm } }
  }
  return { contracts }
}
var Module = {
  _malloc: () => 0, stringToUTF8() {}, lengthBytesUTF8: () => 0,
  cwrap: () => () => JSON.stringify(compileAll(JSON.parse(input).sources)),
}`
const CHAIN = 76287
const ADDRESS = `0x${'c1'.repeat(20)}`
const EMPTY = `0x${'c2'.repeat(20)}`
const HASH = hexToBytes(`0x${'ab'.repeat(32)}`)
const ARGUMENT = '07'.padStart(64, '0')
const POSITION = transactionPosition(1, 0)

let directory: string
let databases: TestDatabases
let verifier: Verifier
let url: string
let stop: () => Promise<void>
/** Each test is another client, as the proxy on loopback says. */
let tests = 0

/** Contracts whose code the node was asked for, which it tells when `codes` resolves. */
const asked: string[] = []
let codes: Promise<void> = Promise.resolve()

const node: NodeClient = {
  ethereum: async ([call]) => {
    const [address] = call!.params as readonly [string]
    asked.push(address)
    await codes
    return [address === ADDRESS ? '0x6002' : '0x']
  },
  comet: async () => [],
  rest: async () => ({}),
}

async function start() {
  const list = join(directory, 'list.json')
  const sha256 = createHash('sha256').update(QUICK_COMPILER).digest('hex')
  writeFileSync(list, JSON.stringify({ [VERSION]: { file: FILE, sha256 } }))
  const cache = join(directory, 'cache')
  mkdirSync(cache, { recursive: true })
  writeFileSync(join(cache, FILE), QUICK_COMPILER)
  const shared = {
    queries: databases.database.queries,
    services: databases.services,
    node,
    logger: { error: () => undefined, warn: () => undefined },
  }
  verifier = createVerifier({
    ...shared,
    compilers: await openCompilers({ list, cache, mirror: undefined }),
    limits: { timeMs: 60_000, memoryMib: 128, outputBytes: 1024 * 1024 },
  })
  const app = await createTestServer({ ...shared, verifier })
  await app.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
  stop = async () => {
    await app.close()
    await verifier.close()
  }
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-verify-'))
  databases = await openTestDatabases()
  await databases.database.write(async (writer) => {
    await writer.insert('ingest', [
      { id: 1, chain_id: 'coin_76287-1', evm_chain_id: CHAIN, first_height: 1, height: 3, opening_height: 0 },
    ])
    const bytes = new Uint8Array(20)
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
        evm_count: 1,
        native_count: 0,
        size: 0,
      },
    ])
    const detail = JSON.stringify({ input: `0x6001${ARGUMENT}` })
    await writer.insert('tx', [
      {
        position: POSITION,
        hash: HASH,
        kind: 0,
        is_ok: 1,
        sender: bytes,
        recipient: null,
        value: bytes,
        fee: bytes,
        gas_used: 0,
        gas_limit: 0,
        nonce: 0,
        method: null,
        detail,
      },
    ])
    await writer.insert('contract', [
      {
        address: hexToBytes(ADDRESS),
        position: POSITION,
        ordinal: 0,
        creator: bytes,
        kind: CREATION_KINDS.transaction,
        destroyed: null,
        is_deleted: 0,
        label: null,
      },
    ])
  })
  await start()
})
afterAll(async () => {
  await stop()
  await databases.close()
  rmSync(directory, { recursive: true })
})
beforeEach(async () => {
  tests++
  await databases.services.deleteFrom('verified_contract').execute()
})

interface Posted {
  readonly client?: string
  readonly headers?: Record<string, string>
  readonly address?: string
  readonly chain?: number | string
}

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
type Answer = { readonly status: number; readonly body: any }

async function post(
  body: unknown,
  { client = `10.0.0.${tests}`, headers = {}, address = ADDRESS, chain = CHAIN }: Posted = {},
): Promise<Answer> {
  const response = await fetch(`${url}/v2/verify/${chain}/${address}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': client, ...headers },
    body: typeof body === 'string' || body instanceof Buffer ? body : JSON.stringify(body),
  })
  return { status: response.status, body: await response.json() }
}

async function get(path: string): Promise<Answer> {
  const response = await fetch(`${url}${path}`)
  return { status: response.status, body: await response.json() }
}

/** A request to verify this text as the only source. */
const requestOf = (content: string, more: Record<string, unknown> = {}) => ({
  stdJsonInput: { language: 'Solidity', sources: { 'a.sol': { content } }, settings: {} },
  compilerVersion: VERSION,
  contractIdentifier: 'a.sol:A',
  ...more,
})

async function finished(id: string) {
  for (;;) {
    const { body } = await get(`/v2/verify/${id}`)
    if (body.isJobCompleted) return body
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function verify(content: string, more?: Record<string, unknown>, options?: Posted) {
  const { status, body } = await post(requestOf(content, more), options)
  expect(status, JSON.stringify(body)).toBe(202)
  return finished(body.verificationId)
}

const NAMES = { chainId: String(CHAIN), address: toChecksumAddress(hexToBytes(ADDRESS)) }
const UNKNOWN = { match: null, creationMatch: null, runtimeMatch: null, ...NAMES }

describe('a verification', () => {
  it('is told of as by Sourcify, and its sources are kept', async () => {
    expect(await get(`/v2/contract/${CHAIN}/${ADDRESS}`)).toEqual({ status: 404, body: UNKNOWN })
    expect((await get(`/api/v1/contracts/${ADDRESS}/source`)).status).toBe(404)
    const job = await verify('A 6001 6002', { contractIdentifier: undefined })
    const match = { match: 'match', creationMatch: 'match', runtimeMatch: 'match', ...NAMES }
    expect(job).toMatchObject({ isJobCompleted: true, contract: match })
    expect(job).not.toHaveProperty('error')
    const short = await get(`/v2/contract/${CHAIN}/${ADDRESS}`)
    expect(short.body).toEqual({
      ...match,
      verifiedAt: expect.stringMatching(/Z$/),
      matchId: expect.stringMatching(/^[0-9]+$/),
    })
    const { body } = await get(`/v2/contract/${CHAIN}/${ADDRESS}?fields=all`)
    expect(body).toMatchObject({
      sources: { 'a.sol': { content: 'A 6001 6002' } },
      compilation: { compilerVersion: VERSION, name: 'A', fullyQualifiedName: 'a.sol:A', language: 'Solidity' },
      deployment: { transactionHash: `0x${'ab'.repeat(32)}`, blockNumber: '1', transactionIndex: '0' },
      creationBytecode: { transformationValues: { constructorArguments: `0x${ARGUMENT}` } },
      runtimeBytecode: { onchainBytecode: '0x6002', recompiledBytecode: '0x6002' },
      metadata: { a: 1 },
    })
    const part = await get(`/v2/contract/${CHAIN}/${ADDRESS}?fields=abi,compilation.name`)
    expect(part.body).toMatchObject({ ...match, abi: [{ type: 'constructor' }], compilation: { name: 'A' } })
    expect(part.body).not.toHaveProperty('sources')
    const rest = await get(`/v2/contract/${CHAIN}/${ADDRESS}?omit=sources,compilation.name`)
    expect(rest.body).not.toHaveProperty('sources')
    expect(rest.body.compilation).not.toHaveProperty('name')
    const page = await fetch(`${url}/repo-ui/${CHAIN}/${ADDRESS}`, { redirect: 'manual' })
    expect(page.headers.get('location')).toBe(`/address/${NAMES.address}`)
    for (const query of [
      'fields=nothing',
      'fields=__proto__',
      'fields=abi.x.y',
      'fields=abi&omit=sources',
      'fields=abi&fields=abi',
    ])
      expect(await get(`/v2/contract/${CHAIN}/${ADDRESS}?${query}`)).toMatchObject({
        status: 400,
        body: { customCode: 'invalid_parameter' },
      })
    expect((await get(`/api/v1/contracts/${ADDRESS}/source`)).body).toMatchObject({
      name: 'A',
      match: 'match',
      constructorArguments: `0x${ARGUMENT}`,
      sources: [{ path: 'a.sol', content: 'A 6001 6002' }],
    })
    expect((await get('/api/v1/compilers')).body.versions).toContain(VERSION)
  })

  it.runIf(isLong)('with sources that say no more replaces none', async () => {
    await verify('A 6001 6002')
    expect(await verify('A 6001 6002 // again')).toMatchObject({ error: { customCode: 'already_verified' } })
    expect((await get(`/v2/contract/${CHAIN}/${ADDRESS}?fields=sources`)).body.sources['a.sol'].content).toBe(
      'A 6001 6002',
    )
  })

  it('does not count for another contract at the address, or on another chain', async () => {
    await verify('A 6001 6002')
    const isKnown = async () => (await get(`/v2/contract/${CHAIN}/${ADDRESS}`)).status === 200
    const update = databases.database.queries.updateTable('contract')
    await update.set({ position: POSITION + 1 }).execute()
    expect(await isKnown()).toBe(false)
    await update.set({ position: POSITION }).execute()
    expect(await isKnown()).toBe(true)
    await databases.database.queries
      .updateTable('block')
      .set({ hash: hexToBytes(`0x${'ac'.repeat(32)}`) })
      .execute()
    expect(await isKnown()).toBe(false)
    // Sources of the contract that is there now take its place, though they say no more.
    expect(await verify('A 6001 6002')).not.toHaveProperty('error')
    expect(await isKnown()).toBe(true)
    await databases.database.queries.updateTable('block').set({ hash: HASH }).execute()
  })

  // Each starts a process.
  it.each(
    variants(
      [
        ['nonsense \0', {}, {}, 'compiler_error'],
        ['A 6009 6003', {}, {}, 'no_match'],
        ['A 6001 6003', { address: EMPTY }, {}, 'contract_not_deployed'],
        ['A 6009 6003', {}, { contractIdentifier: undefined }, 'no_match'],
        ['A 6001 6002', {}, { contractIdentifier: 'a.sol:B' }, 'contract_not_found_in_compiler_output'],
        ['A 6001 6002', {}, { contractIdentifier: '__proto__:toString' }, 'contract_not_found_in_compiler_output'],
      ],
      2,
    ),
  )('of %j fails with a reason', async (content, options, more, code) => {
    const job = await verify(content, more, options)
    expect(job).toMatchObject({
      isJobCompleted: true,
      error: { customCode: code, message: expect.stringMatching(/./) },
    })
    expect(job.contract.match).toBeNull()
    expect((await get(`/v2/contract/${CHAIN}/${ADDRESS}`)).status).toBe(404)
  })
})

describe('a request is refused', () => {
  const good = requestOf('A 6001 6002')

  it.each([
    ['another chain', good, { chain: 1 }, 404, 'unsupported_chain'],
    ['no chain', good, { chain: 'x' }, 404, 'unsupported_chain'],
    ['no address', good, { address: '0x12' }, 400, 'invalid_parameter'],
    ['not valid JSON', '{"stdJsonInput":', {}, 400, 'invalid_parameter'],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 400, 'invalid_parameter'],
    ['no object', 'null', {}, 400, 'invalid_parameter'],
    ['no version', { ...good, compilerVersion: undefined }, {}, 400, 'invalid_parameter'],
    ['a path as version', { ...good, compilerVersion: '../../../etc/passwd' }, {}, 400, 'unsupported_compiler_version'],
    ['a file as version', { ...good, compilerVersion: FILE }, {}, 400, 'unsupported_compiler_version'],
    ['no path of the contract', { ...good, contractIdentifier: 'A' }, {}, 400, 'invalid_parameter'],
    ['a number as contract', { ...good, contractIdentifier: 1 }, {}, 400, 'invalid_parameter'],
    ['no sources', { ...good, stdJsonInput: { language: 'Solidity', sources: {} } }, {}, 400, 'invalid_parameter'],
    ['a page of another site', good, { headers: { origin: 'https://other.example' } }, 403, 'invalid_parameter'],
    ['a page in a sandbox', good, { headers: { origin: 'null' } }, 403, 'invalid_parameter'],
    ['another site, behind a proxy', good, { headers: { 'sec-fetch-site': 'cross-site' } }, 403, 'invalid_parameter'],
    ['a form', 'a=b', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }, 415, 'invalid_parameter'],
    ['more than 4 MiB', requestOf('x'.repeat(5_000_000)), {}, 413, 'invalid_parameter'],
  ])('with %s', async (_, body, options, status, code) => {
    const answer = await post(body, options as Posted)
    expect(answer).toMatchObject({ status, body: { customCode: code, errorId: expect.stringMatching(/-/) } })
    expect(answer.body.message).toMatch(/^[^\n]+$/)
  })

  it('but not one of the own page', async () => {
    const { status, body } = await post(good, { headers: { origin: url } })
    expect(status).toBe(202)
    await finished(body.verificationId)
  })

  it('when there is no such job', async () => {
    for (const id of ['6f9619ff-8b86-4011-b42d-00c04fc964ff', 'x', '%27%20or%201=1'])
      expect(await get(`/v2/verify/${id}`)).toMatchObject({ status: 404, body: { customCode: 'job_not_found' } })
  })
})

describe('the actions of Etherscan', () => {
  const ask = async (form: Record<string, string>, headers: Record<string, string> = {}): Promise<Answer['body']> => {
    const body = new URLSearchParams({ module: 'contract', ...form })
    const all = { 'x-forwarded-for': `10.0.0.${tests}`, ...headers }
    return (await fetch(`${url}/api`, { method: 'POST', body, headers: all })).json()
  }
  const standard = {
    action: 'verifysourcecode',
    contractaddress: ADDRESS,
    codeformat: 'solidity-standard-json-input',
    contractname: 'a.sol:A',
    compilerversion: `v${VERSION}`,
    sourceCode: JSON.stringify(requestOf('A 6001 6002').stdJsonInput),
    constructorArguements: ARGUMENT,
  }
  const NOT_VERIFIED = 'Contract source code not verified'
  const checked = async (guid: string) => {
    await finished(guid)
    return ask({ action: 'checkverifystatus', guid })
  }

  it('verify a contract, and give its sources and ABI', async () => {
    expect(await ask({ action: 'getabi', address: ADDRESS })).toEqual({
      status: '0',
      message: 'NOTOK',
      result: NOT_VERIFIED,
    })
    const unknown = await ask({ action: 'getsourcecode', address: ADDRESS })
    expect(unknown).toMatchObject({ status: '1', result: [{ SourceCode: '', ABI: NOT_VERIFIED, ContractName: '' }] })
    const { status, result } = await ask(standard)
    expect(status).toBe('1')
    expect(await checked(result)).toEqual({ status: '1', message: 'OK', result: 'Pass - Verified' })
    expect(JSON.parse((await ask({ action: 'getabi', address: ADDRESS })).result)).toEqual([
      { type: 'constructor', inputs: [{}] },
    ])
    const [source] = (await ask({ action: 'getsourcecode', address: ADDRESS })).result
    expect(source).toMatchObject({ ContractName: 'A', CompilerVersion: `v${VERSION}`, ConstructorArguments: ARGUMENT })
    expect(JSON.parse(source.SourceCode.slice(1, -1)).sources).toEqual({ 'a.sol': { content: 'A 6001 6002' } })
    expect(await checked((await ask(standard)).result)).toMatchObject({ status: '0', result: 'Already Verified' })
  })

  it.runIf(isLong)('take a single file', async () => {
    const form = { ...standard, codeformat: 'solidity-single-file', contractname: 'A', sourceCode: 'A 6001 6002' }
    const libraries = { libraryname1: 'Sum', libraryaddress1: ADDRESS }
    const { result } = await ask({ ...form, ...libraries, optimizationUsed: '1', runs: '999', evmversion: 'Cancun' })
    expect((await checked(result)).result).toBe('Pass - Verified')
    const { body } = await get(`/v2/contract/${CHAIN}/${ADDRESS}?fields=compilation`)
    expect(body.compilation.compilerSettings).toEqual({
      evmVersion: 'cancun',
      libraries: { 'A.sol': { Sum: ADDRESS } },
      optimizer: { enabled: true, runs: 999 },
    })
  })

  it.each([
    [{ contractaddress: EMPTY }, 'Unable to locate ContractCode at'],
    [{ compilerversion: 'v../../x' }, 'does not have the requested compiler'],
    [{ sourceCode: '{{}}' }, 'not valid JSON'],
    [{ sourceCode: '' }, 'Missing sourcecode'],
    [{ contractname: '' }, 'Missing contractname'],
    [{ codeformat: 'vyper-json' }, 'codeformat'],
    [{ contractaddress: 'x' }, 'Invalid address'],
    [{ sourceCode: JSON.stringify({ language: 'Solidity', sources: {} }) }, 'sources must not be empty'],
    [{ action: 'checkverifystatus', guid: 'x' }, 'Unknown GUID'],
  ])('refuse %j', async (change, reason) => {
    expect(await ask({ ...standard, ...change })).toMatchObject({
      status: '0',
      result: expect.stringContaining(reason),
    })
  })

  it('tell why a contract is not verified', async () => {
    const sourceCode = JSON.stringify(requestOf('A 6001 6009').stdJsonInput)
    const { result } = await ask({ ...standard, sourceCode, contractname: 'a.sol:B' })
    expect(await checked(result)).toMatchObject({
      status: '0',
      result: expect.stringMatching(/^Fail - Unable to verify\. ./),
    })
  })

  it('take nothing from pages of other sites', async () => {
    const answer = await ask(standard, { origin: 'https://other.example' })
    expect(answer).toMatchObject({ status: '0', result: expect.stringContaining('other sites') })
  })

  it.runIf(isLong)('take forms of 4 MiB, a few in an hour', async () => {
    const answers: string[] = []
    for (let times = 0; times < 32; times++)
      answers.push((await ask({ action: 'x', sourceCode: 'y'.repeat(600_000) })).result)
    expect(answers[0]).toContain('Action name')
    expect(answers.at(-1)).toContain('rate limit')
  })
})

describe('jobs', () => {
  it('are limited by client and in all, and end with a reason when the explorer stops', async () => {
    const own = await post(requestOf('endless 1'))
    expect(own.status).toBe(202)
    expect((await post(requestOf('endless 1'))).body.customCode).toBe('duplicate_verification_request')
    for (const text of ['endless 2', 'endless 3']) expect((await post(requestOf(text))).status).toBe(202)
    expect(await post(requestOf('endless 4'))).toMatchObject({ status: 429, body: { customCode: 'too_many_requests' } })
    const ids: string[] = [own.body.verificationId]
    for (let at = 0; at < 17; at++) {
      const { status, body } = await post(requestOf(`endless 5 ${at}`), { client: `10.1.0.${at}` })
      expect(status).toBe(202)
      ids.push(body.verificationId)
    }
    expect((await post(requestOf('endless 6'), { client: '10.2.0.1' })).status).toBe(429)
    await stop()
    await start()
    for (const id of ids) {
      const { body } = await get(`/v2/verify/${id}`)
      expect(body).toMatchObject({ isJobCompleted: true, error: { message: expect.stringContaining('was stopped') } })
    }
    expect(await verify('A 6001 6002')).not.toHaveProperty('error')
  })

  it('leave places to others where many wait, and take turns by client', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    codes = promise
    asked.length = 0
    const ids: string[] = []
    const submit = async (client: number, number: number): Promise<number> => {
      const address = `0x${'00'.repeat(18)}${client.toString(16).padStart(2, '0')}0${number}`
      const { status, body } = await post(requestOf('A 6001 6002'), { address, client: `10.3.0.${client}` })
      if (status === 202) ids.push(body.verificationId)
      return status
    }
    const statuses: number[] = []
    for (const client of [1, 2, 3, 4]) for (const number of [1, 2, 3]) statuses.push(await submit(client, number))
    expect(statuses).toEqual([202, 202, 202, 202, 202, 202, 202, 202, 429, 202, 429, 429])
    for (let client = 5; client <= 15; client++) expect(await submit(client, 1)).toBe(202)
    expect(await submit(16, 1)).toBe(429)
    resolve()
    for (const id of ids) await finished(id)
    const turns = asked.map((address) => `${Number(`0x${address.slice(-4, -2)}`)}.${address.at(-1)}`)
    const firsts = Array.from({ length: 15 }, (_, index) => `${index + 1}.1`)
    expect(turns).toEqual([...firsts, '1.2', '2.2', '3.2', '1.3', '2.3'])
  })

  it('of an explorer that was killed end as cut off', async () => {
    const id = '6f9619ff-8b86-4011-b42d-00c04fc964aa'
    const address = hexToBytes(ADDRESS)
    const longAgo = Date.now() - 600_000
    await databases.services
      .insertInto('verification_job')
      .values({ id, address, started_at: longAgo, alive_at: longAgo })
      .execute()
    for (let times = 0; times < 2; times++) {
      const { body } = await get(`/v2/verify/${id.toUpperCase()}`)
      expect(body).toMatchObject({
        isJobCompleted: true,
        error: { customCode: 'internal_error', message: expect.stringContaining('again') },
      })
    }
  })
})
