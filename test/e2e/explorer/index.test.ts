import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPublicClient, createWalletClient, getAddress, type Hex, http, numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bytesToAmount } from '../../../explorer/database/amount.ts'
import { openReader } from '../../../explorer/database/open.ts'
import type { RunningExplorer } from '../../../explorer/startExplorer.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { postgresPrograms, startPostgres, type TestPostgres } from '../../postgres/startPostgres.ts'
import { ACCOUNTS, COIN, GWEI, NATIVE_TOKEN, viemChain } from '../devChain.ts'
import { getJson } from '../native/nativeChain.ts'
import { startQuickDevnet } from '../quickDevnet.ts'
import { rpc } from '../rpc.ts'
import type { TestNode } from '../startNode.ts'
import { HOSTILE, HOSTILE_NAME, reportAsNode, testAbuse, viewAbuse } from './abuse.ts'
import { browserPath, launchBrowser } from './browser.ts'
import { testEtherscan } from './etherscan.ts'
import { testEvm, viewEvm } from './evm.ts'
import { faucetFlags, testFaucet, viewFaucet } from './faucet.ts'
import { type FilledChain, fillChain, ITEMS, NFT, SAMPLE, SENDER, STAKER, WRAPPED } from './fillChain.ts'
import { testPages } from './pages.ts'
import { testStaking, viewStaking } from './staking.ts'
import { startTestExplorer } from './startTestExplorer.ts'
import { testVerification } from './verification.ts'

let node: TestNode
let explorer: RunningExplorer
let directory: string
let database: string
/** with TEST_POSTGRES=1 (`npm run test:postgres`), the database of all of these tests */
let postgres: TestPostgres | undefined
let evmHashes: FilledChain['evmHashes']
let nativeHash: FilledChain['nativeHash']
let tokens: FilledChain['tokens']
let evm: FilledChain['evm']

/** An answer of the explorer's API. */
// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers of every shape
const get = async (path: string): Promise<any> => (await fetch(new URL(`api/v1/${path}`, explorer.url))).json()

const start = (): Promise<RunningExplorer> =>
  startTestExplorer(node.url, directory, { EXPLORER_DATABASE: database, ...faucetFlags(directory) })

async function indexed(height: number): Promise<void> {
  while (((await get('status')).height ?? 0) < height) await new Promise((resolve) => setTimeout(resolve, 50))
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coind-explorer-'))
  if (process.env['TEST_POSTGRES'] === '1') {
    const programs = postgresPrograms()
    if (programs === undefined) throw new Error('PostgreSQL is not installed: apt-get install postgresql')
    postgres = await startPostgres(programs)
  }
  database = postgres?.url ?? join(directory, 'index.sqlite')
  node = await startQuickDevnet({ environment: { PRUNING: 'archive' } })
  ;({ evmHashes, nativeHash, tokens, evm } = await fillChain(node))
  explorer = await start()
  await indexed(Number(await rpc<Hex>(node.url, 'eth_blockNumber')))
  const { chainId, evmChainId } = await get('status')
  await reportAsNode(explorer.url, { chain_id: chainId, evm_chain_id: evmChainId })
})
afterAll(async () => {
  explorer?.stop()
  await explorer?.ended
  await node?.stop()
  postgres?.stop()
  rmSync(directory, { recursive: true, force: true })
})

