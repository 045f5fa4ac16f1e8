import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BlockHooks, MODULE_HOOKS } from '../../../../src/app/blockHooks.ts'
import { entryHash } from '../../../../src/chain/entryKind.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { CONSENSUS_PARAMS } from '../../../../src/modules/consensus/params.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { hexToBytes } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import { createConsensusParamsMethod } from '../../../../src/rpc/comet/consensusParams.ts'
import { createCometEventHub } from '../../../../src/rpc/comet/eventHub.ts'
import { createIndexedMethods } from '../../../../src/rpc/comet/indexed.ts'
import { createCometSocket } from '../../../../src/rpc/comet/socket.ts'
import { createCometTable } from '../../../../src/rpc/comet/table.ts'
import { COMET_VIEW_TABLE } from '../../../../src/rpc/comet/viewMethods.ts'
import { parseEventQuery } from '../../../../src/rpc/events/eventQuery.ts'
import { findTransactions } from '../../../../src/rpc/events/findTransactions.ts'
import type { RpcContext } from '../../../../src/rpc/method.ts'
import { serveViewCall } from '../../../../src/rpc/viewCall.ts'
import type { SocketSubscriptions } from '../../../../src/rpc/websocketSession.ts'
import { createViewCaches, openView } from '../../../../src/state/openView.ts'
import type { NodeView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { anyOf, signTestTransaction, testAccount } from '../../../native/signTransaction.ts'
import { createTestChain, type TestChain, WALLET, WALLET_KEY } from '../../app/testChain.ts'

const account = privateKeyToAccount(WALLET_KEY)
const receiver = testAccount(7)
const stranger = testAccount(8)

function send(sequence: number, amount: bigint, to = receiver.bech32): Uint8Array {
  return signTestTransaction({
    messages: [anyOf(MsgSend, { fromAddress: toBech32(WALLET), toAddress: to, amount: [{ denom: 'acoin', amount }] })],
    signers: [{ privateKey: hexToBytes(WALLET_KEY), sequence }],
    gasLimit: 100_000n,
  })
}

async function transfer(nonce: number, value: bigint): Promise<Uint8Array> {
  const to = `0x${Buffer.from(receiver.address).toString('hex')}` as const
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n }
  return hexToBytes(await account.signTransaction({ chainId: 76287, type: 'eip1559', to, nonce, value, ...fees }))
}

/** Governance, as far as these tests need it: other gas limits from the blocks after 2 and 5 on. */
const GAS_LIMITS: Readonly<Record<number, bigint>> = { 2: 31_000_000n, 5: 32_000_000n }

const end: BlockHooks['end'] = (world, block) => {
  const maxGas = GAS_LIMITS[block.height]
  const { block: sizes, ...others } = CONSENSUS_PARAMS.get(world.native)
  if (maxGas !== undefined) CONSENSUS_PARAMS.set(world.native, { ...others, block: { ...sizes!, maxGas } })
  return MODULE_HOOKS.end(world, block)
}

let chain: TestChain
let database: Database
let txs: readonly (readonly Uint8Array[])[]

beforeAll(async () => {
  chain = await createTestChain({}, { hooks: { ...MODULE_HOOKS, end } })
  txs = [
    [send(0, 10n), await transfer(1, 20n)],
    [],
    [send(2, 30n), send(3, 10n ** 40n), send(4, 5n, stranger.bech32)],
    // It cannot start.
    [send(99, 1n)],
  ]
  for (const raws of txs) await chain.produce(raws, { asGiven: true })
  await chain.produce()
  database = await Database.open(chain.location, { readOnly: true })
})
afterAll(async () => {
  await database.close()
  await chain.close()
})

function view(): NodeView {
  return openView(database.snapshot(), createViewCaches())
}

const hashOf = (height: number, position: number) =>
  Buffer.from(entryHash(txs[height - 1]![position]!))
    .toString('hex')
    .toUpperCase()

/** Asks as CosmJS does: JSON-RPC, with the answer of a view thread. */
async function ask(method: string, params: Readonly<Record<string, unknown>>) {
  const context = {
    view: view(),
    chain: chain.chain,
    limits: { responseBytes: 1_000_000, callTimeoutMs: 5_000 },
    now: () => Date.now(),
    execution: { yieldUntil: () => async () => undefined },
  } as unknown as RpcContext
  const log = { error: (fields: unknown) => expect.fail(JSON.stringify(fields)) }
  const table = createCometTable(
    createIndexedMethods({
      call: (_, name, args) => serveViewCall(COMET_VIEW_TABLE, context, { method: name, params: args }, log),
    }),
  )
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { result, error } = JSON.parse((await answerCometPost(table, text, { log, responseBytes: 1e6 })).json)
  return error === undefined ? result : { error }
}

