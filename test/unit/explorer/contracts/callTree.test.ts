import fc from 'fast-check'
import { pad, toHex } from 'viem'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { packCalls, readCallTree, unpackCalls } from '../../../../explorer/contracts/callTree.ts'
import { applyContracts } from '../../../../explorer/contracts/contractBook.ts'
import { addEvmRows } from '../../../../explorer/contracts/evmRows.ts'
import { type BlockTraces, fetchTraces } from '../../../../explorer/contracts/fetchTraces.ts'
import { callsOf, findContract, listInternalCalls } from '../../../../explorer/contracts/queries.ts'
import { readStateChanges } from '../../../../explorer/contracts/stateChanges.ts'
import { TRACE_STATES } from '../../../../explorer/contracts/tables.ts'
import { bytesToAmount } from '../../../../explorer/database/amount.ts'
import type { IndexDatabase } from '../../../../explorer/database/indexDatabase.ts'
import { migrate } from '../../../../explorer/database/migrate.ts'
import { transactionPosition } from '../../../../explorer/database/position.ts'
import { RowSet } from '../../../../explorer/database/rowSet.ts'
import { openSqlite } from '../../../../explorer/database/sqlite.ts'
import type { EthereumTransaction, Hex, Receipt } from '../../../../explorer/node/answers.ts'
import { NodeError, NodeRefusal } from '../../../../explorer/node/nodeClient.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { runs } from '../../../propertyRuns.ts'

const account = (number: number): Hex => pad(toHex(number), { size: 20 })

interface Frame {
  readonly type: string
  readonly from: Hex
  readonly to?: Hex
  readonly value?: Hex
  readonly gas: Hex
  readonly gasUsed: Hex
  readonly input: string
  readonly output?: string
  readonly error?: string
  readonly calls?: readonly Frame[]
}

const frame = (type: string, from: number, to: number, value = 0, more: Partial<Frame> = {}): Frame => ({
  type,
  from: account(from),
  to: account(to),
  ...(type === 'STATICCALL' ? {} : { value: toHex(value) }),
  gas: '0x1000',
  gasUsed: '0x10',
  input: '0x',
  ...more,
})

describe('readCallTree', () => {
  it('reads callers before those that they call, and what a failure undid', () => {
    const inner = frame('CALL', 3, 4, 5)
    const tree = readCallTree(
      frame('CALL', 1, 2, 9, {
        input: '0x12345678',
        calls: [
          frame('CALL', 2, 3, 7, { error: 'execution reverted', output: '0x08c379a0', calls: [inner] }),
          frame('DELEGATECALL', 2, 4, 9),
          frame('STATICCALL', 2, 5),
        ],
      }),
    )!
    const shown = tree.calls.map(({ ordinal, depth, value, isEffective, error }) => [
      ordinal,
      depth,
      Number(value),
      isEffective,
      error,
    ])
    expect(shown).toEqual([
      [0, 0, 9, true, null],
      [1, 1, 7, false, 'execution reverted'],
      [2, 2, 5, false, null],
      // It runs in the account of its caller: nothing moves.
      [3, 1, 0, true, null],
      [4, 1, 0, true, null],
    ])
    expect(tree).toMatchObject({ count: 5, isCut: false })
    expect(tree.calls[0]).toMatchObject({ input: '0x', inputSize: 4 })
    expect(unpackCalls(packCalls(tree.calls))).toEqual(tree.calls)
  })

  it('keeps 10,000 of 100,000 calls, all that move coins, and little of their data', () => {
    const plain = frame('CALL', 2, 3, 0, { input: `0x${'ab'.repeat(5_000)}` })
    const calls = Array.from({ length: 100_000 }, (_, index) => (index === 99_000 ? frame('CALL', 2, 3, 1) : plain))
    const tree = readCallTree(frame('CALL', 1, 2, 0, { calls }))!
    expect(tree).toMatchObject({ count: 100_001, isCut: true })
    expect(tree.calls.length).toBe(10_001)
    expect(tree.calls.at(-1)).toMatchObject({ ordinal: 99_001, value: 1n })
    expect(tree.calls[1]!.input.length).toBe(2 + 2 * 2_048)
    expect(tree.calls[9_000]).toMatchObject({ input: '0xabababab', inputSize: 5_000 })
    expect(packCalls(tree.calls).length).toBeLessThan(400_000)
  })

  it('reads the deepest tree that the EVM makes, and none that is deeper', () => {
    const nested = (depth: number): Frame => {
      let own = frame('CALL', 1, 2)
      for (let at = 0; at < depth; at++) own = frame('CALL', 1, 2, 0, { calls: [own] })
      return own
    }
    expect(readCallTree(nested(1_024))?.count).toBe(1_025)
    expect(readCallTree(nested(1_025))).toBeUndefined()
  })

  const good = frame('CALL', 1, 2, 3)
  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'CALL'],
    ['a list', [good]],
    ['no type', { ...good, type: undefined }],
    ['a type of another kind', { ...good, type: 'constructor' }],
    ['a sender that is too short', { ...good, from: '0x12' }],
    ['no recipient of a call', { ...good, to: undefined }],
    ['a negative value', { ...good, value: '-0x1' }],
    ['a value of 257 bits', { ...good, value: `0x1${'0'.repeat(64)}` }],
    ['gas that is no number', { ...good, gas: {} }],
    ['gas beyond 2^53', { ...good, gas: '0xffffffffffffff' }],
    ['half a byte of data', { ...good, input: '0x1' }],
    ['an error that is no text', { ...good, error: 5 }],
    ['calls that are no list', { ...good, calls: {} }],
    ['a call that is null', { ...good, calls: [null] }],
    ['a wrong call inside', { ...good, calls: [{ ...good, type: 'JUMP' }] }],
  ])('takes %s for no trace', (_, trace) => {
    expect(readCallTree(trace)).toBeUndefined()
  })

  it('reads any JSON without an error, and errors as texts that PostgreSQL takes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (json, error) => {
        expect(readCallTree({ ...good, calls: [json] })).toBeUndefined()
        const [call] = readCallTree({ ...good, error })!.calls
        expect(call!.error).toMatch(/^[^\0]{0,200}$/s)
        expect(call!.error!.isWellFormed()).toBe(true)
      }),
      { numRuns: runs(50) },
    )
  })
})