describe('an explorer', () => {
  it('shows transactions of both kinds with the coins that they moved', async () => {
    const [, withdrawal, refusal, , token] = evmHashes
    const transaction = await get(`transactions/${withdrawal}`)
    expect(transaction).toMatchObject({ kind: 'evm', isSuccessful: true, from: SENDER, value: '0' })
    expect(transaction.movements).toMatchObject([
      { kind: 'fee', from: SENDER },
      { kind: 'transfer', from: transaction.to, to: SENDER, amount: '20' },
    ])
    expect((await get(`transactions/${refusal}`)).isSuccessful).toBe(false)
    expect((await get(`transactions/${token}`)).movements[1]).toMatchObject({ from: SENDER, amount: String(5n * COIN) })

    const native = await get(`transactions/${nativeHash}`)
    expect(native).toMatchObject({
      kind: 'native',
      isSuccessful: true,
      from: STAKER,
      method: '/cosmos.bank.v1beta1.MsgSend',
    })
    expect(native.detail).toMatchObject({ memo: HOSTILE, messages: [{ '@type': '/cosmos.bank.v1beta1.MsgSend' }] })
    expect(native.movements.map(({ kind, amount }: { kind: string; amount: string }) => `${kind} ${amount}`)).toContain(
      `transfer ${COIN}`,
    )
  })

  it('adds tokens up to what their contracts say', async () => {
    const reader = createPublicClient({ transport: http(node.url) })
    const people = [1, 2, 3].map((index) => ACCOUNTS[index]!.address)
    for (const [index, address] of tokens.entries()) {
      const { abi } = [SAMPLE, NFT, ITEMS, WRAPPED][index]!
      const read = async (functionName: string, ...args: unknown[]) =>
        (await reader.readContract({ address, abi, functionName, args })) as bigint
      const balances = await Promise.all(
        people.map(async (person) =>
          index === 2
            ? (await read('balanceOf', person, 1n)) + (await read('balanceOf', person, 2n))
            : read('balanceOf', person),
        ),
      )
      const holders = people
        .map((person, at) => ({ address: getAddress(person), amount: String(balances[at]) }))
        .filter(({ amount }) => amount !== '0')
      const { items } = await get(`tokens/${address}/holders`)
      expect(new Set(items)).toEqual(new Set(holders))
      expect(items.map(({ amount }: { amount: string }) => Number(amount))).toEqual(
        holders.map(({ amount }) => Number(amount)).toSorted((x, y) => y - x),
      )
      const supply = String(balances.reduce((sum, amount) => sum + amount, 0n))
      expect(await get(`tokens/${address}`)).toMatchObject({ holders: holders.length, supply, isExact: true })
    }
    const { items } = await get('tokens')
    expect(items.length).toBe(4)
  })

  it('asks what tokens are called, and finds them by that', async () => {
    let found: unknown[] = []
    while (found.length === 0) {
      found = (await get('search?q=smp')).items
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const address = getAddress(tokens[0]!)
    expect(found).toMatchObject([{ kind: 'token', id: address }])
    const named = { address, name: HOSTILE_NAME, symbol: 'SMPL', decimals: 18 }
    expect(await get(`tokens/${address}`)).toMatchObject(named)
    const { items } = await get(`addresses/${SENDER}/tokens`)
    expect(items).toContainEqual({ token: { ...named, kind: 'erc20' }, amount: '400' })
  })

  it('lists transfers of tokens page by page, and with their transaction', async () => {
    const path = `addresses/${ACCOUNTS[3]!.address}/token-transfers`
    const all = (await get(path)).items
    const seen: unknown[] = []
    let next: string | null = ''
    while (next !== null) {
      const page = await get(`${path}?limit=2${next === '' ? '' : `&before=${next}`}`)
      expect(page.items.length).toBeLessThanOrEqual(2)
      seen.push(...page.items)
      next = page.next
    }
    // Four of ERC-20, three of ERC-721, five ids of ERC-1155, three of the wrapper.
    expect(seen.length).toBe(15)
    expect(seen).toEqual(all)
    const sale = all.find(
      ({ id, token }: { id: string; token: { kind: string } }) => token.kind === 'erc721' && id === '1',
    )
    expect((await get(`transactions/${sale.transaction}`)).tokenTransfers).toEqual([sale])
    const holders = await get(`tokens/${tokens[0]}/holders?limit=1`)
    expect((await get(`tokens/${tokens[0]}/holders?limit=1&before=${holders.next}`)).items[0].amount).toBe('400')
    expect((await get('tokens?limit=3')).next).not.toBeNull()
    expect((await get(`tokens?limit=3&before=${(await get('tokens?limit=3')).next}`)).items.length).toBe(1)
  })

  it('lists the transactions of an account in either spelling, page by page', async () => {
    const first = await get(`addresses/${SENDER}/transactions?limit=4`)
    const second = await get(`addresses/${toBech32(hexToBytes(SENDER))}/transactions?limit=4&before=${first.next}`)
    const all = [...first.items, ...second.items].map(({ hash }: { hash: string }) => hash)
    expect(all).toEqual(expect.arrayContaining([...evmHashes]))
    expect(all.length).toBe(6)
    expect(second.next).toBeNull()
    const { items } = await get(`addresses/${STAKER}/movements`)
    expect(items.map(({ kind }: { kind: string }) => kind)).toEqual(expect.arrayContaining(['fee', 'transfer']))
  })

  testEvm(get, () => ({ url: node.url, filled: evm }))

  testStaking(get, () => node)

  testVerification(
    () => explorer.url,
    () => evm.child,
  )

  testFaucet(() => ({ explorerUrl: explorer.url, url: node.url }))

  testAbuse(() => ({ explorerUrl: explorer.url, address: SENDER, hash: evmHashes[0]!, token: tokens[0]! }))

  testEtherscan(() => ({ explorerUrl: explorer.url, url: node.url, evm, tokens, hashes: evmHashes, sender: SENDER }))

  testPages(get, () => ({
    addresses: [SENDER, STAKER, ACCOUNTS[3]!.address, NATIVE_TOKEN, evm.puppet, evm.child, tokens[0]!],
    transactions: [...evmHashes, evm.creation, evm.mixed, evm.destruction],
    tokens,
  }))

  it('finds heights, hashes of both kinds and addresses in both spellings', async () => {
    const block = await get('blocks/1')
    const found = async (text: string) => (await get(`search?q=${text}`)).items
    expect(await found('1')).toEqual([{ kind: 'block', id: '1' }])
    expect(await found(block.hash)).toEqual([{ kind: 'block', id: '1' }])
    expect(await found(block.consensusHash.slice(2).toUpperCase())).toEqual([{ kind: 'block', id: '1' }])
    expect(await found(evmHashes[0]!)).toEqual([{ kind: 'transaction', id: evmHashes[0] }])
    expect(await found(nativeHash)).toEqual([{ kind: 'transaction', id: `0x${nativeHash.toLowerCase()}` }])
    expect(await found(toBech32(hexToBytes(SENDER)))).toEqual([{ kind: 'address', id: SENDER }])
    expect(await found('nothing at all')).toEqual([])
  })

  it('counts by hour what the blocks have, and by day what the hours have', async () => {
    const reader = openReader(database)
    // All of it at one moment: PostgreSQL's transactions see what others store otherwise.
    const [hours, blocks, failed] = await reader.queries
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (queries) => [
        await queries.selectFrom('statistics_hour').selectAll().execute(),
        await queries.selectFrom('block').selectAll().execute(),
        await queries.selectFrom('tx').select('position').where('is_ok', '=', 0).execute(),
      ])
    await reader.close()
    const sum = <T>(rows: readonly T[], of: (row: T) => number): number => rows.reduce((all, row) => all + of(row), 0)
    expect(sum(hours, (row) => row.blocks)).toBe(blocks.length)
    expect(sum(hours, (row) => row.evm_count)).toBe(sum(blocks, (row) => row.evm_count))
    expect(sum(hours, (row) => row.native_count)).toBe(sum(blocks, (row) => row.native_count))
    expect(sum(hours, (row) => row.gas_used)).toBe(sum(blocks, (row) => row.gas_used))
    expect(sum(hours, (row) => row.failed_count)).toBe(failed.length)
    expect(sum(hours, (row) => row.new_accounts)).toBeGreaterThan(2)

    const moved = async (unit: string): Promise<bigint> =>
      (await get(`statistics?unit=${unit}`)).items.reduce(
        (all: bigint, item: { moved: string }) => all + BigInt(item.moved),
        0n,
      )
    expect(await moved('day')).toBe(await moved('hour'))
    expect(await moved('day')).toBeGreaterThan(6n * COIN)
  })

  it('tells the parameters of all modules, and what waits for a block', async () => {
    const { modules } = await get('parameters')
    const { params } = await getJson(node, '/cosmos/gov/v1/params')
    expect(modules.find(({ name }: { name: string }) => name === 'gov').params).toEqual(params)

    const writer = createWalletClient({ chain: viemChain(node.url), transport: http(node.url), account: ACCOUNTS[4]! })
    const common = { to: SENDER, gas: 21_000n, maxFeePerGas: 9n * GWEI, maxPriorityFeePerGas: GWEI } as const
    // It stays in the pool until there is one with a lower nonce.
    const hash = await writer.sendTransaction({ ...common, nonce: 1, value: 5n })
    while ((await get('mempool')).queued < 1) await new Promise((resolve) => setTimeout(resolve, 50))
    const { items } = await get('mempool')
    expect(items).toMatchObject([{ hash, kind: 'evm', from: ACCOUNTS[4]!.address, to: SENDER, value: '5', nonce: 1 }])
  })

  it('keeps proposals, deposits and votes, of which the last one counts', async () => {
    const found = await get(`proposals/1`)
    const { proposal } = await getJson(node, '/cosmos/gov/v1/proposals/1')
    expect(found).toMatchObject({ id: 1, status: 'voting', title: HOSTILE, summary: HOSTILE, proposer: STAKER })
    expect(found.messages).toEqual(proposal.messages)
    expect(found.totalDeposit).toBe(proposal.total_deposit[0].amount)
    expect(Date.parse(found.votingEndTime)).toBe(Date.parse(proposal.voting_end_time))
    const { tally } = await getJson(node, '/cosmos/gov/v1/proposals/1/tally')
    expect(found.tally).toMatchObject({ yes: tally.yes_count, no: tally.no_count })
    const { params } = await getJson(node, '/cosmos/gov/v1/params/tallying')
    const { pool } = await getJson(node, '/cosmos/staking/v1beta1/pool')
    const { quorum, threshold, veto_threshold: vetoThreshold } = params
    expect(found.rules).toEqual({ bonded: pool.bonded_tokens, quorum, threshold, vetoThreshold })
    expect((await get('proposals')).items).toMatchObject([{ id: 1, title: HOSTILE }])

    const votes = [
      { voter: STAKER, isReplaced: false, options: [{ option: 'yes' }, { option: 'no' }] },
      { voter: STAKER, isReplaced: true, options: [{ option: 'noWithVeto' }] },
    ]
    expect((await get('proposals/1/votes')).items).toMatchObject(votes)
    expect((await get(`addresses/${toBech32(hexToBytes(STAKER))}/votes`)).items).toMatchObject(votes)
    const first = await get('proposals/1/votes?limit=1')
    expect((await get(`proposals/1/votes?limit=1&before=${first.next}`)).items).toMatchObject([votes[1]])
    const { items } = await get('proposals/1/deposits')
    expect(items.map(({ amount }: { amount: string }) => BigInt(amount))).toEqual([3n * COIN, 10n * COIN])
    expect((await fetch(new URL('api/v1/proposals/2', explorer.url))).status).toBe(404)
  })

  it.each([
    'proposals/x',
    'proposals/0',
    'validators/coinvaloper1x',
    'blocks/x',
    'statistics?unit=year',
    'statistics?limit=101',
    'blocks?limit=0',
    'blocks?limit=1000',
    'transactions/0x12',
    'addresses/0x12',
    'search',
  ])('refuses %s with a reason', async (path) => {
    const response = await fetch(new URL(`api/v1/${path}`, explorer.url))
    expect(response.status).toBe(400)
    expect(((await response.json()) as { error: string }).error).toMatch(/./)
  })

  it('shares a PostgreSQL database with another, which goes on when that ends; an SQLite file with none', async () => {
    if (postgres === undefined) {
      await expect(start()).rejects.toThrow('another explorer is writing to')
      return
    }
    const first = explorer
    explorer = await start()
    const { height } = await get('status')
    await indexed(height + 2)
    first.stop()
    await first.ended
    await indexed((await get('status')).height + 2)
    postgres.crash()
    while ((await get('status')).error !== undefined) await new Promise((resolve) => setTimeout(resolve, 50))
    await indexed((await get('status')).height + 2)
  })

  it('goes on where it was after a restart', async () => {
    const { height } = await get('status')
    explorer.stop()
    await explorer.ended
    explorer = await start()
    expect((await get('status')).height).toBeGreaterThanOrEqual(height)
    await indexed(height + 2)
  })

  it('adds coins up to the balances that the node has, after all of that', async () => {
    const reader = openReader(database)
    // In one query: the index goes on.
    const balances = await reader.queries
      .selectFrom(['coin_balance', 'ingest'])
      .select(['coin_balance.address', 'coin_balance.amount', 'ingest.height'])
      .execute()
    const stored = await reader.queries.selectFrom('block').select('height').orderBy('height').execute()
    await reader.close()
    expect(stored.map(({ height }) => height)).toEqual(stored.map((_, index) => index + 1))
    expect(balances.length).toBeGreaterThan(14)
    for (const { address, amount, height } of balances) {
      const balance = await rpc<Hex>(node.url, 'eth_getBalance', bytesToHex(address), numberToHex(height))
      expect(`${bytesToHex(address)} ${bytesToAmount(amount)}`).toBe(`${bytesToHex(address)} ${BigInt(balance)}`)
    }
  })
})

