import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunningExplorer } from '../../explorer/startExplorer.ts'
import { formatUnits } from '../../explorer/web/src/format.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, freshAddress, KEYS } from '../e2e/devChain.ts'
import { browserPath } from '../e2e/explorer/browser.ts'
import { createSilentValidator } from '../e2e/explorer/staking.ts'
import { connectCosmJs, getJson } from '../e2e/native/nativeChain.ts'
import { rpc } from '../e2e/rpc.ts'
import type { TestNode } from '../e2e/startNode.ts'
import { type ExplorerPages, isTooWide, startExplorerPages, watchPage } from './explorerPages.ts'
import { type InjectedKeplr, type InjectedWallet, injectEthereumWallet, injectKeplr } from './injectedWallets.ts'

/* What people do with wallets in the explorer's pages, with wallets that sign with real keys, on a chain that takes it. */

const path = browserPath()
let node: TestNode
let explorer: RunningExplorer
let browser: Browser
let running: ExplorerPages | undefined

beforeAll(async () => {
  if (path === undefined) return
  running = await startExplorerPages(path, {
    fill: async (chain) => {
      const { client, address } = await connectCosmJs(chain, KEYS[OTHER]!)
      await client.signAndBroadcast(address, [createSilentValidator('Another', ACCOUNTS[OTHER]!.address)], 'auto')
      client.disconnect()
    },
  })
  ;({ node, explorer, browser } = running)
})
afterAll(() => running?.stop())

/** An account that has nothing. */
const FRESH_KEY: Hex = `0x${'5e'.repeat(32)}`
const FRESH = privateKeyToAccount(FRESH_KEY)
/** acoin, as the title of an amount has them, in the form that people type. */
const coins = (title: string | null): string => formatUnits(title!.replace(' acoin', ''), 18, 18).replaceAll(',', '')
/** Account of a second validator. */
const OTHER = 6

interface Opened<W extends InjectedWallet> {
  readonly page: Page
  readonly wallet: W
  /** errors in the page, and requests that went elsewhere */
  readonly problems: readonly string[]
}

/** A browser with one wallet, on a phone or at a desk. */
async function open<W extends InjectedWallet>(
  inject: (context: BrowserContext) => Promise<W>,
  allowed: readonly string[],
  width = 1280,
): Promise<Opened<W>> {
  const context = await browser.newContext({ viewport: { width, height: 900 } })
  const wallet = await inject(context)
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  // A transaction may not be in the index yet.
  const problems = watchPage(page, [explorer.url, ...allowed], (url) => url.includes('/transactions/'))
  return { page, wallet, problems }
}

const goTo = (page: Page, where: string): Promise<unknown> => page.goto(new URL(where, explorer.url).href)
const balanceOf = async (address: string): Promise<bigint> =>
  BigInt(await rpc<Hex>(node.url, 'eth_getBalance', address, 'latest'))
/** Waits until a form says that its transaction is in a block; gives what it says. */
async function outcome(page: Page, within = page.locator('main')): Promise<string> {
  const line = within.getByRole('status').filter({ hasText: 'in block' })
  await line.waitFor()
  return (await line.textContent())!
}
/** Opens a page and connects the Ethereum wallet, which learns of the chain. */
async function connectEthereum(page: Page, where: string): Promise<void> {
  await goTo(page, where)
  await page.getByRole('button', { name: 'Connect Test Wallet' }).click()
  await page.getByRole('button', { name: 'Switch to Test network' }).click()
}
/** Fills the form of a proposal but for its messages; the deposit begins the vote. */
async function describeProposal(page: Page, title: string): Promise<void> {
  await page.getByLabel('Title').fill(title)
  await page.getByLabel('Summary').fill(`Why ${title} is good`)
  await page.getByLabel('Deposit in COIN').fill('10')
}
/** Opens the newest proposal, whose title is this. */
async function openProposal(page: Page, title: string): Promise<void> {
  // On a phone the way to the pages is behind a button.
  const menu = page.getByRole('button', { name: 'Menu' })
  if (await menu.isVisible()) await menu.click()
  await page.getByRole('link', { name: 'Governance', exact: true }).click()
  await page.locator('main').getByRole('link', { name: title }).click()
  await page.getByRole('heading', { name: title }).waitFor()
}
/** The card of a form, by its heading. */
const card = (page: Page, name: string) =>
  page.locator('section', { has: page.getByRole('heading', { name, exact: true, level: 2 }) })