describe('rows of a trace', () => {
  let database: IndexDatabase
  beforeEach(async () => {
    database = openSqlite(':memory:')
    await migrate(database)
  })
  afterEach(() => database.close())

  const transaction = { from: account(1), to: account(2) } as const
  const receipt = { logs: [], status: '0x1', contractAddress: null } as const

  async function store(position: number, trace: Frame, own: { to: Hex | null } = transaction): Promise<void> {
    await database.write(async (writer) => {
      const tree = readCallTree(trace)!
      const rows = new RowSet()
      const created = { ...receipt, contractAddress: own.to === null ? account(2) : null }
      const changes = addEvmRows(rows.add, position, { ...transaction, ...own }, created, {
        state: TRACE_STATES.kept,
        tree,
      })
      await rows.insertInto(writer)
      const hash = hexToBytes(pad(toHex(position), { size: 32 }))
      const none = Uint8Array.of(0)
      const gas = { gas_used: 0, gas_limit: 0 }
      const sides = { sender: hexToBytes(account(1)), recipient: null, value: none, fee: none }
      await writer.insert('tx', [
        { position, hash, kind: 0, is_ok: 1, ...sides, ...gas, nonce: 0, method: null, detail: '{}' },
      ])
      await applyContracts(writer, changes)
    })
  }

  it('move the value that the tree moves, whatever it is', async () => {
    // A world of five accounts, of which each call moves coins, fails or not, and makes others.
    const tree: fc.Memo<Frame> = fc.memo((depth) =>
      fc
        .record({
          type: fc.constantFrom('CALL', 'CALL', 'CREATE', 'SELFDESTRUCT', 'DELEGATECALL', 'STATICCALL'),
          from: fc.nat(4),
          to: fc.nat(4),
          value: fc.nat(1_000),
          fails: fc.boolean(),
          calls: depth > 1 ? fc.array(tree(depth - 1), { maxLength: 3 }) : fc.constant([]),
        })
        .map(({ type, from, to, value, fails, calls }) =>
          frame(type, from, to, value, { calls, ...(fails ? { error: 'out of gas' } : {}) }),
        ),
    )
    const expected = (own: Frame, isTop: boolean, sums: Map<string, number>): Map<string, number> => {
      if (own.error !== undefined) return sums
      if (!isTop && own.type !== 'DELEGATECALL') {
        const value = Number(own.value ?? 0)
        sums.set(own.from, (sums.get(own.from) ?? 0) - value)
        sums.set(own.to!, (sums.get(own.to!) ?? 0) + value)
      }
      for (const call of own.calls ?? []) expected(call, false, sums)
      return sums
    }
    const sides = (from: string, to: string, value: number): [string, number][] => [
      [from, -value],
      [to, value],
    ]
    const moved = (changes: readonly [string, number][]) => {
      const sums = new Map<string, number>()
      for (const [name, change] of changes) sums.set(name.toLowerCase(), (sums.get(name.toLowerCase()) ?? 0) + change)
      return new Map([...sums].filter(([, sum]) => sum !== 0))
    }
    let height = 1
    await fc.assert(
      fc.asyncProperty(tree(4), async (trace) => {
        const position = transactionPosition(height++, 0)
        await store(position, trace)
        const rows = await database.queries
          .selectFrom('internal_call')
          .selectAll()
          .where('position', '=', position)
          .where('is_ok', '=', 1)
          .execute()
        const { items } = await callsOf(database.queries, position, { limit: 1_000 })
        const inTree = items.filter(({ isSuccessful, ordinal }) => isSuccessful && ordinal > 0)
        const wanted = moved([...expected(trace, true, new Map())])
        expect(moved(inTree.flatMap(({ from, to, value }) => sides(from, to!, Number(value))))).toEqual(wanted)
        expect(
          moved(
            rows.flatMap(({ sender, recipient, value }) =>
              sides(bytesToHex(sender), bytesToHex(recipient!), Number(bytesToAmount(value))),
            ),
          ),
        ).toEqual(wanted)
      }),
      { numRuns: runs(30) },
    )
  })

  it('tell contracts by their newest creation', async () => {
    const creation = frame('CREATE2', 2, 7, 1)
    const destruction = frame('SELFDESTRUCT', 7, 1, 1)
    const find = async () => findContract(database.queries, hexToBytes(account(7)))
    await store(transactionPosition(1, 0), frame('CALL', 1, 2, 0, { calls: [creation, destruction] }))
    expect(await find()).toMatchObject({ way: 'create2', isDeleted: true, selfDestruct: { height: 1 } })
    await store(transactionPosition(2, 0), frame('CALL', 1, 2, 0, { calls: [creation] }))
    expect(await find()).toMatchObject({ created: { height: 2 }, isDeleted: false, selfDestruct: null })
    await store(transactionPosition(3, 0), frame('CALL', 1, 2, 0, { calls: [destruction] }))
    expect(await find()).toMatchObject({ created: { height: 2 }, isDeleted: false, selfDestruct: { height: 3 } })
    // Creations that failed, alone or with the call around them, are none.
    const failed = { ...frame('CREATE', 2, 8, 1, { error: 'out of gas' }), to: undefined } as unknown as Frame
    const undone = frame('CALL', 2, 3, 0, { error: 'execution reverted', calls: [frame('CREATE', 3, 9, 1)] })
    await store(transactionPosition(4, 0), frame('CALL', 1, 2, 0, { calls: [failed, undone] }))
    expect(await findContract(database.queries, hexToBytes(account(9)))).toBeUndefined()
    const { items } = await listInternalCalls(database.queries, hexToBytes(account(3)), { limit: 10 })
    expect(items).toMatchObject([{ kind: 'create', isSuccessful: false }])
    await store(transactionPosition(5, 0), frame('CREATE', 1, 2), { to: null })
    expect(await findContract(database.queries, hexToBytes(account(2)))).toMatchObject({ way: 'transaction' })
  })
})

