import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { AxeResults } from 'axe-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningExplorer } from '../../explorer/startExplorer.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../src/primitives/bytes.ts'
import { ed25519Address, ed25519Key, signEd25519 } from '../../src/primitives/ed25519.ts'
import { HEARTBEAT_HEADERS, heartbeatMessage } from '../../src/telemetry/heartbeatSignature.ts'
import { browserPath } from '../e2e/explorer/browser.ts'
import { faucetFlags } from '../e2e/explorer/faucet.ts'
import { type FilledChain, fillChain, SENDER } from '../e2e/explorer/fillChain.ts'
import { SILENT_VALIDATOR } from '../e2e/explorer/staking.ts'
import { verifyContract } from '../e2e/explorer/verification.ts'
import { getJson } from '../e2e/native/nativeChain.ts'
import { rpc } from '../e2e/rpc.ts'
import type { TestNode } from '../e2e/startNode.ts'
import { type ExplorerPages, isTooWide, startExplorerPages, watchPage } from './explorerPages.ts'
import { type Places, pageList, type Visit } from './pageList.ts'

/*
 * Every page of the explorer, in light and dark, on a desk and a phone: its content, its accessibility, how much it loads, and the way to
 * it by search and keyboard. With SCREENSHOTS=DIRECTORY (`npm run screenshots`) pictures of the pages are left there.
 */

const path = browserPath()
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
/** Bytes of the home page's first load, compressed. */
const MOST_BYTES = 250_000
const DESK = { width: 1200, height: 800 } as const
const PHONE = { width: 390, height: 800 } as const
const { SCREENSHOTS } = process.env
const QUALITY = 40

let node: TestNode
let explorer: RunningExplorer
let browser: Browser
let running: ExplorerPages | undefined
let places: Places

beforeAll(async () => {
  if (path === undefined) return
  if (SCREENSHOTS !== undefined) mkdirSync(SCREENSHOTS, { recursive: true })
  let filled!: FilledChain
  running = await startExplorerPages(path, {
    environment: { PRUNING: 'archive' },
    settings: faucetFlags,
    fill: async (chain) => {
      filled = await fillChain(chain)
    },
  })
  ;({ node, explorer, browser } = running)
  const height = Number(await rpc(node.url, 'eth_blockNumber'))
  while (((await status()).height ?? 0) < height) await new Promise((resolve) => setTimeout(resolve, 50))
  const verified = filled.tokens[3]!
  await verifyContract(explorer.url, verified, 'WrappedCoin.sol', 'WrappedCoin')
  const { validators } = await getJson(node, '/cosmos/staking/v1beta1/validators')
  const validator = (validators as { operator_address: string; description: { moniker: string } }[]).find(
    ({ description }) => description.moniker === 'devnet',
  )!
  places = {
    ...filled,
    verified,
    validator: validator.operator_address,
    silent: SILENT_VALIDATOR,
    moniker: MONIKER,
  }
})
afterAll(() => running?.stop())

const MONIKER = 'a node of the test'

/** Tells the explorer of a node, as that would do with its key. */
async function report(): Promise<void> {
  const { chainId, evmChainId, height } = await status()
  const { hash } = await rpc<{ readonly hash: string }>(
    node.url,
    'eth_getBlockByNumber',
    `0x${height!.toString(16)}`,
    false,
  )
  const key = ed25519Key(new Uint8Array(32).fill(7))
  const body = JSON.stringify({
    moniker: MONIKER,
    network: 'devnet',
    node_id: bytesToHex(ed25519Address(key.publicKey)).slice(2),
    version: '0.1.0',
    chain_id: chainId,
    evm_chain_id: evmChainId,
    height,
    block_hash: hash,
    block_time: new Date().toISOString(),
    peers: 3,
    rpc_address: null,
  })
  const time = new Date().toISOString()
  const signature = signEd25519(key, heartbeatMessage(time, Buffer.from(body)))
  const response = await fetch(`${explorer.url}api/network/heartbeat`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      [HEARTBEAT_HEADERS.key]: bytesToHex(key.publicKey).slice(2),
      [HEARTBEAT_HEADERS.time]: time,
      [HEARTBEAT_HEADERS.signature]: bytesToHex(signature).slice(2),
    },
    body,
  })
  expect(await response.json()).toEqual({ isVerified: true })
}

const status = async () => (await (await fetch(`${explorer.url}api/v1/status`)).json()) as Status

interface Status {
  readonly height: number | null
  readonly chainId: string
  readonly evmChainId: number
}

