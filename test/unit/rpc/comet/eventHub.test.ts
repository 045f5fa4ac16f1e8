import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NIL_BLOCK_ID, SIGNED_MESSAGE_TYPES } from '../../../../src/chain/comet/types.ts'
import type { RoundEvent } from '../../../../src/consensus/roundEvents.ts'
import { STEPS } from '../../../../src/consensus/roundStateView.ts'
import type { BlockEventsContext } from '../../../../src/rpc/comet/blockEvents.ts'
import { type CometEventHub, createCometEventHub } from '../../../../src/rpc/comet/eventHub.ts'
import { createCometTable } from '../../../../src/rpc/comet/method.ts'
import { createCometSocket } from '../../../../src/rpc/comet/socket.ts'
import { parseEventQuery } from '../../../../src/rpc/events/eventQuery.ts'
import { OWN_SCOPE } from '../../../../src/rpc/jsonrpc/callScope.ts'
import { answerString } from '../../../../src/rpc/jsonrpc/resultText.ts'
import { createClientBudget } from '../../../../src/rpc/transport/clientBudget.ts'
import type { NotificationEnd, SocketSubscriptions } from '../../../../src/rpc/transport/socketProtocol.ts'
import { createIndexedChain, type IndexedChain, receiver } from '../../../support/rpc/comet/indexedChain.ts'

let indexed: IndexedChain

beforeAll(async () => {
  indexed = await createIndexedChain()
})
afterAll(() => indexed.close())

