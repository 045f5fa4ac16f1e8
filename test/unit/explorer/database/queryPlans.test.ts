import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { amountToBytes } from '../../../../explorer/database/amount.ts'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { openDatabase } from '../../../../explorer/database/open.ts'
import { transactionPosition } from '../../../../explorer/database/position.ts'
import { openServices, type ServiceQueries } from '../../../../explorer/database/services.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { createTestServer, refuse } from '../../../support/explorer/testServer.ts'

/* How SQLite finds what each path of the API asks the index for: by an index, or by the order in which rows are stored. */

/** Tables that stay small: one row, 1,000 nodes at most, and a few hundred validators. */
const SMALL: ReadonlySet<string> = new Set(['ingest', 'node', 'validator'])
/** The newest rows of a table, in the order in which it is stored. */
const NEWEST = /^select (?!.* where ).* from "(?:block|statistics_hour|proposal|node)" order by "\w+" desc limit \?$/

const address = new Uint8Array(20).fill(1)
const hash = new Uint8Array(32).fill(2)
const [A, H] = [bytesToHex(address), bytesToHex(hash)]

let directory: string
let database: IndexDatabase
let services: ServiceQueries
let app: Awaited<ReturnType<typeof createTestServer>>
/** that were asked, by their text */
const asked = new Map<string, CompiledQuery>()

function recorded<T>(queries: Kysely<T>): Kysely<T> {
  return queries.withPlugin({
    transformQuery: ({ node, queryId }) => {
      const query = queries.getExecutor().compileQuery(node, queryId)
      if (query.sql.startsWith('select')) asked.set(query.sql, query)
      return node
    },
    transformResult: async ({ result }) => result,
  })
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-plans-'))
  const path = join(directory, 'index.sqlite')
  database = await openDatabase(path)
  services = await openServices(path)
  const none = amountToBytes(0n)
  const position = transactionPosition(1, 0)
  const detail = JSON.stringify({ input: '0x', effectiveGasPrice: '0x1', contractAddress: null })
  const rates = { rate: '0', max_rate: '0', max_change_rate: '0' }
  const validator = {
    description: { moniker: 'x', identity: '', website: '', security_contact: '', details: '' },
    commission: { commission_rates: rates, update_time: '2026-01-01T00:00:00Z' },
    minSelfDelegation: '1',
  }
  await database.write(async ({ insert }) => {
    await insert('ingest', [
      { id: 1, chain_id: 'coin_76287-1', evm_chain_id: 76287, first_height: 1, height: 1, opening_height: 0 },
    ])
    await insert('block', [
      {
        height: 1,
        hash,
        consensus_hash: hash,
        time: 0,
        proposer: address,
        miner: address,
        gas_used: 0,
        gas_limit: 0,
        base_fee: none,
        evm_count: 1,
        native_count: 0,
        size: 0,
      },
    ])
    await insert('tx', [
      {
        position,
        hash,
        kind: 0,
        is_ok: 1,
        sender: address,
        recipient: address,
        value: none,
        fee: none,
        gas_used: 0,
        gas_limit: 0,
        nonce: 0,
        method: null,
        detail,
      },
    ])
    await insert('account_tx', [{ address, position }])
    await insert('log', [
      {
        position,
        ordinal: 0,
        address,
        topic0: hash,
        topic1: hash,
        topic2: null,
        topic3: null,
        data: hash,
        log_index: 0,
      },
    ])
    await insert('token', [{ address, kind: 0, is_exact: 1, holders: 1, transfers: 1, supply: none, position }])
    await insert('validator', [
      {
        operator: address,
        consensus_address: address,
        tokens: none,
        shares: none,
        delegators: 0,
        status: 'bonded',
        is_jailed: 0,
        is_tombstoned: 0,
        unbonding_time: 0,
        moniker_key: address,
        detail: JSON.stringify(validator),
      },
    ])
  })
  app = await createTestServer({
    queries: recorded(database.queries),
    services,
    node: { ethereum: async () => ['0x'], comet: refuse, rest: refuse },
    faucetAddress: address,
  })
})
afterAll(async () => {
  await app.close()
  await services.destroy()
  await database.close()
  rmSync(directory, { recursive: true })
})

