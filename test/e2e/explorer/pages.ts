import { expect, it } from 'vitest'

/* Lists of the explorer of index.test.ts, read page by page while the chain goes on. */

interface Filled {
  readonly addresses: readonly string[]
  readonly transactions: readonly string[]
  readonly tokens: readonly string[]
}

type Item = Readonly<Record<string, unknown>>
interface Page {
  readonly items: readonly Item[]
  readonly next: number | string | null
}

const MAX_LIMIT = 100
/** What names an item whose other fields change from block to block. */
const NAMES: Readonly<Record<string, string>> = {
  '/validators': 'operator',
  '/validators/{validator}/delegators': 'address',
  // The newest range becomes longer with each missed block.
  '/validators/{validator}/absences': 'first',
  '/network/nodes': 'nodeId',
  '/statistics': 'start',
  '/tokens': 'address',
  '/proposals': 'id',
}

/** Declares the test. */
// biome-ignore lint/suspicious/noExplicitAny: the test looks into answers of every shape
export function testPages(get: (path: string) => Promise<any>, chain: () => Filled): void {
  /** The places that a list is of, by the name in its path. */
  const places = async (path: string): Promise<readonly string[]> => {
    const { addresses, transactions, tokens } = chain()
    const found = async (list: string, name: string) =>
      (await get(list)).items.map((item: Item) => String(item[name])) as string[]
    if (path.includes('/tokens/{address}')) return tokens
    if (path.includes('{address}')) return addresses
    if (path.includes('{hash}')) return transactions
    if (path.includes('/blocks/{id}')) {
      return Promise.all(transactions.map(async (hash) => String((await get(`transactions/${hash}`)).height)))
    }
    if (path.includes('/proposals/{id}')) return found('proposals', 'id')
    if (path.includes('{validator}')) return found('validators', 'operator')
    return ['']
  }

  const walk = async (list: string, cursor: string, limit: number): Promise<readonly Item[]> => {
    const items: Item[] = []
    let next: Page['next'] = null
    do {
      const query = `${list.includes('?') ? '&' : '?'}limit=${limit}${next === null ? '' : `&${cursor}=${next}`}`
      const page = (await get(`${list}${query}`)) as Page
      expect(page.items.length).toBeLessThanOrEqual(limit)
      items.push(...page.items)
      next = page.next
    } while (next !== null)
    return items
  }

  it('lists all of everything once, however long its pages are, while there are new blocks', async () => {
    const { paths } = (await get('openapi.json')) as {
      readonly paths: Readonly<
        Record<string, { readonly get?: { readonly parameters?: readonly { readonly name: string }[] } }>
      >
    }
    const lengths = new Map<string, number>()
    for (const [full, { get: operation }] of Object.entries(paths)) {
      const names = operation?.parameters?.map(({ name }) => name) ?? []
      if (!names.includes('limit')) continue
      const path = full.replace('/api/v1', '')
      const cursor = names.includes('after') ? 'after' : 'before'
      const shown = (items: readonly Item[]) => items.map((item) => JSON.stringify(item[NAMES[path] ?? ''] ?? item))
      for (const place of new Set(await places(path))) {
        const list = path.slice(1).replace(/\{[a-zA-Z]+\}/, place)
        const parts = [1, 2, 7].map(async (limit) => [limit, shown(await walk(list, cursor, limit))] as const)
        const before = await Promise.all(parts)
        const all = shown(await walk(list, cursor, MAX_LIMIT))
        lengths.set(path, Math.max(all.length, lengths.get(path) ?? 0))
        // What came since is at the begin.
        for (const [limit, items] of before) {
          expect({ list, limit, items }).toEqual({
            list,
            limit,
            items: items.length === 0 ? [] : all.slice(-items.length),
          })
        }
      }
    }
    expect([...lengths].filter(([, length]) => length === 0)).toEqual([])
    expect([...lengths].filter(([, length]) => length > 7)).not.toEqual([])
  })

  it('begins with the first row behind a cursor above all that there are', async () => {
    const { addresses, tokens } = chain()
    const above = `${'9'.repeat(78)}.0x${'f'.repeat(40)}`
    for (const list of ['tokens', `tokens/${tokens[0]}/holders`, `tokens/${tokens[0]}/transfers`, 'validators']) {
      const [first, behind] = [await get(`${list}?limit=1`), await get(`${list}?limit=1&before=${above}`)]
      expect([list, behind.items.length, behind.next]).toEqual([list, 1, first.next])
    }
    for (const list of ['movements', 'logs', 'stake-events', 'token-transfers', 'internal-calls']) {
      const { items } = await get(`addresses/${addresses[0]}/${list}?before=${'9'.repeat(16)}.9999999`)
      expect([list, Array.isArray(items)]).toEqual([list, true])
    }
  })
}
