import { Tx } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entryHash } from '../../../../src/chain/block/entries.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { answerCometPost } from '../../../../src/rpc/comet/answer.ts'
import { createConsensusParamsMethod } from '../../../../src/rpc/comet/consensus.ts'
import { createCometTable } from '../../../../src/rpc/comet/method.ts'
import { COMET_VIEW_TABLE, createResultMethods } from '../../../../src/rpc/comet/results.ts'
import { parseEventQuery } from '../../../../src/rpc/events/eventQuery.ts'
import { findTransactions } from '../../../../src/rpc/events/search.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../../src/rpc/jsonrpc/method.ts'
import { serveViewCall } from '../../../../src/rpc/jsonrpc/runMethod.ts'
import { createIndexedChain, type IndexedChain, receiver, stranger } from '../../../support/rpc/comet/indexedChain.ts'

let indexed: IndexedChain
/** how often view threads let others run */
let pauses = 0

beforeAll(async () => {
  indexed = await createIndexedChain()
})
afterAll(() => indexed.close())

/** Asks as CosmJS does: JSON-RPC, with the answer of a view thread. */
async function ask(method: string, params: Readonly<Record<string, unknown>>) {
  const context = {
    view: indexed.view(),
    chain: indexed.chain,
    limits: { responseBytes: 1_000_000, callTimeoutMs: 5_000 },
    monotonicMs: () => performance.now(),
    execution: { yieldUntil: () => async () => void pauses++ },
  } as unknown as RpcContext
  const log = { error: (fields: unknown) => expect.fail(JSON.stringify(fields)) }
  const table = createCometTable(
    createResultMethods((read) => read(indexed.view().chain), {
      call: (_, name, args) => serveViewCall(COMET_VIEW_TABLE, context, { method: name, params: args }, log),
    }),
  )
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const { result, error } = JSON.parse(
    (await answerCometPost(table, text, OWN_SCOPE, { log, responseBytes: 1e6 })).json,
  )
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
    const raw = indexed.txs[height - 1]![position]!
    const hash = Buffer.from(entryHash(raw))
    const found = await ask('tx', { hash: hash.toString('base64'), prove: true })
    expect(found).toMatchObject({
      hash: hash.toString('hex').toUpperCase(),
      height: String(height),
      index: position,
      proof: { data: Buffer.from(raw).toString('base64'), proof: { index: String(position) } },
    })
    const block = indexed.view().chain.consensusBlock(height)!
    expect(found.proof.root_hash).toBe(Buffer.from(block.header.dataHash).toString('hex').toUpperCase())
  })

  it('finds an EVM transaction by the sha256 of its bytes too', async () => {
    const hash = Buffer.from(sha256(indexed.txs[0]![1]!))
    expect(await ask('tx', { hash: hash.toString('base64') })).toMatchObject({
      hash: indexed.hashOf(1, 1),
      height: '1',
      index: 1,
    })
    expect(await search(`tx.hash='${hash.toString('hex')}'`)).toEqual({ total: '1', found: [indexed.hashOf(1, 1)] })
    expect(await search(`tx.hash='${hash.toString('hex')}' AND tx.height>1`)).toEqual({ total: '0', found: [] })
    const alike = Buffer.concat([hash.subarray(0, 31), Buffer.from([hash[31]! ^ 1])])
    expect((await ask('tx', { hash: alike.toString('base64') })).error.data).toContain('not found')
  })

  it.each([false, true])('shows an EVM transaction as Cosmos clients decode it, with prove: %s', async (prove) => {
    const raw = indexed.txs[0]![1]!
    const { tx, hash } = await ask('tx', { hash: Buffer.from(entryHash(raw)).toString('base64'), prove })
    expect(hash).toBe(indexed.hashOf(1, 1))
    const { body } = Tx.decode(Buffer.from(tx, 'base64'))
    expect(body?.messages.map(({ typeUrl }) => typeUrl)).toEqual(['/cosmos.evm.vm.v1.MsgEthereumTx'])
    expect(Buffer.from(body!.messages[0]!.value).includes(Buffer.from(raw))).toBe(true)
    const found = await ask('tx_search', { query: 'tx.height=1', prove })
    expect(found.txs).toHaveLength(2)
    for (const each of found.txs) Tx.decode(Buffer.from(each.tx, 'base64'))
  })

  it('shows a native transaction as the block has it', async () => {
    const raw = indexed.txs[0]![0]!
    for (const prove of [false, true]) {
      const { tx } = await ask('tx', { hash: Buffer.from(entryHash(raw)).toString('base64'), prove })
      expect(tx).toBe(Buffer.from(raw).toString('base64'))
    }
  })

  it('knows nothing of others', async () => {
    const absent = await ask('tx', { hash: Buffer.alloc(32, 1).toString('base64') })
    expect(absent.error).toMatchObject({ code: -32603, data: `tx (${'01'.repeat(32)}) not found` })
    const skipped = await ask('tx', { hash: Buffer.from(entryHash(indexed.txs[3]![0]!)).toString('base64') })
    expect(skipped.error.data).toContain('not found')
    for (const params of [{}, { hash: '' }]) {
      expect((await ask('tx', params)).error.data).toBe('transaction hash cannot be empty')
    }
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
      found: places.map(([height, position]) => indexed.hashOf(height, position)),
    })
  })

  it('finds by hash in either form', async () => {
    for (const text of [indexed.hashOf(1, 1), `0x${indexed.hashOf(1, 1).toLowerCase()}`]) {
      expect((await search(`tx.hash='${text}'`)).found).toEqual([indexed.hashOf(1, 1)])
    }
    expect((await search(`tx.hash='${'0'.repeat(64)}'`)).found).toEqual([])
    expect((await search(`tx.hash='${indexed.hashOf(1, 1)}' AND tx.height=2`)).found).toEqual([])
  })

  it('gives pages in both orders', async () => {
    expect(await search('tx.height>0', { per_page: '2', page: '2', order_by: 'desc' })).toEqual({
      total: '5',
      found: [indexed.hashOf(3, 0), indexed.hashOf(1, 1)],
    })
    expect((await search('tx.height>0', { per_page: '2', page: '4' })).data).toContain('page should be within [1, 3]')
    expect((await search('tx.height>0', { order_by: 'up' })).data).toContain('order_by')
  })

  it('does not look at blocks without transactions', async () => {
    const looked: number[] = []
    const { chain: reader } = indexed.view()
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
  it.each([
    ['tx_search', 'tx.height >= 1', 'txs'],
    ['block_search', 'block.height >= 1', 'blocks'],
  ])('%s lets others run between its results', async (method, query, list) => {
    pauses = 0
    const { [list]: found } = await ask(method, { query })
    expect(found.length).toBeGreaterThan(2)
    expect(pauses).toBeGreaterThanOrEqual(found.length)
  })

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
    expect(results.app_hash).toBe(Buffer.from(indexed.view().chain.hash(3)!).toString('base64'))
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
    [2, '100000000'],
    [3, '31000000'],
    [5, '31000000'],
    [6, '32000000'],
  ])('has the parameters of block %s in consensus_params', async (height, maxGas) => {
    const method = createConsensusParamsMethod(
      indexed.chain,
      (read) => read(indexed.view()),
      () => false,
      { call: () => Promise.reject(new Error('no block is old')) },
    )
    expect(await method.run([BigInt(height)], OWN_SCOPE)).toMatchObject({
      consensus_params: { block: { max_gas: maxGas } },
    })
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
