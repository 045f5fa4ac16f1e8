import { openDatabase } from '../../explorer/database/open.ts'
import { transactionPosition } from '../../explorer/database/position.ts'
import { toBech32 } from '../../src/primitives/address.ts'
import { hexToBytes } from '../../src/primitives/bytes.ts'
import { runGets } from '../load/httpLoad.ts'
import { percentile } from '../measure/percentile.ts'
import type { Row } from '../report.ts'
import { type BigIndex, describeBigIndex, writeBigIndex } from './bigIndex.ts'
import { type BenchExplorer, indexed, processorMs, runExplorer } from './runExplorer.ts'

interface PagesOptions {
  readonly database: string
  readonly transfers: number
  /** of each kind */
  readonly requests: number
  /** only kinds whose names contain it */
  readonly only: string
  readonly explorerFlags: readonly string[]
}

/** Paths by what they ask for, each for many numbers. */
type Questions = Readonly<Record<string, (number: number) => string>>

const IN_FLIGHT = 8
/** Pages that are turned before one is measured: the limit of a list is 100. */
const TURNS = 40
/** No program answers here: these pages need no node. */
const NO_NODE = 'http://127.0.0.1:1/'

/** Measures how fast an explorer with a big index answers requests of its pages and of programs. */
export async function measurePages({
  database,
  transfers,
  requests,
  only,
  explorerFlags,
}: PagesOptions): Promise<readonly Row[]> {
  const beginMs = performance.now()
  const isThere = await hasIndex(database)
  const index = isThere ? describeBigIndex(transfers) : await writeBigIndex(database, transfers)
  const seconds = (performance.now() - beginMs) / 1_000
  const explorer = await runExplorer({ nodeUrl: NO_NODE, database, nodeFlags: explorerFlags })
  try {
    await indexed(explorer, index.height)
    const rows: Row[] = isThere ? [] : [{ name: 'pages: the index is made', unit: 's', value: seconds }]
    for (const [name, pathOf] of Object.entries(await questions(explorer, index))) {
      if (!name.includes(only)) continue
      const usedMs = processorMs(explorer.pid)
      const paths = Array.from({ length: requests }, (_, number) => pathOf(number))
      const { latenciesMs, errors, firstError } = await runGets(explorer.port, paths, IN_FLIGHT)
      if (errors > 0) throw new Error(`${paths[0]}: ${firstError}`)
      const each = (processorMs(explorer.pid) - usedMs) / requests
      const row: Row = {
        name: `pages: ${name} p99`,
        unit: 'ms',
        value: percentile(latenciesMs, 99),
        note: `p50 ${percentile(latenciesMs, 50).toFixed(1)} ms, processor ${each.toFixed(2)} ms each`,
      }
      rows.push(row)
    }
    return rows
  } finally {
    await explorer.stop()
  }
}

async function hasIndex(place: string): Promise<boolean> {
  const database = await openDatabase(place)
  const own = await database.queries.selectFrom('ingest').select('height').executeTakeFirst()
  await database.close()
  return own !== undefined
}

