import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { getAddress, type Hex } from 'viem'
import { expect, it } from 'vitest'
import type { GrantView } from '../../../explorer/faucet/shapes.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ACCOUNTS, COIN, freshAddress, KEYS } from '../devChain.ts'
import { rpc } from '../rpc.ts'

/* The faucet of the explorer of index.test.ts. */

/** The account that pays: nobody else uses it. */
const PURSE = 9
const AMOUNT = 100n * COIN

/** Settings of an explorer with a faucet, whose clients this machine names in X-Forwarded-For. */
export function faucetFlags(directory: string): Record<string, string> {
  const path = join(directory, 'faucet.key')
  writeFileSync(path, `${KEYS[PURSE]!.slice(2)}\n`, { mode: 0o600 })
  return { EXPLORER_FAUCET_KEY_FILE: path, TRUSTED_PROXIES: '127.0.0.1/32' }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 50))

/** Declares the tests. */
export function testFaucet(chain: () => { readonly explorerUrl: string; readonly url: string }): void {
  const ask = (address: string, client: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${chain().explorerUrl}api/v1/faucet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': client, ...headers },
      body: JSON.stringify({ address }),
    })
  const balanceOf = async (address: Hex) => BigInt(await rpc<Hex>(chain().url, 'eth_getBalance', address, 'latest'))

  it('pays each of ten addresses once, asked a thousand times at once in both spellings by five clients', async () => {
    const addresses = Array.from({ length: 10 }, freshAddress)
    const answers = await Promise.all(
      Array.from({ length: 1_000 }, async (_, index) => {
        const address = addresses[index % 10]!
        const spelled = index % 20 < 10 ? address : toBech32(hexToBytes(address))
        const response = await ask(spelled, `198.51.100.${Math.floor(index / 10) % 5}`)
        return { status: response.status, body: (await response.json()) as GrantView & { error?: string } }
      }),
    )
    const granted = answers.filter(({ status }) => status === 202).map(({ body }) => body)
    expect(granted.map(({ address }) => address).toSorted()).toEqual(addresses.toSorted())
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202, 429]))
    for (const { id, address } of granted) {
      let grant: GrantView
      do {
        await pause()
        grant = (await (await fetch(`${chain().explorerUrl}api/v1/faucet/grants/${id}`)).json()) as GrantView
      } while (grant.state === 'waiting' || grant.state === 'sent')
      expect(grant).toMatchObject({ state: 'paid', problem: null, amount: String(AMOUNT) })
      expect(await balanceOf(address as Hex)).toBe(AMOUNT)
      const receipt = await rpc<{ from: Hex; to: Hex }>(chain().url, 'eth_getTransactionReceipt', grant.transaction)
      expect([getAddress(receipt.from), getAddress(receipt.to)]).toEqual([ACCOUNTS[PURSE]!.address, address])
    }
    const again = await ask(addresses[0]!, '198.51.100.77')
    expect(again.status).toBe(429)
    expect(await again.json()).toMatchObject({
      error: 'this address got coins in the last 24 hours',
      retryAt: expect.stringMatching(/^20/),
    })
  })

  it.each([
    ['a page of another site', {}, { origin: 'https://evil.example' }, 403],
    ['a page of another site behind a proxy', {}, { 'sec-fetch-site': 'cross-site' }, 403],
    ['a form', {}, { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['a wrong address', { address: `0x12'; drop table faucet_grant; --` }, {}, 400],
    ['a text that is no address', { address: 7 }, {}, 400],
  ])('refuses %s', async (_, body, headers, status) => {
    const response = await fetch(`${chain().explorerUrl}api/v1/faucet`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '198.51.100.99', ...headers },
      body: JSON.stringify({ address: freshAddress(), ...body }),
    })
    expect(response.status).toBe(status)
  })
}

/** Asks on the page, as a person would. */
export async function viewFaucet(page: Page, url: string): Promise<void> {
  const main = page.locator('main')
  const address = freshAddress()
  await page.goto(`${url}faucet`)
  await main.getByLabel('Address').fill(toBech32(hexToBytes(address)))
  await main.getByRole('button', { name: 'Get' }).click()
  await main.getByText('Paid', { exact: false }).waitFor()
  await main.getByRole('link', { name: address }).waitFor()
  await main.getByText(/You can ask for .* more address/).waitFor()
}
