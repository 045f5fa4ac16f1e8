import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'

/* What people with bad intentions send to the explorer of index.test.ts, or have stored by the chain. */

/** A text that would do harm as HTML, in SQL, or in PostgreSQL's text. */
export const HOSTILE = `<img src=x onerror="throw 1"> '); drop table proposal; -- \u0000 javascript:alert(1)`
/** The same as a name, of which nothing is left out. */
export const HOSTILE_NAME = `<img src=x onerror="throw 1">'); drop table token; --`
/** Of a node that reports to the explorer. */
const NODE_ID = 'ab'.repeat(20)

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: 'path' | 'query' }[]
  readonly requestBody?: unknown
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

/** Values that no parameter of any kind may have, but texts that are searched for. */
const GARBAGE = [
  '-1',
  '1e99',
  '0x',
  'null',
  'NaN',
  '999999999999999999999999999999',
  '1.5.2',
  '.',
  "1'; drop table block; --",
  '<script>alert(1)</script>',
  '../../etc/passwd',
  '%00',
  '\u0000',
  '\ud83d\ude00',
  'x'.repeat(190),
] as const
const BAD_LIMITS = ['0', '-1', '101', '1000000000', '1e9', '10.5', 'all', '', '1;2'] as const
/** Bodies that nobody takes. */
const BAD_BODIES = [
  '',
  '{',
  'null',
  '[]',
  '7',
  '"x"',
  '{}',
  '{"__proto__":{"address":"x"}}',
  '{"address":{"toString":1},"sources":7}',
  `{"address":"${"'; drop table faucet_grant; --"}"}`,
  '['.repeat(5_000),
  `{"address":"${'x'.repeat(60_000)}"}`,
] as const
/** Questions to the API of Etherscan, which answers all with 200, and parameters of them. */
const ETHERSCAN: readonly (readonly [string, readonly string[]])[] = [
  ['module=account&action=balance', ['address']],
  ['module=account&action=balancemulti', ['address']],
  ['module=account&action=txlist&address=ADDRESS', ['startblock', 'endblock', 'page', 'offset', 'sort']],
  ['module=account&action=txlistinternal', ['address', 'txhash']],
  ['module=account&action=tokentx&address=ADDRESS', ['contractaddress', 'page', 'offset']],
  ['module=logs&action=getLogs&address=ADDRESS', ['fromBlock', 'toBlock', 'topic0', 'topic0_1_opr', 'offset']],
  ['module=contract&action=getcontractcreation', ['contractaddresses']],
  ['module=contract&action=getsourcecode', ['address']],
  ['module=block&action=getblocknobytime', ['timestamp', 'closest']],
  ['module=token&action=tokenholderlist', ['contractaddress']],
  ['module=proxy&action=eth_getBlockByNumber', ['tag', 'boolean']],
  ['module=proxy&action=eth_call', ['to', 'data', 'tag']],
  ['module=account', ['action']],
  ['action=txlist', ['module']],
]
/** Longest page of a list. */
const MOST_ITEMS = 100
/** Requests at the same time. */
const AT_ONCE = 20

interface Target {
  readonly explorerUrl: string
  /** an account, a transaction, a token */
  readonly address: string
  readonly hash: string
  readonly token: string
}

