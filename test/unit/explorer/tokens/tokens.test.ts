import fc from 'fast-check'
import { encodeAbiParameters, encodeEventTopics, type Hex, pad, parseAbi, toHex } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { bytesToAmount } from '../../../../explorer/database/amount.ts'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { migrate } from '../../../../explorer/database/migrate.ts'
import { openSqlite } from '../../../../explorer/database/sqlite.ts'
import { type PlacedTransfer, TokenBook } from '../../../../explorer/tokens/tokenBook.ts'
import { nameRow } from '../../../../explorer/tokens/tokenNames.ts'
import { tokenTransfers } from '../../../../explorer/tokens/tokenTransfers.ts'
import { bytesToHex, EMPTY_BYTES, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'

const ERC20 = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)'])
const ERC721 = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 indexed id)'])
const ERC1155 = parseAbi([
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
])
const WETH9 = parseAbi([
  'event Deposit(address indexed dst, uint256 wad)',
  'event Withdrawal(address indexed src, uint256 wad)',
])

const account = (number: number): Hex => pad(toHex(number), { size: 20 })
const NOBODY = account(0)
const TOKEN = account(0x70)
const word = (value: bigint): Hex => toHex(value, { size: 32 })
const log = (topics: readonly unknown[], data: Hex, address = TOKEN) => ({
  address,
  topics: topics as Hex[],
  data,
  logIndex: '0x0' as Hex,
})

const erc20 = (from: number, to: number, amount: bigint, address = TOKEN) =>
  log(
    encodeEventTopics({ abi: ERC20, eventName: 'Transfer', args: { from: account(from), to: account(to) } }),
    word(amount),
    address,
  )
const erc721 = (from: number, to: number, id: bigint) =>
  log(
    encodeEventTopics({ abi: ERC721, eventName: 'Transfer', args: { from: account(from), to: account(to), id } }),
    '0x',
  )
const batch = (from: number, to: number, ids: readonly bigint[], amounts: readonly bigint[]) =>
  log(
    encodeEventTopics({
      abi: ERC1155,
      eventName: 'TransferBatch',
      args: { operator: NOBODY, from: account(from), to: account(to) },
    }),
    encodeAbiParameters([{ type: 'uint256[]' }, { type: 'uint256[]' }], [ids, amounts]),
  )
const single = (from: number, to: number, id: bigint, amount: bigint) =>
  log(
    encodeEventTopics({
      abi: ERC1155,
      eventName: 'TransferSingle',
      args: { operator: NOBODY, from: account(from), to: account(to) },
    }),
    encodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], [id, amount]),
  )
const deposit = (to: number, amount: bigint) =>
  log(encodeEventTopics({ abi: WETH9, eventName: 'Deposit', args: { dst: account(to) } }), word(amount))
const withdrawal = (from: number, amount: bigint) =>
  log(encodeEventTopics({ abi: WETH9, eventName: 'Withdrawal', args: { src: account(from) } }), word(amount))

async function openEmpty(): Promise<IndexDatabase> {
  const database = openSqlite(':memory:')
  await migrate(database)
  return database
}

/** `1 → 2 5 #7` */
function told(logs: Parameters<typeof tokenTransfers>[0]): readonly string[] {
  const name = (side: Uint8Array | undefined): string => (side === undefined ? '–' : String(Number(bytesToHex(side))))
  return tokenTransfers(logs).map(
    ({ sender, recipient, amount, id }) =>
      `${name(sender)} → ${name(recipient)} ${amount}${id.length === 0 ? '' : ` #${BigInt(bytesToHex(id))}`}`,
  )
}

const good = batch(1, 2, [7n, 8n], [5n, 6n])
const words = (...values: readonly bigint[]): Hex => `0x${values.map((value) => word(value).slice(2)).join('')}`

