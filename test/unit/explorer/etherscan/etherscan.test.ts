import { type CompiledQuery, sql } from 'kysely'
import { toFunctionSelector } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CALL_KINDS } from '../../../../explorer/contracts/tables.ts'
import { amountToBytes } from '../../../../explorer/database/amount.ts'
import type { Row } from '../../../../explorer/database/indexDatabase.ts'
import { transactionPosition } from '../../../../explorer/database/position.ts'
import { TOKEN_KINDS } from '../../../../explorer/tokens/tables.ts'
import { nameFunctions } from '../../../../explorer/verify/functionNames.ts'
import { storeVerified } from '../../../../explorer/verify/verifiedContracts.ts'
import { bytesToHex, concatBytes, EMPTY_BYTES, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { openTestDatabases, type TestDatabases } from '../../../support/explorer/testDatabases.ts'
import { createTestServer } from '../../../support/explorer/testServer.ts'

/* The API of Etherscan over an index that is written here, without a node. test/e2e has real chains and clients. */

const CHAIN = 76287
const BLOCKS = 260
const bytes = (number: number, size: number): Uint8Array =>
  hexToBytes(`0x${number.toString(16).padStart(2 * size, '0')}`)
const account = (number: number): Uint8Array => bytes(number, 20)
const word = (number: number): Uint8Array => bytes(number, 32)
const [SENDER, MINER, TOKEN, BUSY, QUIET, MADE] = [1, 2, 3, 4, 5, 6].map(account) as [Uint8Array, ...Uint8Array[]] &
  Readonly<Record<0 | 1 | 2 | 3 | 4 | 5, Uint8Array>>
const [COMMON, RARE, OTHER] = [word(1), word(2), word(3)] as const
const TRANSFER = '0xa9059cbb'
/** Blocks at noon and at midnight of two days: 2026-01-01 and 2026-01-02. */
const START_MS = Date.UTC(2026, 0, 1, 12)
const HOUR_MS = 3_600_000

let databases: TestDatabases
let app: Awaited<ReturnType<typeof createTestServer>>
/** that were asked of the index */
const asked: CompiledQuery[] = []
let clients = 0

/** Logs: 2,100 of BUSY, of which five have the topic RARE, and 2,000 of QUIET with that topic; each block has a few of each. */
function logRows(): Row<'log'>[] {
  const rows: Row<'log'>[] = []
  const ordinals = new Map<number, number>()
  const add = (height: number, address: Uint8Array, topic0: Uint8Array, topic1: Uint8Array): void => {
    const position = transactionPosition(height, 0)
    const ordinal = ordinals.get(position) ?? 0
    ordinals.set(position, ordinal + 1)
    rows.push({
      position,
      ordinal,
      address,
      topic0,
      topic1,
      topic2: null,
      topic3: null,
      data: EMPTY_BYTES,
      log_index: ordinal,
    })
  }
  for (let index = 0; index < 2_100; index++) {
    const height = 1 + (index % BLOCKS)
    add(height, BUSY, index % 420 === 7 ? RARE : COMMON, OTHER)
    if (index < 2_000) add(height, QUIET, RARE, OTHER)
  }
  return rows.toSorted((a, b) => a.position - b.position || a.ordinal - b.ordinal)
}

async function fill(): Promise<void> {
  const heights = Array.from({ length: BLOCKS }, (_, index) => index + 1)
  const detail = JSON.stringify({
    input: `${TRANSFER}00`,
    effectiveGasPrice: '0x3b9aca00',
    transactionIndex: '0x0',
    cumulativeGasUsed: '0x5208',
    contractAddress: null,
  })
  const [zero, fee, coin] = [0n, 21_000n * 10n ** 9n, 10n ** 18n].map(amountToBytes) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ]
  await databases.database.write(async (writer) => {
    await writer.insert('ingest', [
      { id: 1, chain_id: 'coin_76287-1', evm_chain_id: CHAIN, first_height: 1, height: BLOCKS, opening_height: 0 },
    ])
    await writer.insert(
      'block',
      heights.map((height) => {
        const time = START_MS + height * 1_000
        return {
          height,
          hash: word(height),
          consensus_hash: word(1_000 + height),
          time,
          proposer: MINER,
          miner: MINER,
          gas_used: 21_000,
          gas_limit: 30_000_000,
          base_fee: zero,
          evm_count: 1,
          native_count: 0,
          size: 500,
        }
      }),
    )
    const positions = heights.map((height) => transactionPosition(height, 0))
    await writer.insert(
      'tx',
      positions.map((position, index) => {
        return {
          position,
          hash: word(5_000 + index),
          kind: 0,
          is_ok: 1,
          sender: SENDER,
          recipient: TOKEN,
          value: zero,
          fee,
          gas_used: 21_000,
          gas_limit: 50_000,
          nonce: index,
          method: TRANSFER,
          detail,
        }
      }),
    )
    await writer.insert(
      'account_tx',
      positions.map((position) => ({ address: SENDER, position })),
    )
    await writer.insert('log', logRows())
    const calls = positions.flatMap((position) => [1, 2].map((ordinal) => [position, ordinal] as const))
    await writer.insert(
      'internal_call',
      calls.map(([position, ordinal]) => ({
        position,
        ordinal,
        depth: 1,
        kind: CALL_KINDS.call,
        sender: SENDER,
        recipient: MADE,
        value: coin,
        gas: 9,
        gas_used: 8,
        is_ok: 1,
        error: null,
      })),
    )
    await writer.insert(
      'account_call',
      calls.map(([position, ordinal]) => ({ address: MADE, position, ordinal })),
    )
    const tokens = Array.from({ length: 30 }, (_, index) => (index === 0 ? TOKEN : account(100 + index)))
    await writer.insert(
      'token',
      tokens.map((token) => ({
        address: token,
        kind: TOKEN_KINDS.erc20,
        is_exact: 1,
        holders: 40,
        transfers: BLOCKS,
        supply: coin,
        position: positions[0]!,
      })),
    )
    await writer.insert(
      'token_name',
      tokens.map((token) => ({
        address: token,
        is_asked: 1,
        name: 'Test',
        symbol: 'TST',
        decimals: 18,
        name_key: EMPTY_BYTES,
        symbol_key: EMPTY_BYTES,
      })),
    )
    const holders = Array.from({ length: 40 }, (_, index) => account(1_000 + index))
    const holdings = [
      ...holders.map((holder) => [TOKEN, holder] as const),
      ...tokens.map((token) => [token, SENDER] as const),
    ]
    await writer.insert(
      'token_balance',
      holdings.map(([token, holder]) => ({
        key: concatBytes(token, holder),
        token,
        token_id: EMPTY_BYTES,
        holder,
        amount: coin,
      })),
    )
    await writer.insert(
      'token_transfer',
      positions.map((position, index) => {
        const [from, to] = index % 3 === 0 ? [SENDER, MADE] : index % 3 === 1 ? [MADE, SENDER] : [SENDER, SENDER]
        return { position, ordinal: 0, token: TOKEN, sender: from, recipient: to, amount: coin, token_id: EMPTY_BYTES }
      }),
    )
    await writer.insert(
      'statistics_hour',
      [0, 5, 12, 13].map((hour) => ({
        hour: START_MS / HOUR_MS + hour,
        blocks: 10,
        evm_count: 3,
        native_count: 2,
        failed_count: 1,
        gas_used: 21_000,
        fees: fee,
        moved: coin,
        new_accounts: 4,
      })),
    )
  })
  const code = {
    object: '',
    onchain: '0x',
    recompiled: '0x',
    match: { match: 'exact_match' as const, transformations: [], transformationValues: {} },
  }
  const abi = [
    {
      type: 'function',
      name: 'transfer',
      inputs: [
        { name: 'to', type: 'address' },
        { name: '', type: 'uint256' },
      ],
    },
  ]
  await storeVerified(
    databases.services,
    TOKEN,
    undefined,
    {
      ...{ abi, metadata: '', userdoc: {}, devdoc: {}, path: 'Token.sol', name: 'Token', compilerVersion: '0.8.0' },
      ...{
        input: { language: 'Solidity', sources: {}, settings: {} },
        storageLayout: null,
        runtime: code,
        creation: null,
      },
    },
    0,
  )
}