/** Has the explorer store texts that no chain checks. */
export async function reportAsNode(explorerUrl: string, network: object): Promise<void> {
  const body = {
    moniker: HOSTILE_NAME,
    network: '<script>',
    node_id: NODE_ID,
    version: `1'"><svg onload=alert(1)>`,
    block_hash: `0x${'00'.repeat(32)}`,
    block_time: new Date().toISOString(),
    height: 1,
    peers: 0,
    rpc_address: 'http://evil.example/?<script>',
    ...network,
  }
  const response = await fetch(`${explorerUrl}api/network/heartbeat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': '198.51.100.200' },
    body: JSON.stringify(body),
  })
  expect([response.status, await response.json()]).toEqual([200, { isVerified: false }])
}

/** Declares the tests. */
export function testAbuse(target: () => Target): void {
  const get = async (path: string, client = 0) => {
    const headers = { 'x-forwarded-for': `203.0.113.${client}` }
    const response = await fetch(new URL(path, target().explorerUrl), { headers })
    return { path, status: response.status, headers: response.headers, text: await response.text() }
  }
  type Answer = Awaited<ReturnType<typeof get>>
  const all = async (paths: readonly string[]): Promise<Answer[]> => {
    const answers: Answer[] = []
    for (let at = 0; at < paths.length; at += AT_ONCE) {
      answers.push(...(await Promise.all(paths.slice(at, at + AT_ONCE).map((path) => get(path, at / AT_ONCE)))))
    }
    return answers
  }

  /** Addresses of the API that answer, each with its operation. */
  const valid = async (method: 'get' | 'post') => {
    const { paths } = JSON.parse((await get('api/v1/openapi.json')).text) as { readonly paths: Paths }
    const json = async (path: string) => JSON.parse((await get(`api/v1/${path}`)).text)
    const values: Readonly<Record<string, string>> = {
      address: target().address,
      '/tokens/{address}': target().token,
      hash: target().hash,
      id: '1',
      '/blocks/{id}': String((await json('blocks?limit=1')).items[0].height),
      operator: (await json('validators')).items[0].operator,
      validator: (await json('validators')).items[0].operator,
      nodeId: NODE_ID,
    }
    return Object.entries(paths).flatMap(([template, operations]) => {
      const operation = operations[method]
      if (operation === undefined) return []
      const fill = (changed?: string, value = ''): string =>
        template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
          if (name === changed) return encodeURIComponent(value)
          const special = Object.keys(values).find((key) => key.startsWith('/') && template.includes(key))
          const known = special?.endsWith(`{${name}}`) === true ? values[special] : values[name]
          if (known === undefined) throw new Error(`which ${name} may stand in ${template}?`)
          return known
        })
      return [{ template, fill, parameters: operation.parameters ?? [] }]
    })
  }

  /** What is wrong with refusals: each has to say in JSON, in a line, why. */
  const wrong = (answers: readonly Answer[], statuses: readonly number[]): string[] =>
    answers
      .filter(({ status, text, headers }) => {
        if (!statuses.includes(status) || headers.get('content-type')?.startsWith('application/json') !== true)
          return true
        if (status < 400) return false
        const { error } = JSON.parse(text) as { readonly error?: unknown }
        const reason =
          typeof error === 'object' ? '' : String(error ?? (JSON.parse(text) as { message?: string }).message)
        return reason === '' || reason.includes('\n') || /sqlite|syntax error|postgres/i.test(reason)
      })
      .map(({ path, status, text }) => `${path.slice(0, 200)}: ${status} ${text.slice(0, 200)}`)

  it('refuses every parameter of its API that is garbage, with a reason, and has a limit for every list', async () => {
    const garbage: string[] = []
    const limits: string[] = []
    const lists: string[] = []
    for (const { template, fill, parameters } of await valid('get')) {
      // It never ends.
      if (template.endsWith('/live')) continue
      for (const { name, in: place } of parameters) {
        if (name === 'q') continue
        const bad = name === 'limit' ? limits : garbage
        for (const value of name === 'limit' ? BAD_LIMITS : GARBAGE) {
          const query = place === 'query' ? `?${name}=${encodeURIComponent(value)}` : ''
          bad.push(`${place === 'path' ? fill(name, value) : fill()}${query}`)
        }
      }
      lists.push(fill())
    }
    expect(lists.length).toBeGreaterThan(30)
    expect(wrong(await all(limits), [400])).toEqual([])
    expect(wrong(await all(garbage), [400, 404, 414])).toEqual([])
    const answers = await all(lists)
    expect(answers.filter(({ status }) => status >= 500).map(({ path, text }) => `${path} ${text}`)).toEqual([])
    for (const { path, text } of answers) {
      const { items = [] } = JSON.parse(text) as { readonly items?: readonly unknown[] }
      expect([path, items.length <= MOST_ITEMS]).toEqual([path, true])
    }
  }, 60_000)

  it('searches for any text', async () => {
    const paths = GARBAGE.filter((text) => text.length <= 100).map(
      (text) => `api/v1/search?q=${encodeURIComponent(text)}`,
    )
    expect(wrong(await all(paths), [200, 400])).toEqual([])
    const [found] = await all([`api/v1/search?q=${encodeURIComponent('<img src=x')}`])
    expect(found!.text).toContain('<img src=x')
    // Its own signs stand for themselves in a pattern of SQL.
    const [none] = await all([`api/v1/search?q=${encodeURIComponent('%_%_%')}`])
    expect(JSON.parse(none!.text)).toEqual({ items: [] })
  })

  it('finds nothing for garbage in the API of Etherscan', async () => {
    const paths: string[] = []
    for (const [question, names] of ETHERSCAN) {
      for (const name of names) {
        for (const value of GARBAGE) {
          paths.push(`api?${question.replace('ADDRESS', target().address)}&${name}=${encodeURIComponent(value)}`)
        }
      }
    }
    const answers = await all(paths)
    expect(wrong(answers, [200])).toEqual([])
    expect(answers.filter(({ text }) => /rate limit/i.test(text))).toEqual([])
  })

  it('takes no body that is garbage', async () => {
    const { address } = target()
    const documented = (await valid('post')).map(({ fill }) => fill())
    expect(documented).not.toEqual([])
    // These keep to the documents of others.
    const paths = [...documented, '/api/network/heartbeat', `/v2/verify/76287/${address}`]
    for (const [number, path] of paths.entries()) {
      for (const body of BAD_BODIES) {
        const response = await fetch(new URL(path, target().explorerUrl), {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-forwarded-for': `198.51.101.${number}` },
          body,
        })
        const answer = await response.text()
        const isRefused = [400, 413].includes(response.status) && JSON.parse(answer) !== null
        expect([path, body.slice(0, 50), isRefused || answer]).toEqual([path, body.slice(0, 50), true])
      }
    }
  })

  it('answers as text that no browser runs, on pages that run nothing inline', async () => {
    const answers = await all([
      '',
      'tokens',
      'api/v1/proposals',
      `api/v1/search?q=%3Cimg`,
      'api/v1/nothing',
      'x<script>',
    ])
    for (const { path, headers } of answers) {
      const policy = headers.get('content-security-policy') ?? ''
      expect([path, headers.get('x-content-type-options'), policy.includes('unsafe')]).toEqual([path, 'nosniff', false])
      expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';.* frame-ancestors 'none'$/)
      const type = path.startsWith('api') ? /^application\/json/ : /^text\/html/
      expect(headers.get('content-type')).toMatch(type)
    }
    const [page] = answers
    expect(page!.text).not.toMatch(/<script(?![^>]* src=)|<style| style=| on\w+=/)
    expect(answers.at(-1)!.text).not.toContain('x<script>')
  })
}

/** Looks at the pages with texts that somebody else wrote: they are shown as they are. */
export async function viewAbuse(
  page: Page,
  {
    explorerUrl,
    token,
    nativeHash,
  }: { readonly explorerUrl: string; readonly token: string; readonly nativeHash: string },
): Promise<void> {
  const main = page.locator('main')
  // Without the character that no page shows.
  const [shown] = HOSTILE.split('\u0000') as [string]
  for (const [path, text] of [
    ['tokens', HOSTILE_NAME],
    [`token/${token}`, HOSTILE_NAME],
    [`tx/${nativeHash}`, shown.trim()],
    ['governance', shown.trim()],
    ['proposal/1', shown.trim()],
    ['network', HOSTILE_NAME],
    ['network', 'svg onload'],
  ] as const) {
    await page.goto(`${explorerUrl}${path}`)
    await main.getByText(text).first().waitFor()
    const injected = await page.evaluate<number>(
      `document.querySelectorAll('img[src="x"], main script, main svg[onload], a[href^="javascript:"]').length`,
    )
    expect([path, injected]).toEqual([path, 0])
  }
}