const delegationsOf = async (address: string): Promise<unknown> => {
  const { delegation_responses: found } = await getJson(node, `/cosmos/staking/v1beta1/delegations/${address}`)
  return (found as { readonly balance: { readonly amount: string } }[]).map(({ balance }) => BigInt(balance.amount))
}
/** Everything that one does with stake, on the page of staking with a wallet that is connected. */
async function stake(page: Page, address: string): Promise<void> {
  await page.getByRole('button', { name: 'Delegate to devnet' }).click()
  await card(page, 'Delegate to devnet').getByLabel('Amount in COIN').fill('5')
  await page.getByRole('button', { name: 'Delegate', exact: true }).click()
  expect(await outcome(page)).toContain('Done')
  await page.getByRole('button', { name: 'Close' }).click()

  await page.getByRole('button', { name: 'Move at devnet' }).click()
  await page.getByLabel('To', { exact: true }).selectOption({ label: 'Another (5 %)' })
  await page.getByLabel('Amount in COIN').fill('2')
  await page.getByRole('button', { name: 'Move', exact: true }).click()
  expect(await outcome(page)).toContain('Done')
  expect(new Set((await delegationsOf(address)) as bigint[])).toEqual(new Set([3n * COIN, 2n * COIN]))

  await page.getByRole('button', { name: 'Undelegate at devnet' }).click()
  await page.getByText('The coins return to your account on').waitFor()
  await page.getByLabel('Amount in COIN').fill('4')
  await page.getByText('Enter at most 3, the available amount.').waitFor()
  await page.getByLabel('Amount in COIN').fill('1')
  await page.getByRole('button', { name: 'Undelegate', exact: true }).click()
  expect(await outcome(page)).toContain('Done')
  expect(new Set((await delegationsOf(address)) as bigint[])).toEqual(new Set([2n * COIN]))

  await page.getByRole('button', { name: 'Cancel unbonding from devnet' }).click()
  await page.getByRole('button', { name: 'All', exact: true }).click()
  await page.getByRole('button', { name: 'Cancel unbonding', exact: true }).click()
  expect(await outcome(page)).toContain('Done')
  await card(page, 'Unbonding').waitFor({ state: 'detached' })
  expect(new Set((await delegationsOf(address)) as bigint[])).toEqual(new Set([3n * COIN, 2n * COIN]))

  await page.getByRole('button', { name: 'Withdraw at devnet' }).click()
  await page.getByRole('button', { name: 'Withdraw', exact: true }).click()
  expect(await outcome(page, card(page, 'Withdraw rewards from devnet'))).toContain('Done')
  await page.getByRole('button', { name: 'Withdraw all rewards' }).click()
  await page.getByRole('button', { name: 'Withdraw', exact: true }).click()
  const all = await outcome(page, card(page, 'Withdraw all rewards'))
  expect(all).toContain('Done')
  await card(page, 'Withdraw all rewards').getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Coin movements' }).waitFor()
}