describe('tokenTransfers', () => {
  it.each<[string, Parameters<typeof tokenTransfers>[0], readonly string[]]>([
    ['ERC-20', [erc20(1, 2, 5n)], ['1 → 2 5']],
    ['mints and burns', [erc20(0, 2, 5n), erc20(2, 0, 5n)], ['– → 2 5', '2 → – 5']],
    ['ERC-721', [erc721(1, 2, 9n)], ['1 → 2 1 #9']],
    ['ERC-1155', [single(1, 2, 7n, 5n)], ['1 → 2 5 #7']],
    ['a batch', [good], ['1 → 2 5 #7', '1 → 2 6 #8']],
    ['an empty batch', [batch(1, 2, [], [])], []],
    ['a wrapper of coins', [deposit(1, 5n), withdrawal(1, 3n)], ['– → 1 5', '1 → – 3']],
    [
      'one that says it twice',
      [deposit(1, 5n), erc20(0, 1, 5n), erc20(1, 0, 3n), withdrawal(1, 3n)],
      ['– → 1 5', '1 → – 3'],
    ],
    ['a Transfer of another token beside', [deposit(1, 5n), erc20(0, 1, 5n, account(0x71))], ['– → 1 5', '– → 1 5']],
    ['not the token of coins', [erc20(1, 2, 5n, `0x${'ee'.repeat(20)}`)], []],
  ])('tells %s', (_, logs, transfers) => {
    expect(told(logs)).toEqual(transfers)
  })

  it.each<[string, ReturnType<typeof log>]>([
    ['no topics', log([], '0x')],
    ['an ERC-20 Transfer without data', { ...erc20(1, 2, 5n), data: '0x' }],
    ['one with too much data', { ...erc20(1, 2, 5n), data: words(1n, 2n) }],
    ['one without sides', { ...erc20(1, 2, 5n), topics: erc20(1, 2, 5n).topics.slice(0, 1) }],
    ['a side that is no address', { ...erc20(1, 2, 5n), topics: erc20(1, 2, 5n).topics.with(1, word(2n ** 255n)) }],
    ['an ERC-721 Transfer with data', { ...erc721(1, 2, 9n), data: word(1n) }],
    ['a single one cut off', { ...single(1, 2, 7n, 5n), data: word(7n) }],
    ['lists of different lengths', batch(1, 2, [1n, 2n], [1n])],
    ['a list of 2^255', { ...good, data: words(64n, 96n, 2n ** 255n, 1n) }],
    ['a list of one too many', { ...good, data: words(64n, 64n, 2n, 1n) }],
    ['a place outside', { ...good, data: words(2n ** 256n - 32n, 64n, 0n) }],
    ['a place at the end', { ...good, data: words(96n, 64n, 0n) }],
    ['no lists', { ...good, data: '0x' }],
    ['a deposit with two accounts', { ...deposit(1, 5n), topics: [...deposit(1, 5n).topics, word(1n)] }],
  ])('takes a log with %s for no transfer', (_, hostile) => {
    expect(told([hostile])).toEqual([])
  })

  it('reads any bytes without an error', () => {
    const bytes = fc.uint8Array({ maxLength: 300 }).map((data) => bytesToHex(data))
    fc.assert(
      fc.property(bytes, fc.constantFrom(good, erc20(1, 2, 1n), single(1, 2, 3n, 4n)), (data, like) => {
        expect(tokenTransfers([{ ...like, data }]).length).toBeLessThanOrEqual(10)
      }),
    )
  })
})