const search = async (query: string, more = {}) => {
  const { txs: found, total_count, error } = await ask('tx_search', { query, ...more })
  return error ?? { total: total_count, found: found.map((tx: { hash: string }) => tx.hash) }
}

describe('tx', () => {
  it.each([
    ['a native transaction', 1, 0],
    ['an EVM transaction', 1, 1],
    ['one that failed', 3, 1],
  ])('finds %s by its hash, with a proof', async (_, height, position) => {
    const raw = txs[height - 1]![position]!
    const hash = Buffer.from(entryHash(raw))
    const found = await ask('tx', { hash: hash.toString('base64'), prove: true })
    expect(found).toMatchObject({
      hash: hash.toString('hex').toUpperCase(),
      height: String(height),
      index: position,
      tx: Buffer.from(raw).toString('base64'),
      proof: { data: Buffer.from(raw).toString('base64'), proof: { index: String(position) } },
    })
    const block = view().chain.consensusBlock(height)!
    expect(found.proof.root_hash).toBe(Buffer.from(block.header.dataHash).toString('hex').toUpperCase())
  })

  it('finds an EVM transaction by the sha256 of its bytes too', async () => {
    const hash = Buffer.from(sha256(txs[0]![1]!))
    expect(await ask('tx', { hash: hash.toString('base64') })).toMatchObject({
      hash: hashOf(1, 1),
      height: '1',
      index: 1,
    })
    expect(await search(`tx.hash='${hash.toString('hex')}'`)).toEqual({ total: '1', found: [hashOf(1, 1)] })
    expect(await search(`tx.hash='${hash.toString('hex')}' AND tx.height>1`)).toEqual({ total: '0', found: [] })
    const alike = Buffer.concat([hash.subarray(0, 31), Buffer.from([hash[31]! ^ 1])])
    expect((await ask('tx', { hash: alike.toString('base64') })).error.data).toContain('not found')
  })

  it('knows nothing of others', async () => {
    const absent = await ask('tx', { hash: Buffer.alloc(32, 1).toString('base64') })
    expect(absent.error).toMatchObject({ code: -32603, data: `tx (${'01'.repeat(32)}) not found` })
    const skipped = await ask('tx', { hash: Buffer.from(entryHash(txs[3]![0]!)).toString('base64') })
    expect(skipped.error.data).toContain('not found')
    expect((await ask('tx', {})).error.data).toContain('the hash of a transaction is needed')
  })
})

describe('tx_search', () => {
  it.each<[string, readonly (readonly [number, number])[]]>([
    [
      'tx.height=1',
      [
        [1, 0],
        [1, 1],
      ],
    ],
    [
      'tx.height>1',
      [
        [3, 0],
        [3, 1],
        [3, 2],
      ],
    ],
    ['tx.height=4', []],
    [
      `transfer.recipient='${receiver.bech32}'`,
      [
        [1, 0],
        [1, 1],
        [3, 0],
      ],
    ],
    [`transfer.recipient='${stranger.bech32}'`, [[3, 2]]],
    [`transfer.recipient='${stranger.bech32}' AND tx.height<3`, []],
    [
      `message.action='/cosmos.bank.v1beta1.MsgSend'`,
      [
        [1, 0],
        [3, 0],
        [3, 2],
      ],
    ],
    ["tm.event='Tx' AND transfer.amount='30acoin'", [[3, 0]]],
    ['delegate.validator EXISTS', []],
  ])('%s', async (query, places) => {
    expect(await search(query)).toEqual({
      total: String(places.length),
      found: places.map(([height, position]) => hashOf(height, position)),
    })
  })

  it('finds by hash in either form', async () => {
    for (const text of [hashOf(1, 1), `0x${hashOf(1, 1).toLowerCase()}`]) {
      expect((await search(`tx.hash='${text}'`)).found).toEqual([hashOf(1, 1)])
    }
    expect((await search(`tx.hash='${'0'.repeat(64)}'`)).found).toEqual([])
    expect((await search(`tx.hash='${hashOf(1, 1)}' AND tx.height=2`)).found).toEqual([])
  })

  it('gives pages in both orders', async () => {
    expect(await search('tx.height>0', { per_page: '2', page: '2', order_by: 'desc' })).toEqual({
      total: '5',
      found: [hashOf(3, 0), hashOf(1, 1)],
    })
    expect((await search('tx.height>0', { per_page: '2', page: '4' })).data).toContain('page should be within [1, 3]')
    expect((await search('tx.height>0', { order_by: 'up' })).data).toContain('order_by')
  })

  it('does not look at blocks without transactions', async () => {
    const looked: number[] = []
    const { chain: reader } = view()
    const entryResults = (height: number) => {
      looked.push(height)
      return reader.entryResults(height)
    }
    const query = parseEventQuery('tx.height>0')
    const found = await findTransactions({ ...reader, entryResults }, query, { pause: async () => undefined })
    expect(found.map(({ height }) => height)).toEqual([1, 1, 3, 3, 3])
    // Blocks 2 and 4 share out the fees of those before.
    expect(new Set(looked)).toEqual(new Set([1, 2, 3, 4]))
  })

  it('says what is wrong with a query', async () => {
    expect((await search("tx.height='")).data).toContain('failed to parse the query')
    expect((await search('')).data).toContain('failed to parse the query')
  })
})