interface Opened {
  readonly page: Page
  /** errors in the page, and requests that failed or went elsewhere */
  readonly problems: readonly string[]
}

async function watch(context: BrowserContext): Promise<Opened> {
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  // Pages look for sources of contracts that are not verified, and for what is nowhere.
  return { page, problems: watchPage(page, [explorer.url, node.url], () => true) }
}

async function visit(page: Page, { path: where, tab, shows }: Visit): Promise<void> {
  await page.goto(new URL(where, explorer.url).href)
  const main = page.locator('main')
  if (tab !== undefined) await main.getByRole('tab', { name: new RegExp(`^${tab}`) }).click()
  const inside = tab === undefined ? main : main.getByRole('tabpanel')
  for (const text of shows) await inside.getByText(text).filter({ visible: true }).first().waitFor()
}

async function takePicture(page: Page, file: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  writeFileSync(file, data, 'base64')
}

/** Waits for the blocks of the home page. */
const shown = (page: Page): Promise<void> => page.getByRole('columnheader', { name: 'Fee recipient' }).first().waitFor()

/** What axe finds that would keep somebody from using the page. */
async function faults(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE)
  const { violations } = await page.evaluate<AxeResults>('axe.run()')
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
}

/** The names are there before the chain is. */
const NAMES = pageList({
  evmHashes: [],
  nativeHash: '',
  tokens: [],
  evm: {} as Places['evm'],
  verified: '0x',
  validator: '',
  silent: '',
  moniker: '',
}).map(({ name }) => name)
const find = (name: string): Visit => pageList(places).find((item) => item.name === name)!