async function questions(explorer: BenchExplorer, index: BigIndex): Promise<Questions> {
  const { height, exchange, collector, rare, accounts, tokens, transactionHash } = index
  const account = (number: number): string => accounts[number % accounts.length]!
  const token = (number: number): string => tokens[number % tokens.length]!
  const someHeight = (number: number): number => 1 + ((number * 7_919) % height)
  const someHash = (number: number): string => transactionHash(someHeight(number), number % 180)
  const v1 = (path: string): string => `/api/v1/${path}`
  const position = (number: number): number => transactionPosition(someHeight(number), 0)
  const place = (number: number): string => `${position(number)}.0`
  /** a list from its begin, and from anywhere */
  const list = (name: string, path: string, cursor: (number: number) => number | string): Questions => ({
    [name]: () => v1(`${path}?limit=25`),
    [`${name}, any page`]: (number) => v1(`${path}?limit=25&before=${cursor(number)}`),
  })
  /** the same where a cursor is known by turning the pages before it */
  const turned = async (name: string, path: string): Promise<Questions> => {
    const cursors = await turn(explorer, path)
    return list(name, path, (number) => cursors[number % cursors.length]!)
  }
  const ofAccount = (name: string, address: string): Questions => ({
    [`address ${name}`]: () => v1(`addresses/${address}`),
    ...list(`transactions of ${name}`, `addresses/${address}/transactions`, position),
    ...list(`coins of ${name}`, `addresses/${address}/movements`, place),
    ...list(`token transfers of ${name}`, `addresses/${address}/token-transfers`, place),
    [`tokens of ${name}`]: () => v1(`addresses/${address}/tokens?limit=25`),
  })
  const etherscan =
    (query: string): (() => string) =>
    () =>
      `/api?${query}`
  const exchangeQuery = `module=account&address=${exchange}`
  const logQuery = `module=logs&action=getLogs&address=${tokens[0]}`
  return {
    status: () => v1('status'),
    'home: blocks': () => v1('blocks?limit=10'),
    'home: transactions': () => v1('transactions?limit=10'),
    'home: statistics': () => v1('statistics?unit=hour&limit=48'),
    'home: validators': () => v1('validators?state=active'),
    ...list('blocks', 'blocks', someHeight),
    block: (number) => v1(`blocks/${someHeight(number)}`),
    'transactions of a block': (number) => v1(`blocks/${someHeight(number)}/transactions?limit=25`),
    ...list('transactions', 'transactions', position),
    transaction: (number) => v1(`transactions/${someHash(number)}`),
    'logs of a transaction': (number) => v1(`transactions/${someHash(number)}/logs`),
    'calls of a transaction': (number) => v1(`transactions/${someHash(number)}/calls`),
    ...ofAccount('the exchange', exchange),
    ...ofAccount('the collector of fees', collector),
    ...ofAccount('a rare account', rare),
    'address of an account': (number) => v1(`addresses/${account(number)}`),
    'transactions of an account': (number) => v1(`addresses/${account(number)}/transactions?limit=25`),
    'coins of an account': (number) => v1(`addresses/${account(number)}/movements?limit=25`),
    'token transfers of an account': (number) => v1(`addresses/${account(number)}/token-transfers?limit=25`),
    'tokens of an account': (number) => v1(`addresses/${account(number)}/tokens?limit=25`),
    ...(await turned('tokens', 'tokens')),
    token: (number) => v1(`tokens/${token(number)}`),
    ...list('transfers of the first token', `tokens/${tokens[0]}/transfers`, place),
    ...(await turned('holders of the first token', `tokens/${tokens[0]}/holders`)),
    'transfers of a token': (number) => v1(`tokens/${token(number)}/transfers?limit=25`),
    'holders of a token': (number) => v1(`tokens/${token(number)}/holders?limit=25`),
    ...list('logs of the first token', `addresses/${tokens[0]}/logs`, place),
    'search: name of a token': (number) => v1(`search?q=token+number+${number % 100}`),
    'search: begin of all names': () => v1('search?q=tok'),
    'search: nothing': (number) => v1(`search?q=nothing${number}`),
    'search: hash of a transaction': (number) => v1(`search?q=${someHash(number)}`),
    'search: unknown hash': (number) => v1(`search?q=0x${number.toString(16).padStart(64, '0')}`),
    'search: height': (number) => v1(`search?q=${someHeight(number)}`),
    'search: address': (number) => v1(`search?q=${toBech32(hexToBytes(account(number)))}`),
    'Etherscan: txlist of the exchange, 25 newest': etherscan(
      `${exchangeQuery}&action=txlist&sort=desc&page=1&offset=25`,
    ),
    'Etherscan: txlist of the exchange, 1,000 newest': etherscan(
      `${exchangeQuery}&action=txlist&sort=desc&page=1&offset=1000`,
    ),
    'Etherscan: txlist of the exchange, page 40 of 250': etherscan(
      `${exchangeQuery}&action=txlist&sort=asc&page=40&offset=250`,
    ),
    'Etherscan: txlist of an account': (number) =>
      `/api?module=account&action=txlist&sort=desc&address=${account(number)}`,
    'Etherscan: tokentx of the exchange, 25 newest': etherscan(
      `${exchangeQuery}&action=tokentx&sort=desc&page=1&offset=25`,
    ),
    'Etherscan: tokentx of the exchange, 1,000 newest': etherscan(
      `${exchangeQuery}&action=tokentx&sort=desc&page=1&offset=1000`,
    ),
    'Etherscan: getLogs of a token, 25': etherscan(
      `${logQuery}&fromBlock=${height >> 1}&toBlock=latest&page=1&offset=25`,
    ),
    'Etherscan: getLogs of a token, 1,000': etherscan(
      `${logQuery}&fromBlock=${height >> 1}&toBlock=latest&page=1&offset=1000`,
    ),
  }
}

/** Turns the pages of a list; returns where each one begins. */
async function turn(explorer: BenchExplorer, path: string): Promise<readonly string[]> {
  const cursors: string[] = []
  for (let page = 0; page < TURNS; page++) {
    const before = cursors.length === 0 ? '' : `&before=${cursors.at(-1)}`
    const response = await fetch(`${explorer.url}api/v1/${path}?limit=100${before}`)
    const { items, next } = (await response.json()) as { items?: readonly unknown[]; next?: number | string | null }
    if (items === undefined) throw new Error(`${path} returned no list`)
    if (next === null || next === undefined) break
    cursors.push(String(next))
  }
  return cursors
}
