import type { Browser, Page } from 'playwright-core'
import { type Abi, createPublicClient, createWalletClient, type Hex, http } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningExplorer } from '../../explorer/startExplorer.ts'
import { compile } from '../../explorer/verify/compile.ts'
import { INSTALLED_COMPILER, openCompilers } from '../../explorer/verify/compilers.ts'
import { readStandardJson } from '../../explorer/verify/standardJson.ts'
import { ACCOUNTS, KEYS, viemChain } from '../e2e/devChain.ts'
import { browserPath } from '../e2e/explorer/browser.ts'
import { mined } from '../e2e/rpc.ts'
import type { TestNode } from '../e2e/startNode.ts'
import { type ExplorerPages, isTooWide, startExplorerPages, watchPage } from './explorerPages.ts'
import { injectEthereumWallet } from './injectedWallets.ts'

/* A contract is deployed with viem, verified through the page, read, and written with a wallet. */

const path = browserPath()
/** Its title would do harm as HTML. */
const TITLE = '<img src=x onerror="throw 1">'
const SOURCE = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;
contract Ledger {
  struct Entry { address who; uint256 amount; }
  event Added(uint256 indexed number, Entry entry);
  error TooLittle(uint256 wanted);
  string public title;
  uint256 public immutable start;
  Entry[] public entries;
  constructor(string memory title_, uint256 start_) { title = title_; start = start_; }
  function add(Entry calldata entry, bytes32[] calldata) external payable {
    if (msg.value == 0) revert TooLittle(1);
    entries.push(entry);
    emit Added(entries.length, entry);
  }
  function sum(uint256[] calldata values) external pure returns (uint256 total, uint256 count) {
    for (uint256 i = 0; i < values.length; i++) total += values[i];
    count = values.length;
  }
}
`
const INPUT = {
  language: 'Solidity',
  sources: { 'src/Ledger.sol': { content: SOURCE } },
  settings: { optimizer: { enabled: true, runs: 200 } },
}

let node: TestNode
let explorer: RunningExplorer
let browser: Browser
let running: ExplorerPages | undefined
let address: Hex

beforeAll(async () => {
  if (path === undefined) return
  running = await startExplorerPages(path)
  ;({ node, explorer, browser } = running)
  const compilers = await openCompilers({ list: undefined, cache: running.directory, mirror: undefined })
  const solc = await compilers.load(INSTALLED_COMPILER.version)
  const limits = { timeMs: 60_000, memoryMib: 512, outputBytes: 16 * 1024 * 1024 }
  const [compiled] = await compile(solc, readStandardJson(INPUT), { path: 'src/Ledger.sol', name: 'Ledger' }, limits)
  const { abi, evm } = compiled!.contract
  const chain = viemChain(node.url)
  const writer = createWalletClient({ chain, transport: http(node.url), account: ACCOUNTS[2]! })
  const bytecode: Hex = `0x${evm.bytecode.object}`
  const hash = await writer.deployContract({ abi: abi as unknown as Abi, bytecode, args: [TITLE, 2n ** 200n] })
  address = (await mined(node.url, hash)).contractAddress!
})
afterAll(() => running?.stop())

async function open(width: number): Promise<{ readonly page: Page; readonly problems: readonly string[] }> {
  const context = await browser.newContext({ viewport: { width, height: 900 } })
  await injectEthereumWallet(context, KEYS[1]!)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  // A transaction may not be in the index yet.
  return { page, problems: watchPage(page, [explorer.url, node.url], (url) => url.includes('/transactions/')) }
}

describe.skipIf(path === undefined)('a contract', () => {
  it('is verified through the page', async () => {
    const { page, problems } = await open(1280)
    await page.goto(new URL('/contracts', explorer.url).href)
    await page.getByRole('link', { name: 'Verify a contract' }).click()
    await page.getByLabel('Contract address').fill(address)
    await page.getByLabel('or pasted').fill('{')
    await page.getByText('The input is not valid JSON').waitFor()
    expect(await page.getByRole('button', { name: 'Verify' }).isDisabled()).toBe(true)
    const wrong = { ...INPUT, sources: { 'src/Ledger.sol': { content: 'contract Ledger { uint x = ; }' } } }
    await page.getByLabel('or pasted').fill(JSON.stringify(wrong))
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('Not verified.').waitFor()
    await page.getByText('ParserError').waitFor()

    // As Hardhat writes it: with the version, and the input within.
    const buildInfo = JSON.stringify({ solcLongVersion: INSTALLED_COMPILER.version, input: INPUT })
    await page.goto(new URL(`/verify/${address}`, explorer.url).href)
    await page
      .getByLabel('as a file')
      .setInputFiles({ name: 'build.json', mimeType: 'application/json', buffer: Buffer.from(buildInfo) })
    await page.getByText('1 sources').waitFor()
    await page.getByLabel('Path and name').fill('src/Ledger.sol:Ledger')
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText('exact match: code and metadata are the same').waitFor()
    await page.locator('main').getByRole('link', { name: address }).click()

    await page.getByRole('tab', { name: 'Code' }).click()
    await page.getByText('error TooLittle(uint256 wanted);').waitFor()
    await page.getByText(TITLE).waitFor()
    await page.getByText((2n ** 200n).toString()).waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  it('is read, and written with a wallet, on a phone too', async () => {
    const { page, problems } = await open(360)
    await page.goto(new URL(`/address/${address}`, explorer.url).href)
    await page.getByRole('tab', { name: 'Read' }).click()
    await page.getByText((2n ** 200n).toString()).waitFor()
    await page.getByText(TITLE).waitFor()
    await page.getByLabel('values').fill('["1", 2')
    await page.getByText('Enter a list in JSON').waitFor()
    await page.getByLabel('values').fill('["340282366920938463463374607431768211456", 2]')
    await page.getByRole('button', { name: 'Query sum' }).click()
    await page.getByText('340282366920938463463374607431768211458').waitFor()
    // Beyond the end of the list.
    await page.getByLabel('argument 0').fill('5')
    await page.getByRole('button', { name: 'Query entries' }).click()
    await page.getByRole('alert').waitFor()
    expect(await isTooWide(page)).toBe(false)

    await page.getByRole('tab', { name: 'Write' }).click()
    await page.getByRole('button', { name: 'Connect Test Wallet' }).click()
    await page.getByRole('button', { name: 'Switch to Test network' }).click()
    const who = ACCOUNTS[4]!.address
    await page.getByLabel('entry').fill(JSON.stringify({ who, amount: '12345' }))
    await page.getByLabel('argument 1').fill(`["0x${'00'.repeat(32)}"]`)
    // It wants coins: the estimate fails.
    await page.getByRole('alert').waitFor()
    await page.getByLabel('COIN to send with the call').fill('0.5')
    await page.getByText('Fee: about').waitFor()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('status').filter({ hasText: 'in block' }).waitFor()
    expect(await isTooWide(page)).toBe(false)
    const client = createPublicClient({ transport: http(node.url) })
    expect(await client.getBalance({ address })).toBe(5n * 10n ** 17n)

    // Its own ABI tells what the transaction and its log say.
    await page.getByRole('status').getByRole('link').first().click()
    await page.getByText('12345').first().waitFor()
    await page.getByRole('tab', { name: 'Logs' }).click()
    await page.getByText('Added').waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })
})