describe('TokenBook', () => {
  let database: IndexDatabase
  afterEach(() => database.close())

  /** What the tables say: `token holder #id amount`, and holders and supply of each token. */
  async function stored() {
    const balances = await database.queries.selectFrom('token_balance').selectAll().execute()
    const tokens = await database.queries.selectFrom('token').selectAll().orderBy('address').execute()
    return {
      balances: new Map(
        balances.map(({ token, holder, token_id, amount }) => [
          [token, holder, token_id].map((part) => bytesToHex(part)).join(' '),
          bytesToAmount(amount),
        ]),
      ),
      tokens: tokens.map(({ address, is_exact, holders, transfers, supply }) => ({
        address: bytesToHex(address),
        isExact: is_exact,
        holders,
        transfers,
        supply: bytesToAmount(supply),
      })),
    }
  }

  const place = (logs: Parameters<typeof tokenTransfers>[0], position: number): readonly PlacedTransfer[] =>
    tokenTransfers(logs).map((transfer) => ({ ...transfer, position }))

  const wishes = fc.array(
    fc.record({
      token: fc.constantFrom(1, 2),
      from: fc.integer({ min: 0, max: 3 }),
      to: fc.integer({ min: 0, max: 3 }),
      id: fc.bigInt({ min: 0n, max: 2n }),
      amount: fc.bigInt({ min: 0n, max: 5n }),
      isCut: fc.boolean(),
    }),
    { maxLength: 30 },
  )

  it('adds transfers up as a plain model does, however they come in batches', async () => {
    await fc.assert(
      fc.asyncProperty(wishes, async (wished) => {
        database = await openEmpty()
        const model = new Map<string, bigint>()
        let book = new TokenBook(true)
        let waiting: PlacedTransfer[] = []
        for (const [position, { token, from, to, id, amount: wish, isCut }] of wished.entries()) {
          const key = (holder: number, own: Hex): string => `${account(token)} ${account(holder)} ${own}`
          // Only what there is is given: a token that keeps its word.
          const has = from === 0 ? wish : (model.get(key(from, word(id))) ?? 0n)
          const amount = wish < has ? wish : has
          for (const own of ['0x', word(id)] as const) {
            if (from !== 0) model.set(key(from, own), (model.get(key(from, own)) ?? 0n) - amount)
            if (to !== 0) model.set(key(to, own), (model.get(key(to, own)) ?? 0n) + amount)
          }
          const own = { ...single(from, to, id, amount), address: account(token) }
          waiting.push(...place([own], position))
          if (!isCut) continue
          const taken = waiting
          waiting = []
          await database.write((writer) => book.apply(writer, taken))
          // A restart.
          if (position % 3 === 0) book = new TokenBook(true)
        }
        await database.write((writer) => book.apply(writer, waiting))
        const { balances, tokens } = await stored()
        await database.close()
        const held = [...model].filter(([, amount]) => amount > 0n)
        expect(balances).toEqual(new Map(held))
        for (const { address, isExact, holders, supply } of tokens) {
          const totals = held.filter(([key]) => key.startsWith(address) && key.endsWith(' 0x'))
          const sum = totals.reduce((all, [, amount]) => all + amount, 0n)
          expect({ isExact, holders, supply }).toEqual({ isExact: 1, holders: totals.length, supply: sum })
        }
      }),
      { numRuns: runs(20) },
    )
    database = await openEmpty()
  })

  it('marks a token that lies, and never has less than nothing or more than fits', async () => {
    database = await openEmpty()
    const book = new TokenBook(true)
    const most = 2n ** 256n - 1n
    const transfers = [
      ...place([erc20(0, 1, 5n), erc20(1, 2, 6n), erc20(0, 1, 1n)], 1),
      ...place([erc20(3, 4, 9n, account(0x71))], 2),
      ...place([erc20(0, 1, most, account(0x72)), erc20(0, 1, most, account(0x72))], 3),
    ]
    await database.write((writer) => book.apply(writer, transfers))
    const { balances, tokens } = await stored()
    // What adds up at the end of a transaction has not lied.
    expect(tokens.map(({ isExact, holders, supply }) => [isExact, holders, supply])).toEqual([
      [1, 1, 6n],
      [0, 1, 0n],
      [0, 1, most],
    ])
    expect([...balances.values()]).toEqual([6n, 9n, most])
  })
})

describe('nameRow', () => {
  const text = (name: string): Uint8Array => hexToBytes(encodeAbiParameters([{ type: 'string' }], [name]))
  const shown = (name: Uint8Array, decimals: Uint8Array = EMPTY_BYTES) => {
    const row = nameRow(hexToBytes(TOKEN), name, name, decimals)
    expect(row.is_asked).toBe(1)
    expect(row.symbol).toBe(row.name)
    return [row.name, row.decimals]
  }

  it.each<[string, Uint8Array, string | null]>([
    ['a string', text('Wrapped Coin'), 'Wrapped Coin'],
    ['bytes32', hexToBytes(pad(toHex('Maker'), { size: 32, dir: 'right' })), 'Maker'],
    ['nothing', EMPTY_BYTES, null],
    ['an empty string', text(''), null],
    ['control characters and turned text', text('a\u0000b\u202e\n c'), 'ab c'],
    ['a long string', text('x'.repeat(1000)), 'x'.repeat(64)],
    ['a string of more than the answer', hexToBytes(words(32n, 2n ** 255n, 0n)), null],
    ['a place outside', hexToBytes(words(2n ** 256n - 1n, 1n)), null],
  ])('shows %s', (_, answer, name) => {
    expect(shown(answer)[0]).toBe(name)
  })

  it('takes decimals that a number of 256 bits can have', () => {
    expect(shown(EMPTY_BYTES, hexToBytes(word(18n)))[1]).toBe(18)
    expect(shown(EMPTY_BYTES, hexToBytes(word(78n)))[1]).toBeNull()
    expect(shown(EMPTY_BYTES, hexToBytes('0x12'))[1]).toBeNull()
  })
})
