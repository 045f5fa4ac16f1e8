import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OWN_SCOPE } from '../../../../src/rpc/callScope.ts'
import { createCometEventHub } from '../../../../src/rpc/comet/eventHub.ts'
import { createCometTable } from '../../../../src/rpc/comet/method.ts'
import { createCometSocket } from '../../../../src/rpc/comet/socket.ts'
import type { SocketSubscriptions } from '../../../../src/rpc/websocket.ts'
import { createIndexedChain, type IndexedChain, receiver } from './indexedChain.ts'

let indexed: IndexedChain

beforeAll(async () => {
  indexed = await createIndexedChain()
})
afterAll(() => indexed.close())

describe('subscriptions', () => {
  /** A socket whose notifications are gathered, and the heads that it hears of. */
  function createSocket(maxSubscriptions = 5) {
    let announce: (height: number) => void = () => undefined
    const hub = createCometEventHub({
      onHead: (listener) => {
        announce = listener
      },
      headHeight: 0,
      lease: () => ({ context: { view: indexed.view(), chain: indexed.chain }, release: () => undefined }),
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
      start: (id, begin) => {
        ends.set(
          id,
          begin((text) => void heard.push(JSON.parse(text))),
        )
        return true
      },
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
        // All that it tells in one turn.
        await nextTurn()
      },
      ask: async (method: string, query?: unknown) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id: `${method}-1`, method, params: { query } })
        const { result, error } = JSON.parse((await socket.answer(text, OWN_SCOPE, subscriptions))!)
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
      [indexed.hashOf(1, 0)],
      [indexed.hashOf(1, 1)],
      [indexed.hashOf(3, 0)],
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
    expect((await socket.ask('subscribe')).data).toContain('failed to parse query')
    expect((await socket.ask('subscribe', 5)).message).toBe('Invalid params')
    expect((await socket.ask('subscribe', query.replace('=', '  = '))).data).toBe('already subscribed')
    await socket.ask('subscribe', "tm.event='Tx'")
    expect((await socket.ask('subscribe', "tm.event='NewBlockEvents'")).data).toContain(
      'max_subscriptions_per_client 2',
    )
    expect(await socket.ask('unsubscribe', "tm.event = 'NewBlock'")).toEqual({})
    expect((await socket.ask('unsubscribe', query)).data).toBe('subscription not found')
    expect(await socket.ask('unsubscribe_all')).toEqual({})
    expect((await socket.ask('unsubscribe_all')).data).toBe('subscription not found')
    await socket.publish(5)
    expect(socket.heard).toEqual([])
  })

  it('have many conditions, within the length and with the texts of CometBFT', async () => {
    const socket = createSocket()
    const conditions = ["tm.event='Tx'", ...Array(49).fill('a.b=5')]
    expect(await socket.ask('subscribe', conditions.join(' AND '))).toEqual({})
    const tooLong = conditions.map((condition) => `${condition} AND tx.height>0`).join(' AND ')
    expect(await socket.ask('subscribe', tooLong)).toEqual({
      code: -32603,
      message: 'Internal error',
      data: 'maximum query length exceeded',
    })
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

  it('leave out of a block what it does not have, as Go does', async () => {
    const socket = createSocket()
    await socket.ask('subscribe', "tm.event='NewBlock'")
    await socket.publish(5)
    const results = socket.heard.map(
      ({ result }) => (result.data.value as { result_finalize_block: object }).result_finalize_block,
    )
    expect(results.map((each) => Object.keys(each))).toEqual([
      ['tx_results', 'validator_updates', 'app_hash'],
      // Fees of the block before are shared out.
      ['events', 'validator_updates', 'consensus_param_updates', 'app_hash'],
      ['tx_results', 'validator_updates', 'app_hash'],
      ['events', 'tx_results', 'validator_updates', 'app_hash'],
      ['validator_updates', 'consensus_param_updates', 'app_hash'],
    ])
    expect(results[1]).toMatchObject({ validator_updates: [] })
  })
})