beforeAll(async () => {
  databases = await openTestDatabases()
  await fill()
  const { queries } = databases.database
  app = await createTestServer({
    queries: queries.withPlugin({
      transformQuery: ({ node, queryId }) => {
        asked.push(queries.getExecutor().compileQuery(node, queryId))
        return node
      },
      transformResult: async ({ result }) => result,
    }),
    services: databases.services,
  })
})
afterAll(async () => {
  await app.close()
  await databases.close()
})

interface Answer {
  readonly status: string
  readonly message: string
  readonly result: readonly Readonly<Record<string, unknown>>[]
}

type Query = Readonly<Record<string, string>>

/** Each request is of another client, as the proxy says. */
async function ask(query: Query): Promise<Answer> {
  const response = await app.inject({
    url: `/api?${new URLSearchParams(query)}`,
    headers: { 'x-forwarded-for': `198.51.100.${clients++ % 256}` },
  })
  return response.json() as Answer
}

/** All pages, up to the first that is not full. */
async function allPages(query: Query, offset: number): Promise<Answer['result']> {
  const rows: Readonly<Record<string, unknown>>[] = []
  for (let page = 1; ; page++) {
    const { result } = await ask({ ...query, page: String(page), offset: String(offset) })
    rows.push(...result)
    if (result.length === 0) return rows
  }
}