/** Paths of the OpenAPI document with their places filled in, and with each of their parameters. */
async function paths(): Promise<readonly string[]> {
  const document = (await app.inject('/api/v1/openapi.json')).json() as {
    readonly paths: Readonly<
      Record<string, { readonly get?: { readonly parameters?: readonly { readonly name: string }[] } }>
    >
  }
  const values: Readonly<Record<string, readonly string[]>> = {
    before: ['5', '5.5', `5.${A}`],
    after: ['1'],
    state: ['active', 'inactive'],
    creator: [A],
    topic: [H],
    unit: ['day'],
    q: ['1', H, A, 'abc'],
  }
  return Object.entries(document.paths).flatMap(([path, { get }]) => {
    if (get === undefined || path.endsWith('/live')) return []
    const filled = path
      .replace('{hash}', H)
      .replace('{nodeId}', '01'.repeat(20))
      .replace(/\{(address|validator)\}/, A)
    const places = path.includes('/blocks/{id}') ? ['1', H] : ['1']
    const queries = (get.parameters ?? []).flatMap(({ name }) =>
      (values[name] ?? []).map((value) => `?${name}=${value}`),
    )
    return places.flatMap((place) => ['', ...queries].map((query) => filled.replace('{id}', place) + query))
  })
}

const ACTIONS = [
  ...['txlist', 'txlistinternal', 'tokentx', 'getminedblocks', 'addresstokenbalance', 'balance'].flatMap((action) =>
    ['asc', 'desc'].map((sort) => `module=account&action=${action}&address=${A}&sort=${sort}`),
  ),
  'module=account&action=txlistinternal&startblock=1&endblock=5',
  `module=account&action=txlistinternal&txhash=${H}`,
  `module=account&action=tokentx&contractaddress=${A}`,
  `module=account&action=tokenbalance&contractaddress=${A}&address=${A}`,
  ...[`address=${A}`, `topic0=${H}`, `address=${A}&topic0=${H}`, `topic1=${H}&toBlock=2`].map(
    (query) => `module=logs&action=getLogs&${query}`,
  ),
  `module=token&action=tokenholderlist&contractaddress=${A}`,
  'module=block&action=getblockreward&blockno=1',
  'module=block&action=getblocknobytime&timestamp=5',
  'module=block&action=getblockcountdown&blockno=100',
  'module=stats&action=dailytx&startdate=2020-01-01&enddate=2026-01-01',
  `module=contract&action=getcontractcreation&contractaddresses=${A}`,
  `module=transaction&action=getstatus&txhash=${H}`,
].map((query) => `/api?${query}`)

it('reads no table of the index as a whole, and sorts nothing, for any path of the API', async () => {
  let client = 0
  for (const url of [...(await paths()), ...ACTIONS]) {
    await app.inject({ url, headers: { 'x-forwarded-for': `198.51.100.${client++ % 256}` } })
  }
  const costly: string[] = []
  for (const [text, { parameters }] of asked) {
    const explained = sql.raw(`explain query plan ${text}`).compile(database.queries)
    const { rows } = await database.queries.executeQuery<{ detail: string }>({ ...explained, parameters })
    const plan = rows.map(({ detail }) => detail)
    // What a part of the query has found, by the name that it has in the rest.
    const found = new Set(plan.flatMap((line) => /^(?:CO-ROUTINE|MATERIALIZE) (\w+)/.exec(line)?.[1] ?? []))
    const isCostly = plan.some((line) => {
      const scanned = /^SCAN (?!.*CONSTANT ROW)(\w+)/.exec(line)?.[1]
      if (scanned !== undefined) return !(SMALL.has(scanned) || found.has(scanned) || NEWEST.test(text))
      // All rows before a place are nearly the whole table, where only some of them are wanted. Those of one block are few.
      const walked = /^SEARCH (\w+) (?!.*rowid>\? AND rowid<\?)[^=]*$/.exec(line)?.[1]
      return line.includes('TEMP B-TREE') || (walked !== undefined && text.includes('" = ?') && !SMALL.has(walked))
    })
    if (isCostly) costly.push(`${text}: ${plan.join('; ')}`)
  }
  expect(costly).toEqual([])
  expect(asked.size).toBeGreaterThan(80)
})