describe.skipIf(path === undefined)('pages of the explorer', () => {
  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    it.each(NAMES)('%s has its content, no serious fault, and fits a phone', async (name) => {
      const context = await browser.newContext({ viewport: DESK, colorScheme, reducedMotion: 'reduce' })
      try {
        const { page, problems } = await watch(context)
        // It would be silent by now.
        if (name === 'network') await report()
        await visit(page, find(name))
        if (SCREENSHOTS !== undefined) await takePicture(page, join(SCREENSHOTS, `${name}-${colorScheme}.webp`))
        const found = await faults(page)
        await page.setViewportSize(PHONE)
        const onPhone = { faults: await faults(page), isTooWide: await isTooWide(page) }
        expect({ found, onPhone, problems }).toEqual({
          found: [],
          onPhone: { faults: [], isTooWide: false },
          problems: [],
        })
      } finally {
        await context.close()
      }
    })
  })

  it('load little at first, and nothing that the first page does not need', async () => {
    const context = await browser.newContext({ viewport: DESK })
    const { page } = await watch(context)
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    let bytes = 0
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength
    })
    await page.goto(explorer.url)
    await shown(page)
    const interactiveMs = await page.evaluate<number>('performance.getEntriesByType("navigation")[0].domInteractive')
    const shownMs = await page.evaluate<number>('performance.now()')
    console.log(
      `first load: ${(bytes / 1000).toFixed(0)} KB compressed; interactive after ${interactiveMs.toFixed(0)} ms, blocks shown after ${shownMs.toFixed(0)} ms`,
    )
    expect(bytes).toBeLessThan(MOST_BYTES)
    await context.close()
  })

  describe('search', () => {
    const cases: readonly (readonly [string, () => string, () => string])[] = [
      ['a height', () => '3', () => '/block/3'],
      [
        'an EVM hash in capitals',
        () => `0x${places.evm.mixed.slice(2).toUpperCase()}`,
        () => `/tx/${places.evm.mixed}`,
      ],
      ['a native hash', () => places.nativeHash, () => `/tx/0x${places.nativeHash.toLowerCase()}`],
      ['an address', () => SENDER.toLowerCase(), () => `/address/${SENDER}`],
      ['its other spelling', () => toBech32(hexToBytes(SENDER)), () => `/address/${SENDER}`],
      ['a symbol of a token', () => 'smpl', () => `/token/`],
      ['a validator', () => 'devnet', () => '/validator/'],
      ['an operator', () => places.validator, () => '/validator/'],
    ]
    it.each(cases)('finds %s', async (_, text, where) => {
      const context = await browser.newContext({ viewport: DESK })
      const { page, problems } = await watch(context)
      await page.goto(explorer.url)
      await shown(page)
      await page.keyboard.press('/')
      await page.keyboard.type(text())
      await page.keyboard.press('Enter')
      await page.waitForURL((url) => url.pathname.startsWith(where()))
      expect(problems).toEqual([])
      await context.close()
    })

    it('says what it takes when it finds nothing', async () => {
      const context = await browser.newContext({ viewport: DESK })
      const { page } = await watch(context)
      await page.goto(explorer.url)
      await page.getByRole('searchbox').fill('<script>nobody</script>')
      await page.keyboard.press('Enter')
      await page.getByRole('alert').getByText('Not found').waitFor()
      await context.close()
    })
  })

  it('follow blocks in the tab that is seen, so that many tabs leave connections for one another', async () => {
    const context = await browser.newContext({ viewport: DESK })
    const see = (page: Page, state: 'visible' | 'hidden') =>
      page.evaluate(`
        Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      `)
    const pages: Page[] = []
    const problems: string[][] = []
    // A browser has six connections to a server.
    for (let tabs = 0; tabs < 8; tabs++) {
      const opened = await watch(context)
      await opened.page.goto(explorer.url)
      await shown(opened.page)
      await see(opened.page, 'hidden')
      pages.push(opened.page)
      problems.push([...opened.problems])
    }
    const first = pages[0]!
    const newest = first.locator('section', { has: first.getByRole('heading', { name: 'Latest blocks' }) })
    const height = async () => Number((await newest.locator('tbody tr td').first().textContent())!.replaceAll(',', ''))
    await see(first, 'visible')
    const before = await height()
    while ((await height()) < before + 2) await first.waitForTimeout(50)
    expect(problems.flat()).toEqual([])
    await context.close()
  })

  it('show the same page of a list after a reload, and to whoever opens the address', async () => {
    const context = await browser.newContext({ viewport: DESK })
    const { page, problems } = await watch(context)
    const first = (own: Page) => own.locator('main tbody tr td').first()
    const press = async (name: string) => {
      const before = page.url()
      await page.getByRole('button', { name, exact: true }).click()
      await page.waitForURL((url) => url.href !== before)
    }
    await page.goto(new URL('blocks', explorer.url).href)
    await first(page).waitFor()
    const seen: string[] = []
    for (let pages = 0; pages < 2; pages++) {
      // New blocks may come to the first page meanwhile: older ones have lower heights.
      const before = (await first(page).textContent())!.replace(/\D/g, '')
      await press('Older')
      await expect
        .poll(async () => Number((await first(page).textContent())!.replace(/\D/g, '')))
        .toBeLessThan(Number(before))
      seen.push((await first(page).textContent())!)
    }
    const [second, third] = seen
    expect(new URL(page.url()).searchParams.get('before')).toMatch(/^[0-9]+$/)
    await page.reload()
    await first(page).getByText(third!, { exact: true }).waitFor()
    const other = await watch(context)
    await other.page.goto(page.url())
    await first(other.page).getByText(third!, { exact: true }).waitFor()
    await press('Newer')
    await first(page).getByText(second!, { exact: true }).waitFor()
    await press('Newest')
    expect(new URL(page.url()).search).toBe('')

    await page.goto(new URL(`address/${SENDER}`, explorer.url).href)
    await page.getByRole('tab', { name: /^Coins/ }).click()
    await page.reload()
    await page.getByRole('tab', { name: /^Coins/, selected: true }).waitFor()
    expect([...problems, ...other.problems]).toEqual([])
    await context.close()
  })

  it('can be used by keyboard: past the menu, along it, and with the button of a phone', async () => {
    const context = await browser.newContext({ viewport: DESK })
    const { page, problems } = await watch(context)
    await page.goto(explorer.url)
    await shown(page)
    await page.keyboard.press('Tab')
    const focused = () => page.evaluate<string>('document.activeElement?.textContent ?? ""')
    expect(await focused()).toBe('Skip to content')
    const outlined = await page.evaluate<boolean>('getComputedStyle(document.activeElement).outlineStyle !== "none"')
    expect(outlined).toBe(true)
    for (let tabs = 0; (await focused()) !== 'Governance'; tabs++) {
      expect(tabs).toBeLessThan(30)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Governance', level: 1 }).waitFor()

    await page.setViewportSize(PHONE)
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.focus()
    await page.keyboard.press('Enter')
    expect(await menu.getAttribute('aria-expanded')).toBe('true')
    for (let tabs = 0; (await focused()) !== 'Validators'; tabs++) {
      expect(tabs).toBeLessThan(30)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Validators', level: 1 }).waitFor()
    expect(await menu.getAttribute('aria-expanded')).toBe('false')
    expect(problems).toEqual([])
    await context.close()
  })
})