const hex = (own: Uint8Array): string => bytesToHex(own)
const ofAccount = { module: 'account', address: hex(SENDER) }

describe('the API of Etherscan', () => {
  it.each<[string, Query, number]>([
    ['logs of an address', { module: 'logs', action: 'getLogs', address: hex(BUSY) }, 2_100],
    ['logs of a topic', { module: 'logs', action: 'getLogs', topic0: hex(RARE) }, 2_005],
    [
      'logs of either topic',
      { module: 'logs', action: 'getLogs', topic0: hex(RARE), topic1: hex(word(9)), topic0_1_opr: 'or' },
      2_005,
    ],
    ['blocks of a proposer', { ...ofAccount, action: 'getminedblocks', address: hex(MINER) }, BLOCKS],
    ['transactions', { ...ofAccount, action: 'txlist' }, BLOCKS],
    ['transactions, the newest first', { ...ofAccount, action: 'txlist', sort: 'desc' }, BLOCKS],
    ['calls of an account', { ...ofAccount, action: 'txlistinternal', address: hex(MADE) }, 2 * BLOCKS],
    ['calls of blocks', { module: 'account', action: 'txlistinternal', startblock: '1', endblock: '99' }, 198],
    ['transfers of an account', { ...ofAccount, action: 'tokentx' }, BLOCKS],
    [
      'transfers of a token',
      { module: 'account', action: 'tokentx', contractaddress: hex(TOKEN), sort: 'desc' },
      BLOCKS,
    ],
    ['tokens of an account', { ...ofAccount, action: 'addresstokenbalance' }, 30],
    ['holders of a token', { module: 'token', action: 'tokenholderlist', contractaddress: hex(TOKEN) }, 41],
  ])('pages %s without a gap, also where an offset is above what a page may have', async (_, query, count) => {
    const small = await allPages(query, 97)
    expect(small.length).toBe(count)
    expect(new Set(small.map((row) => JSON.stringify(row))).size).toBe(count)
    for (const offset of [1_000, 5_000]) expect(await allPages(query, offset)).toEqual(small)
  })

  it('finds the logs of an address with a topic along the index of both', async () => {
    asked.length = 0
    const { result } = await ask({ module: 'logs', action: 'getLogs', address: hex(BUSY), topic0: hex(RARE) })
    expect(result.map(({ address, topics }) => [address, topics])).toEqual(
      Array.from({ length: 5 }, () => [hex(BUSY), [hex(RARE), hex(OTHER)]]),
    )
    // PostgreSQL chooses by what it knows of the rows, and reads a small table as a whole.
    if (databases.database.dialect === 'postgres') return
    const { sql: text, parameters } = asked.find((query) => query.sql.includes('from "log"'))!
    const { rows } = await databases.database.queries.executeQuery<{ detail: string }>({
      ...sql.raw(`explain query plan ${text}`).compile(databases.database.queries),
      parameters,
    })
    expect(rows.map(({ detail }) => detail)).toEqual([
      'SEARCH log USING INDEX log_address_topic (address=? AND topic0=? AND (position,ordinal)>(?,?))',
    ])
  })

  it('refuses to walk more rows than a page may cost, and says what to do', async () => {
    const position = transactionPosition(BLOCKS + 1, 0)
    await databases.database.write(({ insert }) =>
      insert(
        'log',
        Array.from({ length: 50_000 }, (_, index) => ({
          position,
          ordinal: index,
          address: account(9),
          topic0: COMMON,
          topic1: word(7),
          topic2: null,
          topic3: null,
          data: EMPTY_BYTES,
          log_index: 0,
        })),
      ),
    )
    const query = { module: 'logs', action: 'getLogs', topic1: hex(word(8)) }
    expect(await ask(query)).toEqual({
      status: '0',
      message: 'NOTOK',
      result: 'Query Timeout occured. Please select a smaller result dataset',
    })
    expect((await ask({ ...query, toBlock: String(BLOCKS) })).message).toBe('No records found')
  })

  it('refuses to add up the fees of more transactions than that', async () => {
    const proposer = account(7)
    const none = amountToBytes(0n)
    const rows = [30_000, 20_001].map((count, index): Row<'block'> => {
      const height = BLOCKS + 2 + index
      return {
        height,
        hash: word(height),
        consensus_hash: word(1_000 + height),
        time: START_MS,
        proposer,
        miner: proposer,
        gas_used: 0,
        gas_limit: 0,
        base_fee: none,
        evm_count: count,
        native_count: 0,
        size: 500,
      }
    })
    await databases.database.write(({ insert }) => insert('block', rows))
    const query = { ...ofAccount, action: 'getminedblocks', address: hex(proposer) }
    expect((await ask({ ...query, offset: '1' })).result.length).toBe(1)
    expect((await ask(query)).result).toContain('smaller result dataset')
  })

  it('gives the data of each log, and refuses a page with more of it than an answer may have', async () => {
    const position = transactionPosition(BLOCKS, 0)
    const long = account(8)
    const rows = [1, 2, 9 * 1024 * 1024].map((size, index): Row<'log'> => {
      const data = new Uint8Array(size).fill(index + 1)
      return {
        position,
        ordinal: 60_000 + index,
        address: long,
        topic0: COMMON,
        topic1: null,
        topic2: null,
        topic3: null,
        data,
        log_index: index,
      }
    })
    await databases.database.write(({ insert }) => insert('log', rows))
    const query = { module: 'logs', action: 'getLogs', address: hex(long) }
    const { result } = await ask({ ...query, offset: '2' })
    expect(result.map(({ data }) => data)).toEqual(['0x01', '0x0202'])
    expect((await ask({ ...query, offset: '3' })).result).toContain('smaller result dataset')
  })

  it('names functions of verified contracts', async () => {
    const name = 'transfer(address to, uint256)'
    for (const action of ['txlist', 'tokentx']) {
      const { result } = await ask({ ...ofAccount, action, offset: '3' })
      expect(result.map(({ methodId, functionName }) => [methodId, functionName])).toEqual(
        Array(3).fill([TRANSFER, name]),
      )
    }
    const parts = [
      { name: 'who', type: 'address' },
      { name: 'many', type: 'tuple[2]', components: [{ name: '', type: 'bytes' }] },
    ]
    const inputs = [{ name: 'own', type: 'tuple[]', components: parts }]
    const item = { type: 'function', name: 'all', inputs } as const
    const selector = toFunctionSelector({ ...item, outputs: [], stateMutability: 'view' })
    expect([...nameFunctions([item, { type: 'error', name: 'No', inputs }])]).toEqual([[selector, 'all(tuple[] own)']])
  })

  it('tells numbers of days', async () => {
    const days = { module: 'stats', startdate: '2026-01-01', enddate: '2026-01-02' }
    const [first, second] = ['2026-01-01', '2026-01-02'].map((UTCDate) => ({
      UTCDate,
      unixTimeStamp: String(Date.parse(UTCDate) / 1_000),
    }))
    const both = (own: Query | Readonly<Record<string, number>>) => [
      { ...first, ...own },
      { ...second, ...own },
    ]
    expect((await ask({ ...days, action: 'dailytx' })).result).toEqual(both({ transactionCount: 10 }))
    expect((await ask({ ...days, action: 'dailynewaddress' })).result).toEqual(both({ newAddressCount: 8 }))
    expect((await ask({ ...days, action: 'dailygasused' })).result).toEqual(both({ gasUsed: '42000' }))
    expect((await ask({ ...days, action: 'dailytxnfee' })).result).toEqual(both({ transactionFee_Eth: '0.000042' }))
    const { result } = await ask({ ...days, action: 'dailyblkcount', sort: 'desc' })
    expect(result).toEqual(both({ blockCount: 20, blockRewards_Eth: '0.000042' } as never).toReversed())
    expect((await ask({ ...days, action: 'dailytx', enddate: '2026-01-01' })).result.length).toBe(1)
    expect((await ask({ ...days, action: 'dailytx', startdate: '2027-01-01', enddate: '2027-01-01' })).message).toBe(
      'No records found',
    )
    for (const startdate of ['yesterday', '2026-02-30', '2026-1-1', '20260101']) {
      expect((await ask({ ...days, action: 'dailytx', startdate })).result).toContain('Invalid startdate')
    }
    expect((await ask({ module: 'stats', action: 'dailytx' })).result).toContain('Missing startdate')
  })
})