describe('block_results and block_search', () => {
  it('shows every entry of a block', async () => {
    const results = await ask('block_results', { height: '3' })
    expect(
      results.txs_results.map(({ code, codespace }: { code: number; codespace: string }) => [codespace, code]),
    ).toEqual([
      ['', 0],
      ['sdk', 5],
      ['', 0],
    ])
    expect(results.height).toBe('3')
    expect(results.app_hash).toBe(Buffer.from(view().chain.hash(3)!).toString('base64'))
    expect(results.validator_updates).toBeNull()
    const skipped = await ask('block_results', { height: '4' })
    expect(skipped.txs_results).toMatchObject([{ code: 32, codespace: 'sdk', gas_used: '0', events: [] }])
    expect((await ask('block_results', { height: '2' })).txs_results).toBeNull()
    expect((await ask('block_results', { height: '99' })).error.data).toContain('current blockchain height')
  })

  it.each([
    [1, null],
    [2, '31000000'],
    [3, null],
    [5, '32000000'],
  ])('shows what block %s changed of the consensus parameters', async (height, maxGas) => {
    const { consensus_param_updates } = await ask('block_results', { height: String(height) })
    expect(consensus_param_updates).toEqual(
      maxGas && {
        block: { max_bytes: '2000000', max_gas: maxGas },
        evidence: { max_age_num_blocks: '4536000', max_age_duration: '1814400000000000', max_bytes: '1048576' },
        validator: { pub_key_types: ['ed25519'] },
        version: {},
        abci: {},
      },
    )
  })

  it.each([
    [2, '30000000'],
    [3, '31000000'],
    [5, '31000000'],
    [6, '32000000'],
  ])('has the parameters of block %s in consensus_params', async (height, maxGas) => {
    const method = createConsensusParamsMethod(
      chain.chain,
      (read) => read(view()),
      () => false,
    )
    expect(await method.run([BigInt(height)])).toMatchObject({ consensus_params: { block: { max_gas: maxGas } } })
  })

  it('shows an EVM transfer as bank events', async () => {
    const { txs_results } = await ask('block_results', { height: '1' })
    const events: readonly { type: string; attributes: readonly { key: string; value: string }[] }[] =
      txs_results[1].events
    const transfers = events.filter(({ type }) => type === 'transfer').map(({ attributes }) => attributes)
    expect(transfers).toContainEqual(
      expect.arrayContaining([
        { key: 'recipient', value: receiver.bech32, index: true },
        { key: 'amount', value: '20acoin', index: true },
      ]),
    )
  })

  it.each<[string, object, string, readonly string[]]>([
    ['block.height>=2 AND block.height<4', {}, '2', ['3', '2']],
    ["tm.event='NewBlock' AND block.height>0", { per_page: '2', page: '2' }, '5', ['3', '2']],
    ['block.height EXISTS', { per_page: '2', order_by: 'asc' }, '5', ['1', '2']],
    ["block.height='3'", {}, '1', ['3']],
    ["block.height CONTAINS '3'", {}, '1', ['3']],
    ["tm.event='Tx' AND block.height>0", {}, '0', []],
    ['block.height>5', {}, '0', []],
    // Fees of the block before are shared out.
    ['coin_spent.spender EXISTS AND block.height>2', {}, '1', ['4']],
  ])('finds blocks: %s', async (query, more, total, heights) => {
    const { blocks, total_count } = await ask('block_search', { query, ...more })
    expect(total_count).toBe(total)
    expect(blocks.map(({ block }: { block: { header: { height: string } } }) => block.header.height)).toEqual(heights)
  })
})