describe('fetchTraces', () => {
  const hash = (number: number): Hex => pad(toHex(number), { size: 32 })
  const sent = (number: number, input: Hex = '0x12345678') =>
    ({ hash: hash(number), from: account(1), to: account(2), input }) as EthereumTransaction
  const block = (height: number, ...transactions: EthereumTransaction[]) => ({
    height,
    ethereum: { transactions },
    receipts: transactions.map(() => ({ gasUsed: '0x5208' }) as unknown as Receipt),
  })
  const traced = (number: number) => ({ txHash: hash(number), result: frame('CALL', 1, 2) })

  /** @param answer what the node answers, or throws */
  async function states(
    blocks: ReturnType<typeof block>[],
    answer: (method: string, of: string) => unknown,
  ): Promise<{ asked: string[]; states: (readonly (number | undefined)[] | undefined)[] }> {
    const asked: string[] = []
    const traces = await fetchTraces(
      {
        ethereum: async ([call]) => {
          const [of] = call!.params as readonly [string]
          asked.push(`${call!.method.slice('debug_trace'.length)} ${Number(of)}`)
          return [answer(call!.method, of)]
        },
      },
      blocks,
    )
    const view = (own: BlockTraces | undefined) => own?.map((trace) => trace?.state)
    return { asked, states: blocks.map(({ height }) => view(traces.get(height))) }
  }
  const refuse = (code: number, message: string) => () => {
    throw new NodeRefusal('debug_traceBlockByNumber', code, message)
  }
  const { kept, notKept, refused, unsupported } = TRACE_STATES

  it('asks once a block, and not for one without code', async () => {
    const blocks = [block(1, sent(1, '0x')), block(2, sent(2, '0x'), sent(3))]
    expect(await states(blocks, () => [traced(2), traced(3)])).toEqual({
      asked: ['BlockByNumber 2'],
      states: [undefined, [undefined, kept]],
    })
  })

  it('marks what is below the state history, asking for the newest such block alone', async () => {
    const blocks = [block(1, sent(1)), block(2, sent(2)), block(3, sent(3))]
    const message = 'historical state of block 1 is not available: the oldest block with state is 2'
    const answer = (_: string, of: string) => (of === '0x3' ? [traced(3)] : refuse(-32_000, message)())
    expect(await states(blocks, answer)).toEqual({
      asked: ['BlockByNumber 3', 'BlockByNumber 2'],
      states: [[notKept], [notKept], [kept]],
    })
  })

  it('marks all of a node without debug methods', async () => {
    const answer = refuse(-32_601, 'the method debug_traceBlockByNumber does not exist/is not available')
    const { states: found } = await states([block(1, sent(1)), block(2, sent(2))], answer)
    expect(found).toEqual([[unsupported], [unsupported]])
  })

  it('asks for transactions alone when a block is too long', async () => {
    const answer = (method: string, of: string) =>
      method === 'debug_traceTransaction' && of === hash(2)
        ? frame('CALL', 1, 2)
        : refuse(-32_003, 'response too large')()
    expect((await states([block(1, sent(1), sent(2), sent(3, '0x'))], answer)).states).toEqual([
      [refused, kept, undefined],
    ])
  })

  it.each<[string, unknown]>([
    ['nothing', null],
    ['another transaction', [traced(9)]],
    ['a trace that is none', [{ txHash: hash(1), result: { type: 5 } }]],
    ['too few', []],
  ])('goes on without calls when the node answers with %s', async (_, answer) => {
    expect((await states([block(1, sent(1))], () => answer)).states).toEqual([[refused]])
  })

  it('waits for a node that is away or has too many requests', async () => {
    const away = () => {
      throw new NodeError('cannot be reached')
    }
    for (const answer of [away, refuse(-32_005, 'too many requests: try again in 1 s')]) {
      await expect(states([block(1, sent(1))], answer)).rejects.toThrow(NodeError)
    }
  })
})