const path = browserPath()
describe.skipIf(path === undefined)('its pages in a browser', () => {
  it('show blocks as they come, a transaction and an account, and a person gets there', async () => {
    const browser = await launchBrowser(path!)
    try {
      const page = await browser.newPage()
      const problems: string[] = []
      page.on('pageerror', ({ message }) => problems.push(message))
      page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
      const foreign: string[] = []
      page.on('request', (request) => request.url().startsWith(explorer.url) || foreign.push(request.url()))

      await page.goto(explorer.url)
      const newest = page.locator('section', { has: page.getByRole('heading', { name: 'Latest blocks' }) })
      const height = async (): Promise<number> =>
        Number((await newest.locator('tbody tr td').first().textContent())!.replaceAll(',', ''))
      const first = await height()
      while ((await height()) < first + 2) await page.waitForTimeout(50)

      await page.getByRole('searchbox').fill(evmHashes[1]!)
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Coin movements' }).waitFor()
      expect(await page.locator('main').textContent()).toContain('successful')

      await page.locator('main').getByRole('link', { name: SENDER, exact: true }).click()
      await page
        .getByText(toBech32(hexToBytes(SENDER)))
        .first()
        .waitFor()
      await page.getByRole('tab', { name: 'Coins' }).click()
      await page.getByRole('columnheader', { name: 'Amount' }).waitFor()
      for (const name of ['Governance', 'Mempool', 'Statistics', 'Parameters']) {
        await page.getByRole('link', { name, exact: true }).click()
        await page.getByRole('heading', { name, level: 1 }).waitFor()
      }
      await page.getByRole('link', { name: 'Governance', exact: true }).click()
      await page.locator('main').getByRole('link', { name: 'drop table' }).click()
      await page.getByRole('heading', { name: 'Tally' }).waitFor()
      expect(await page.locator('main img').count()).toBe(0)
      await viewEvm(page, explorer.url, evm)
      await viewStaking(page, explorer.url)
      await viewFaucet(page, explorer.url)
      await viewAbuse(page, { explorerUrl: explorer.url, token: tokens[0]!, nativeHash })
      await page.setViewportSize({ width: 390, height: 800 })
      const isTooWide = await page.evaluate<boolean>(
        'document.documentElement.scrollWidth > document.documentElement.clientWidth',
      )
      expect({ problems, foreign, isTooWide }).toEqual({ problems: [], foreign: [], isTooWide: false })
    } finally {
      await browser.close()
    }
  })
})