/** A hub, the function that announces a head to it, and how often it read of the chain what it tells. */
function createHub({
  memoryBytes = 1e6,
  workPerBlock,
  workPerRound,
}: {
  memoryBytes?: number
  workPerBlock?: number
  workPerRound?: number
} = {}) {
  let watchers = 0
  let hear: ((events: readonly RoundEvent[]) => void) | undefined
  let listen: ((height: number) => void) | undefined
  let head = 0
  const reads = new Map<PropertyKey, number>()
  let dropped = 0
  const context = (): BlockEventsContext => {
    const view = indexed.view()
    const chain = new Proxy(view.chain, {
      get: (target, name) => {
        reads.set(name, (reads.get(name) ?? 0) + 1)
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    return { view: { ...view, chain }, chain: indexed.chain }
  }
  const hub = createCometEventHub({
    onHead: (listener) => {
      listen = listener
      return () => {
        listen = undefined
      }
    },
    rounds: {
      watch: (change) => {
        watchers += change
      },
      onEvents: (listener) => {
        hear = listener
      },
    },
    headHeight: () => head,
    lease: () => ({ context: context(), release: () => undefined }),
    budget: createClientBudget({ total: memoryBytes }),
    ...(workPerBlock === undefined ? {} : { workPerBlock }),
    ...(workPerRound === undefined ? {} : { workPerRound }),
    onDropped: () => dropped++,
    log: { error: (fields) => expect.fail(String(fields['error'])) },
  })
  const announce = (height: number): void => {
    head = height
    listen?.(height)
  }
  return {
    hub,
    announce,
    isFollowing: () => listen !== undefined,
    reads,
    dropped: () => dropped,
    watchers: () => watchers,
    report: (...events: readonly RoundEvent[]) => hear?.(events),
  }
}

/** Subscribes, with what it hears; it ends when it is dropped. */
function subscribe(hub: CometEventHub, text: string, client = '192.0.2.1') {
  const heard: NotificationEnd[] = []
  const subscriber = {
    heard,
    isDropped: false,
    end: hub.add(parseEventQuery(text), {
      client,
      startLength: 0,
      deliver: (end) => void heard.push(end),
      drop: () => {
        subscriber.isDropped = true
        subscriber.end?.()
      },
    }),
  }
  return subscriber
}

describe('subscriptions', () => {
  /** A socket whose notifications are gathered, and the heads that it hears of. */
  function createSocket(maxSubscriptions = 5, memoryBytes = 1e6) {
    const { hub, announce, report } = createHub({ memoryBytes })
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
          begin(
            (start, end) => void heard.push(JSON.parse(start + end)),
            () => expect.fail('the work is little'),
            () => false,
          ),
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
      report,
      publish: async (height: number) => {
        announce(height)
        // All that it tells in one turn.
        await nextTurn()
      },
      ask: async (method: string, query?: unknown, id = `${method}-1`) => {
        const text = JSON.stringify({ jsonrpc: '2.0', id, method, params: { query } })
        const { result, error } = JSON.parse(answerString((await socket.answer(text, OWN_SCOPE, subscriptions))!))
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

  it('that come upon a bug are answered and logged: the thread and its other connections go on', async () => {
    const bug = new TypeError('a bug')
    const logged: unknown[] = []
    const hub: CometEventHub = {
      add: () => {
        throw bug
      },
    }
    const log = { error: (fields: unknown) => void logged.push(fields) }
    const socket = createCometSocket({ table: createCometTable([]), hub, log, responseBytes: 1e6, maxSubscriptions: 5 })
    const subscriptions: SocketSubscriptions = {
      count: 0,
      has: () => false,
      start: (_, begin) => begin(expect.fail, expect.fail, expect.fail) !== undefined,
      end: () => false,
      endAll: () => undefined,
    }
    const request = `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":["tm.event='Tx'"]}`
    const error = { code: -32603, message: 'Internal error', data: '' }
    expect(JSON.parse(answerString((await socket.answer(request, OWN_SCOPE, subscriptions))!))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      error,
    })
    expect(logged).toEqual([{ error: bug }])
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

  it('are refused when their queries, or the IDs that they repeat, take too much memory', async () => {
    const socket = createSocket(5, 20_000)
    expect(await socket.ask('subscribe', "tm.event='NewBlock'")).toEqual({})
    const long = Array(30).fill('a.b=5').join(' AND ')
    expect((await socket.ask('subscribe', long)).data).toBe('event queries take too much memory')
    expect(await socket.ask('subscribe', "tm.event='Tx'", 'x'.repeat(20_000))).toMatchObject({
      data: 'event queries take too much memory',
    })
    expect(await socket.ask('unsubscribe_all')).toEqual({})
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

describe('the work for a block', () => {
  const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

  it('makes the JSON of an event once for all its subscribers, whatever their queries', async () => {
    const { hub, announce, reads } = createHub({ memoryBytes: 1e9 })
    const queries = ["tm.event='NewBlock'", "tm.event='NewBlock' AND block.height>0"]
    const subscribers = times(100, (index) => subscribe(hub, queries[index % 2]!))
    announce(2)
    await nextTurn()
    expect(subscribers.map(({ heard }) => heard.length)).toEqual(Array(100).fill(2))
    expect(reads.get('blockId')).toBe(2)
    // One buffer for all.
    expect(new Set(subscribers.map(({ heard }) => heard[1])).size).toBe(1)
  })

  it('follows heads while somebody subscribes', () => {
    const { hub, announce, isFollowing } = createHub()
    expect(isFollowing()).toBe(false)
    const subscriber = subscribe(hub, "tm.event = 'NewBlock'")
    expect(isFollowing()).toBe(true)
    subscriber.end?.()
    announce(1)
    expect(isFollowing()).toBe(false)
  })

  it('is nothing for kinds of events that nobody wants', async () => {
    const { hub, announce, reads } = createHub({ memoryBytes: 1e9 })
    times(20, (index) => subscribe(hub, `tm.event='NewEvidence' AND a.b='${index}'`))
    announce(3)
    await nextTurn()
    expect(reads.get('entryResults')).toBeUndefined()
    expect(reads.get('blockEvents')).toBeUndefined()
  })

  it('is done in parts, between which others have their turn, with events in order', async () => {
    const { hub, announce } = createHub({ memoryBytes: 1e9 })
    const subscribers = times(2_000, (index) => subscribe(hub, "tm.event='Tx'", `192.0.2.${index}`))
    const count = () => subscribers.reduce((sum, { heard }) => sum + heard.length, 0)
    announce(3)
    const perTurn: number[] = []
    for (let told = 0; told < 10_000; told = count()) {
      await nextTurn()
      perTurn.push(count() - told)
    }
    expect(Math.max(...perTurn)).toBeLessThan(700)
    const heights = subscribers.at(-1)!.heard.map((data) => /"height":"(\d+)"/.exec(data.toString())![1])
    expect(heights).toEqual(['1', '1', '3', '3', '3'])
  })

  it('is not for those who subscribe while it goes on', async () => {
    const { hub, announce } = createHub({ memoryBytes: 1e9 })
    times(1_000, (index) => subscribe(hub, "tm.event='Tx'", `192.0.2.${index}`))
    announce(1)
    await nextTurn()
    const late = subscribe(hub, "tm.event='Tx'")
    for (let turn = 0; turn < 30; turn++) await nextTurn()
    expect(late.heard).toEqual([])
    announce(3)
    for (let turn = 0; turn < 60; turn++) await nextTurn()
    expect(late.heard).toHaveLength(3)
  })

  it('has a share for each client: who asks for more is dropped, others hear everything', async () => {
    const { hub, announce, dropped } = createHub({ memoryBytes: 1e9, workPerBlock: 40_000 })
    // Each comparison is for the one value of another key, and never met.
    const greedy = times(1_000, (index) => subscribe(hub, `transfer.amount EXISTS AND tx.height>${1_000 + index}`))
    const modest = subscribe(hub, "tm.event='Tx'", '198.51.100.1')
    announce(3)
    for (let turn = 0; turn < 60; turn++) await nextTurn()
    expect(greedy.filter(({ isDropped }) => isDropped).length).toBe(dropped())
    expect(dropped()).toBeGreaterThan(100)
    expect(modest.isDropped).toBe(false)
    expect(modest.heard).toHaveLength(5)
  })
})

describe('events of rounds', () => {
  const vote = (index: number, height = 7): RoundEvent => ({
    kind: 'Vote',
    vote: {
      type: SIGNED_MESSAGE_TYPES.precommit,
      height,
      round: 0,
      blockId: NIL_BLOCK_ID,
      timestampMs: 1_767_225_600_120,
      validatorAddress: new Uint8Array(20).fill(index),
      validatorIndex: index,
      signature: new Uint8Array(64).fill(9),
    },
  })
  const step = (round = 0): RoundEvent => ({ kind: 'NewRoundStep', height: 7, round, step: STEPS.prevoteWait })
  const dataOf = (end: NotificationEnd) => JSON.parse(`{"result":{${end.toString()}`).result

  it('come as CometBFT 0.38 writes them', async () => {
    const { hub, report } = createHub()
    const all = subscribe(hub, 'tm.event EXISTS')
    const blockId = {
      hash: new Uint8Array(32).fill(0xab),
      partSetHeader: { total: 2, hash: new Uint8Array(32).fill(0xcd) },
    }
    const position = { height: 7, round: 1 }
    report(
      {
        kind: 'NewRound',
        ...position,
        step: STEPS.newRound,
        proposer: { address: new Uint8Array(20).fill(5), index: 3 },
      },
      step(1),
      { kind: 'CompleteProposal', ...position, step: STEPS.propose, blockId },
      vote(2),
    )
    await nextTurn()
    const json = { height: '7', round: 1 }
    expect(all.heard.map(dataOf)).toEqual([
      {
        data: {
          type: 'tendermint/event/NewRound',
          value: { ...json, step: 'RoundStepNewRound', proposer: { address: '05'.repeat(20), index: 3 } },
        },
        events: { 'tm.event': ['NewRound'] },
      },
      {
        data: { type: 'tendermint/event/RoundState', value: { ...json, step: 'RoundStepPrevoteWait' } },
        events: { 'tm.event': ['NewRoundStep'] },
      },
      {
        data: {
          type: 'tendermint/event/CompleteProposal',
          value: {
            ...json,
            step: 'RoundStepPropose',
            block_id: { hash: 'AB'.repeat(32), parts: { total: 2, hash: 'CD'.repeat(32) } },
          },
        },
        events: { 'tm.event': ['CompleteProposal'] },
      },
      {
        data: {
          type: 'tendermint/event/Vote',
          value: {
            Vote: {
              type: 2,
              height: '7',
              round: 0,
              block_id: { hash: '', parts: { total: 0, hash: '' } },
              timestamp: '2026-01-01T00:00:00.12Z',
              validator_address: '02'.repeat(20),
              validator_index: 2,
              signature: Buffer.alloc(64, 9).toString('base64'),
              extension: null,
              extension_signature: null,
            },
          },
        },
        events: { 'tm.event': ['Vote'] },
      },
    ])
  })

  it.each([
    ["tm.event='Vote'", 1],
    ["tm.event = 'NewRoundStep' AND tm.event EXISTS", 1],
    ["tm.event CONTAINS 'Round'", 1],
    ['tm.event EXISTS', 1],
    ["tm.event='NewBlock'", 0],
    ["tm.event='Vote' AND tx.height>5", 0],
    ['tx.height>5', 0],
    ["transfer.recipient='coin1'", 0],
  ])('are asked of the main thread for %s: %i times', (query, watching) => {
    const { hub, watchers } = createHub()
    const subscriber = subscribe(hub, query)
    expect(watchers()).toBe(watching)
    subscriber.end?.()
    subscriber.end?.()
    expect(watchers()).toBe(0)
  })

  it('are made once for all subscribers, and go to those alone that asked for their kind', async () => {
    const { hub, report } = createHub({ memoryBytes: 1e9 })
    const votes = Array.from({ length: 50 }, () => subscribe(hub, "tm.event='Vote'"))
    const steps = subscribe(hub, "tm.event='NewRoundStep'")
    const blocks = subscribe(hub, "tm.event='NewBlock'")
    report(step(), vote(0), vote(1))
    await nextTurn()
    expect(votes.map(({ heard }) => heard.length)).toEqual(Array(50).fill(2))
    expect([steps.heard.length, blocks.heard.length]).toEqual([1, 0])
    expect(new Set(votes.map(({ heard }) => heard[0])).size).toBe(1)
  })

  it('have a share of the work for each client in a round: who asks for more is dropped, others hear everything', async () => {
    const { hub, report, dropped } = createHub({ memoryBytes: 1e9, workPerRound: 40_000 })
    const greedy = Array.from({ length: 100 }, () => subscribe(hub, "tm.event='Vote'"))
    const modest = subscribe(hub, "tm.event='Vote'", '198.51.100.1')
    const round = [step(), ...Array.from({ length: 100 }, (_, index) => vote(index))]
    report(...round)
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    expect(greedy.every(({ isDropped }) => isDropped)).toBe(true)
    expect(dropped()).toBe(100)
    expect([modest.isDropped, modest.heard.length]).toEqual([false, 100])
    // A height that needs many rounds is what monitors subscribe for.
    for (let later = 1; later <= 100; later++) {
      report(step(later), ...round.slice(1))
      await nextTurn()
    }
    expect([modest.isDropped, modest.heard.length]).toEqual([false, 10_100])
  })

  it('wait in a bounded line for a thread that is busy', async () => {
    const { hub, report, dropped } = createHub({ memoryBytes: 1e9, workPerRound: 1e7 })
    const subscriber = subscribe(hub, "tm.event='Vote'")
    const votes = Array.from({ length: 5_000 }, (_, index) => vote(index % 50))
    report(...votes)
    for (let turn = 0; turn < 200; turn++) await nextTurn()
    expect([subscriber.heard.length, dropped()]).toEqual([4_096, 904])
  })

  it('cost nothing while no query wants them', async () => {
    const { hub, report } = createHub({ memoryBytes: 1e9 })
    const block = subscribe(hub, "tm.event='NewBlock'")
    report(vote(1))
    await nextTurn()
    const late = subscribe(hub, "tm.event='Vote'")
    await nextTurn()
    expect([block.heard.length, late.heard.length]).toEqual([0, 0])
  })
})