describe('subscriptions', () => {
  /** A socket whose notifications are gathered, and the heads that it hears of. */
  function createSocket(maxSubscriptions = 5) {
    let announce: (height: number) => void = () => undefined
    const hub = createCometEventHub({
      onHead: (listener) => {
        announce = listener
      },
      headHeight: 0,
      lease: () => ({ context: { view: view(), chain: chain.chain }, release: () => undefined }),
      log: { error: (fields) => expect.fail(String(fields['error'])) },
    })
    const log = { error: () => undefined }
    const socket = createCometSocket({ table: createCometTable([]), hub, log, responseBytes: 1e6, maxSubscriptions })
    const ends = new Map<string, () => void>()
    const heard: { id: unknown; result: { query: string; data: { type: string; value: unknown }; events: object } }[] =
      []
    const subscriptions: SocketSubscriptions = {
      get count() {
        return ends.size
      },
      has: (id) => ends.has(id),
      start: (id, begin) =>
        void ends.set(
          id,
          begin((text) => void heard.push(JSON.parse(text))),
        ),
      end: (id) => {
        ends.get(id)?.()
        return ends.delete(id)
      },
      endAll: () => {
        for (const end of ends.values()) end()
        ends.clear()
      },
    }
    return {
      heard,
      publish: async (height: number) => {
        announce(height)
        await new Promise((resolve) => setTimeout(resolve, 50))
      },
      ask: async (method: string, query?: string) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id: `${method}-1`, method, params: { query } })
        const { result, error } = JSON.parse((await socket.answer(text, subscriptions))!)
        return error ?? result
      },
    }
  }

  it('tell of every block once and in order, also when several came at once', async () => {
    const socket = createSocket()
    expect(await socket.ask('subscribe', "tm.event='NewBlockHeader'")).toEqual({})
    await socket.publish(3)
    await socket.publish(3)
    await socket.publish(5)
    const heights = socket.heard.map(
      ({ result }) => (result.data.value as { header: { height: string } }).header.height,
    )
    expect(heights).toEqual(['1', '2', '3', '4', '5'])
    expect(socket.heard[0]).toMatchObject({
      id: 'subscribe-1',
      result: {
        query: "tm.event='NewBlockHeader'",
        data: { type: 'tendermint/event/NewBlockHeader' },
        events: { 'tm.event': ['NewBlockHeader'] },
      },
    })
  })

  it('tell of transactions that meet the query', async () => {
    const socket = createSocket()
    await socket.ask('subscribe', `tm.event='Tx' AND transfer.recipient='${receiver.bech32}'`)
    await socket.publish(5)
    expect(socket.heard.map(({ result }) => (result.events as Record<string, unknown>)['tx.hash'])).toEqual([
      [hashOf(1, 0)],
      [hashOf(1, 1)],
      [hashOf(3, 0)],
    ])
    expect(socket.heard[1]!.result.data.value).toMatchObject({
      TxResult: { height: '1', index: 1, result: { code: 0 } },
    })
  })

  it('end, and are refused twice, too often and for nonsense', async () => {
    const socket = createSocket(2)
    const query = "tm.event='NewBlock'"
    await socket.ask('subscribe', query)
    expect((await socket.ask('subscribe', query)).data).toBe('already subscribed')
    expect((await socket.ask('subscribe', 'nonsense')).data).toContain('failed to parse query')
    expect((await socket.ask('subscribe')).message).toBe('Invalid params')
    await socket.ask('subscribe', "tm.event='Tx'")
    expect((await socket.ask('subscribe', "tm.event='NewBlockEvents'")).data).toContain(
      'max_subscriptions_per_client 2',
    )
    expect(await socket.ask('unsubscribe', query)).toEqual({})
    expect((await socket.ask('unsubscribe', query)).data).toBe('subscription not found')
    expect(await socket.ask('unsubscribe_all')).toEqual({})
    expect((await socket.ask('unsubscribe_all')).data).toBe('subscription not found')
    await socket.publish(5)
    expect(socket.heard).toEqual([])
  })

  it('begin with the block after they began', async () => {
    const socket = createSocket()
    await socket.publish(3)
    await socket.ask('subscribe', "tm.event='NewBlock'")
    await socket.publish(4)
    expect(socket.heard).toHaveLength(1)
    const { value } = socket.heard[0]!.result.data as { value: { block: { header: { height: string } } } }
    expect(value.block.header.height).toBe('4')
    expect(value).toMatchObject({ result_finalize_block: { tx_results: [{ code: 32 }] } })
  })
})