describe.skipIf(path === undefined)('a wallet like MetaMask', () => {
  it('is found, gets the chain, and sends coins by keyboard', async () => {
    const { page, wallet, problems } = await open((context) => injectEthereumWallet(context, KEYS[1]!), [])
    const to = freshAddress()
    await goTo(page, '/wallet')
    await page.getByRole('button', { name: 'Connect Test Wallet' }).waitFor()
    wallet.refuseNext()
    await page.getByRole('button', { name: 'Connect Test Wallet' }).click()
    expect(await page.getByRole('alert').textContent()).toBe('You rejected the request in the wallet.')
    await page.getByRole('button', { name: 'Connect Test Wallet' }).click()

    await page.getByText('The wallet is on another network.').waitFor()
    wallet.refuseNext()
    await page.getByRole('button', { name: 'Switch to Test network' }).click()
    expect(await page.getByRole('alert').textContent()).toBe('You rejected the request in the wallet.')
    await page.getByRole('button', { name: 'Switch to Test network' }).click()
    await page.getByLabel('To', { exact: true }).waitFor()
    expect(wallet.chains).toEqual([
      {
        chainId: '0x129ff',
        chainName: 'Test network',
        nativeCurrency: { name: 'COIN', symbol: 'COIN', decimals: 18 },
        rpcUrls: [node.url.replace(/\/$/, '')],
        blockExplorerUrls: [explorer.url.replace(/\/$/, '')],
      },
    ])

    await page.getByLabel('To', { exact: true }).fill(toBech32(hexToBytes(to)))
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await page.getByLabel('Amount in COIN').fill('1.25')
    await page.getByText('Fee: about').waitFor()
    wallet.refuseNext()
    await page.keyboard.press('Enter')
    await page.getByText('You rejected the request in the wallet.').waitFor()
    await page.keyboard.press('Enter')
    expect(await outcome(page)).toContain('Done')
    expect(await balanceOf(to)).toBe((5n * COIN) / 4n)
    await page.getByRole('status').getByRole('link').first().click()
    await page.getByRole('heading', { name: 'Transaction', level: 1 }).waitFor()

    // The browser remembers the wallet, and the wallet the page.
    await goTo(page, '/wallet')
    await page.getByLabel('Amount in COIN').fill('1000000000000')
    await page.getByText('Enter at most').waitFor()
    await page.getByLabel('Amount in COIN').fill('1')
    await page.getByLabel('To', { exact: true }).fill('0x12')
    await page.getByText('Enter an address: 0x').waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)

    // Its owner changes the account, and the network.
    await wallet.useKey(page, FRESH_KEY)
    await page.getByTitle(FRESH.address).waitFor()
    await page.locator('.field').getByTitle('0 acoin', { exact: true }).waitFor()
    await page.evaluate(`tellPage('chainChanged', '0x1')`)
    await page.getByText('The wallet is on another network.').waitFor()
    await page.getByRole('button', { name: 'Disconnect' }).click()
    await page.getByRole('button', { name: 'Connect Test Wallet' }).waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })

  it('delegates, moves stake, takes it back, cancels that and withdraws rewards', async () => {
    const { page, problems } = await open((context) => injectEthereumWallet(context, KEYS[1]!), [])
    await connectEthereum(page, '/staking')
    await stake(page, toBech32(hexToBytes(ACCOUNTS[1]!.address)))
    expect(problems).toEqual([])
    await page.context().close()
  })

  it('proposes to change a parameter, votes, divides its vote and deposits', async () => {
    const { page, problems } = await open((context) => injectEthereumWallet(context, KEYS[1]!), [])
    await connectEthereum(page, '/propose')
    await describeProposal(page, 'Longer unbonding')
    await page.getByLabel('Effect when it passes').selectOption('staking')
    const json = await page.getByLabel('Messages, as JSON').inputValue()
    await page.getByLabel('Messages, as JSON').fill(json.replace('{', '['))
    await page.getByText('The messages are not valid JSON').waitFor()
    await page.getByLabel('Messages, as JSON').fill(json.replace(/"max_entries": \d+/, '"max_entries": "no number"'))
    await page.getByText('The chain rejected the transaction').waitFor()
    await page.getByLabel('Messages, as JSON').fill(json.replace(/"max_entries": \d+/, '"max_entries": 5'))
    await page.getByRole('button', { name: 'Submit' }).click()
    expect(await outcome(page)).toContain('Done')

    await openProposal(page, 'Longer unbonding')
    await page.getByText('"max_entries": 5').waitFor()
    await page.getByRole('button', { name: 'Vote or deposit' }).click()
    await card(page, 'Vote').getByLabel('No', { exact: true }).check()
    await card(page, 'Vote').getByRole('button', { name: 'Vote' }).click()
    expect(await outcome(page, card(page, 'Vote'))).toContain('Done')
    await page.getByText('You have voted No. A new vote replaces it.').waitFor()
    await card(page, 'Vote').getByLabel('Split the vote').check()
    await card(page, 'Vote').getByLabel('Yes').fill('70')
    await page.getByText('Enter whole numbers that add up to 100.').waitFor()
    await card(page, 'Vote').getByLabel('Abstain').fill('30')
    await card(page, 'Vote').getByRole('button', { name: 'Vote' }).click()
    await page.getByText('You have voted Yes, Abstain').waitFor()
    await card(page, 'Votes').getByText('Yes 0.7, Abstain 0.3').waitFor()

    await card(page, 'Deposit').getByLabel('Amount in COIN').fill('3')
    await card(page, 'Deposit').getByRole('button', { name: 'Deposit' }).click()
    expect(await outcome(page, card(page, 'Deposit'))).toContain('Done')
    await card(page, 'Deposits').getByText('3 COIN').waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })
})