describe('readStateChanges', () => {
  const word = (value: number): Hex => pad(toHex(value), { size: 32 })

  it('tells what was before and after', () => {
    const pre = {
      [account(1)]: { balance: '0x5', nonce: 1, code: '0x0102', storage: { [word(1)]: word(7) } },
      [account(2)]: { balance: '0x9' },
    }
    const post = {
      [account(1)]: { balance: '0x6', storage: { [word(2)]: word(8) } },
      [account(3)]: { balance: '0x1', code: '0x01' },
    }
    expect(readStateChanges({ pre, post })).toMatchObject({
      state: 'kept',
      accounts: [
        {
          balance: { before: '5', after: '6' },
          nonce: null,
          codeSize: null,
          isDeleted: false,
          storage: [
            { slot: word(1), before: word(7), after: word(0) },
            { slot: word(2), before: word(0), after: word(8) },
          ],
        },
        { balance: { before: '9', after: '0' }, isDeleted: true },
        { balance: { before: '0', after: '1' }, codeSize: { before: 0, after: 1 } },
      ],
    })
  })

  it('cuts what is too long', () => {
    const storage = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [word(index), word(1)]))
    const post = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [account(index), { storage }]))
    const { state, accounts } = readStateChanges({ pre: {}, post })!
    expect([state, accounts.length, accounts.flatMap((own) => own.storage).length]).toEqual(['cut', 200, 300])
  })

  it.each([
    undefined,
    null,
    [],
    { pre: {} },
    { pre: {}, post: { x: {} } },
    { pre: {}, post: { [account(1)]: null } },
    { pre: {}, post: { [account(1)]: { balance: '-1' } } },
    { pre: {}, post: { [account(1)]: { storage: { x: word(1) } } } },
    { pre: { [account(1)]: { code: 'x' } }, post: {} },
  ])('takes %j for no answer', (answer) => {
    expect(readStateChanges(answer)).toBeUndefined()
  })
})