describe.skipIf(path === undefined).each([
  ['Keplr', 2, false],
  ['Keplr with a Ledger', 3, true],
] as const)('a wallet like %s', (name, index, isLedger) => {
  it('gets the chain, and sends coins on a phone', async () => {
    const inject = (context: BrowserContext) => injectKeplr(context, KEYS[index]!, isLedger)
    const { page, wallet, problems } = await open(inject, [node.url], 360)
    const to = freshAddress()
    await goTo(page, '/wallet')
    await page.getByRole('button', { name: 'Add Test network to Keplr coin1…' }).click()
    await page.getByText('Keplr coin1… has added the network.').waitFor()
    expect(wallet.chains).toMatchObject([
      {
        chainId: 'coin_76287-1',
        chainName: 'Test network',
        rest: node.url.replace(/\/$/, ''),
        bip44: { coinType: 60 },
      },
    ])
    await page.getByRole('button', { name: 'Connect Keplr coin1…' }).click()
    await page.getByLabel('To', { exact: true }).fill(to)
    await page.getByLabel('Amount in COIN').fill('0.5')
    await page.getByText('Fee: about').waitFor()
    wallet.refuseNext()
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByText('You rejected the request in the wallet.').waitFor()
    await page.getByRole('button', { name: 'Send' }).click()
    expect(await outcome(page)).toContain('Done')
    expect(await balanceOf(to)).toBe(COIN / 2n)
    const signed = wallet.asked.filter((method) => method.includes('sign') || method.includes('Sign'))
    expect(new Set(signed)).toEqual(new Set([isLedger ? 'experimentalSignEIP712CosmosTx_v0' : 'signDirect']))

    // All of it: then there is nothing for the fee.
    await page.getByLabel('Amount in COIN').fill(await page.locator('.field .amount').getAttribute('title').then(coins))
    await page.getByText('The account has too few coins for the amount and the fee.').waitFor()
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)
    await wallet.useKey(page, FRESH_KEY)
    await page.getByTitle(toBech32(hexToBytes(FRESH.address))).waitFor()
    await page.locator('.field').getByTitle('0 acoin', { exact: true }).waitFor()
    expect(await isTooWide(page)).toBe(false)
    expect(problems).toEqual([])
    await page.context().close()
  })
  it('delegates, moves stake, takes it back, cancels that and withdraws rewards', async () => {
    const inject = (context: BrowserContext) => injectKeplr(context, KEYS[index]!, isLedger)
    const { page, wallet, problems } = await open(inject, [node.url], 360)
    // From the page of a validator the way leads to its form, with the wallet in between.
    await goTo(page, '/validators')
    await page.getByRole('link', { name: 'devnet', exact: true }).click()
    await page.getByRole('link', { name: 'Delegate', exact: true }).click()
    await page.getByRole('button', { name: 'Connect Keplr coin1…' }).click()
    await card(page, 'Delegate to devnet').waitFor()
    await stake(page, toBech32(hexToBytes(ACCOUNTS[index]!.address)))
    expect(wallet.blind).toEqual([])
    await goTo(page, '/staking')
    await page.getByRole('button', { name: 'Connect Keplr coin1…' }).click()
    await card(page, 'Delegations').waitFor()
    expect(await isTooWide(page)).toBe(false)
    expect(problems).toEqual([])
    await page.context().close()
  })

  it('proposes, votes and deposits', async () => {
    const inject = (context: BrowserContext) => injectKeplr(context, KEYS[index]!, isLedger)
    const { page, wallet, problems } = await open(inject, [node.url], 360)
    const title = `Proposal of ${name}`
    await goTo(page, '/propose')
    await page.getByRole('button', { name: 'Connect Keplr coin1…' }).click()
    await describeProposal(page, title)
    // A hardware wallet signs proposals without messages only.
    if (isLedger) {
      await page.getByLabel('Link to more information').fill('https://example.org/why')
    } else {
      await page.getByLabel('Effect when it passes').selectOption('slashing')
      await page.getByLabel('Messages, as JSON').waitFor()
    }
    await page.getByRole('button', { name: 'Submit' }).click()
    expect(await outcome(page)).toContain('Done')

    await openProposal(page, title)
    if (!isLedger) await page.getByText('/cosmos.slashing.v1beta1.MsgUpdateParams').waitFor()
    await page.getByRole('button', { name: 'Vote or deposit' }).click()
    await card(page, 'Vote').getByLabel('Yes').check()
    await card(page, 'Vote').getByRole('button', { name: 'Vote' }).click()
    await page.getByText('You have voted Yes. A new vote replaces it.').waitFor()
    await card(page, 'Vote').getByLabel('Split the vote').check()
    await card(page, 'Vote').getByLabel('No', { exact: true }).fill('50')
    await card(page, 'Vote').getByLabel('No with veto').fill('50')
    await card(page, 'Vote').getByRole('button', { name: 'Vote' }).click()
    await card(page, 'Votes').getByText('No 0.5, No with veto 0.5').waitFor()
    await card(page, 'Deposit').getByLabel('Amount in COIN').fill('2')
    await card(page, 'Deposit').getByRole('button', { name: 'Deposit' }).click()
    expect(await outcome(page, card(page, 'Deposit'))).toContain('Done')
    // Messages of any type have no form that a wallet shows in words.
    expect(wallet.blind).toEqual(isLedger ? [] : ['/cosmos.gov.v1.MsgSubmitProposal'])
    expect(await isTooWide(page)).toBe(false)
    expect(problems).toEqual([])
    await page.context().close()
  })
})

describe.skipIf(path === undefined)('a page that is opened', () => {
  it('asks a wallet nothing until it is connected, and brings no chain back', async () => {
    const inject = (context: BrowserContext): Promise<InjectedKeplr> => injectKeplr(context, KEYS[2]!, false)
    const { page, wallet, problems } = await open(inject, [node.url])
    const connect = page.getByRole('button', { name: 'Connect Keplr coin1…' })
    await goTo(page, '/wallet')
    await connect.click()
    await page.getByLabel('To', { exact: true }).waitFor()
    // Its owner chooses another account: the chain is not suggested again.
    const before = wallet.asked.filter((method) => method === 'experimentalSuggestChain').length
    await wallet.useKey(page, FRESH_KEY)
    await page.getByTitle(toBech32(hexToBytes(FRESH.address))).waitFor()
    expect(wallet.asked.filter((method) => method === 'experimentalSuggestChain').length).toBe(before)

    wallet.lock()
    wallet.removeChains()
    wallet.asked.length = 0
    for (const where of ['/wallet', '/staking', '/propose']) {
      await goTo(page, where)
      await connect.waitFor()
      // Longer than the page takes to look for wallets again.
      await page.waitForTimeout(1_500)
    }
    expect([wallet.asked, wallet.unlocks(), wallet.chains]).toEqual([[], 0, []])
    await connect.click()
    await page.getByRole('button', { name: 'Disconnect' }).waitFor()
    expect([wallet.unlocks(), wallet.chains.length]).toEqual([1, 1])
    expect(problems).toEqual([])
    await page.context().close()
  })

  it('names each button differently, and says once why a wallet is not connected', async () => {
    const inject = (context: BrowserContext): Promise<InjectedKeplr> => injectKeplr(context, KEYS[2]!, false)
    const { page, wallet, problems } = await open(inject, [node.url])
    await goTo(page, '/wallet')
    await page.getByRole('button', { name: 'Connect Keplr coin1…' }).waitFor()
    const names = await page.locator('.wallets button').allTextContents()
    expect(new Set(names)).toEqual(
      new Set([
        'Connect Keplr coin1…',
        'Connect Keplr 0x…',
        'Add Test network to Keplr coin1…',
        'Add Test network to Keplr 0x…',
      ]),
    )
    expect(names.length).toBe(4)
    for (const again of [false, true]) {
      wallet.lock()
      wallet.refuseNext()
      if (again) await goTo(page, '/wallet')
      await page.getByRole('button', { name: 'Connect Keplr coin1…' }).click()
      await page.getByRole('alert').waitFor()
      expect(await page.getByRole('alert').allTextContents()).toEqual(['You rejected the request in the wallet.'])
    }
    // What is said of one attempt does not stay beside the next one.
    await page.getByRole('button', { name: 'Add Test network to Keplr coin1…' }).click()
    await page.getByRole('status').waitFor()
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(problems).toEqual([])
    await page.context().close()
  })

  it('says what to do when a Ledger is in a wallet with an older description of the chain', async () => {
    const inject = (context: BrowserContext): Promise<InjectedKeplr> => injectKeplr(context, KEYS[3]!, true)
    const { page, wallet, problems } = await open(inject, [node.url])
    await goTo(page, '/wallet')
    await page.getByRole('button', { name: 'Add Test network to Keplr coin1…' }).click()
    await page.getByText('Keplr coin1… has added the network.').waitFor()
    const { features } = wallet.chains[0] as { readonly features: string[] }
    features.splice(features.indexOf('force-enable-evm-ledger'), 1)
    await page.getByRole('button', { name: 'Connect Keplr coin1…' }).click()
    await page.getByText('Remove the network in the wallet').waitFor()
    wallet.removeChains()
    await page.getByRole('button', { name: 'Connect Keplr coin1…' }).click()
    await page.getByLabel('To', { exact: true }).waitFor()
    expect(problems).toEqual([])
    await page.context().close()
  })
})
