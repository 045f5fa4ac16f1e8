import { afterEach, describe, expect, test, vi } from 'vitest'
import { topicName } from '../../../src/p2p/gossip.ts'
import { LIMITS } from '../../../src/p2p/limits.ts'
import { encodeBatch, type HashedTransaction } from '../../../src/p2p/transactionGossip.ts'
import { type Attacker, closeAttackers, startAttacker } from './attacker.ts'
import {
  closeNodes,
  connectedPair,
  counter,
  GENESIS_HASH,
  startNode,
  type TestNode,
  type TestNodeOptions,
  until,
} from './testNode.ts'

afterEach(async () => {
  await closeAttackers()
  await closeNodes()
})

const TOPIC = topicName('transactions', GENESIS_HASH)
const EVIDENCE = topicName('evidence', GENESIS_HASH)

/** Two honest nodes and an attacker that is a neighbour of the first in both topics. */
async function withAttacker(options: TestNodeOptions = {}): Promise<readonly [TestNode, TestNode, Attacker]> {
  const [a, b] = await connectedPair(options)
  const attacker = await startAttacker({ topics: [TOPIC, EVIDENCE] })
  for (const topic of [TOPIC, EVIDENCE]) attacker.host.services.pubsub.subscribe(topic)
  await attacker.join(a)
  await until('the attacker is a neighbour', () => attacker.host.services.pubsub.getSubscribers(TOPIC).length > 0)
  await until('the honest nodes are neighbours', () => a.network.neighbours('transactions') === 2)
  return [a, b, attacker]
}

const batch = (number: number, transactions: readonly Uint8Array[]): Uint8Array =>
  encodeBatch({ isRepeated: false, number, transactions })

const numbered = (i: number): Uint8Array => Uint8Array.of(i >> 16, i >> 8, i, 1)

describe('hostile gossip', () => {
  test.each([
    ['no batch', TOPIC, Uint8Array.of(9, 9, 9)],
    ['an empty batch', TOPIC, batch(1, [])],
    ['a cut-off batch', TOPIC, batch(1, [new Uint8Array(100)]).subarray(0, 50)],
    ['a batch that is too long', TOPIC, batch(1, [new Uint8Array(LIMITS.batchBytes), new Uint8Array(1)])],
    ['a transaction that is too long', TOPIC, batch(1, [new Uint8Array(LIMITS.transactionBytes + 1)])],
    ['evidence that is too long', EVIDENCE, new Uint8Array(LIMITS.evidenceBytes + 1)],
  ])('%s brings a ban, and goes no further', async (_, topic, data) => {
    const [a, b, attacker] = await withAttacker()
    await attacker.host.services.pubsub.publish(topic, data)
    await until('it is banned', () => !a.sessions.has(attacker.id))
    expect(await counter(a, 'coind_p2p_bans_total', {})).toBe(1)
    expect([a.transactions, b.transactions, a.evidence, b.evidence]).toEqual([[], [], [], []])
    expect(a.sessions.has(b.network.id)).toBe(true)
  })

  test('a wrong signature and wrong evidence bring a ban', async () => {
    const events = {
      transactions: async (transactions: readonly HashedTransaction[]) => ({
        admitted: 0,
        refused: 0,
        invalid: transactions,
        unknown: [],
      }),
      evidence: async () => 'reject' as const,
    }
    for (const topic of [TOPIC, EVIDENCE]) {
      const [a, b, attacker] = await withAttacker({ events })
      await attacker.host.services.pubsub.publish(topic, batch(1, [Uint8Array.of(1)]))
      await until('it is banned', () => !a.sessions.has(attacker.id))
      expect(await counter(b, 'coind_p2p_received_messages_total', { protocol: 'transactions' })).toBe(0)
    }
  })

  test('what the pool refuses goes no further, and too much of it is not even looked at', async () => {
    let offered = 0
    const events = {
      transactions: async (transactions: readonly unknown[]) => {
        offered += transactions.length
        return { admitted: 0, refused: transactions.length, invalid: [], unknown: [] }
      },
    }
    const [a, b, attacker] = await withAttacker({ events })
    a.frozenMs = performance.now()
    for (let i = 0; i < 12; i++) {
      const transactions = Array.from({ length: 1_000 }, (_, k) => numbered(i * 1_000 + k))
      await attacker.host.services.pubsub.publish(TOPIC, batch(i, transactions))
    }
    await until('all are validated', () => offered >= LIMITS.refusedTransactions.burst)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(offered).toBeLessThan(12_000)
    expect(await counter(a, 'coind_p2p_dropped_total', { reason: 'refused transactions' })).toBeGreaterThan(0)
    expect(b.transactions).toEqual([])
    expect(a.sessions.has(attacker.id)).toBe(true)
  })

  test('a flood of messages is cut off, and honest transactions still arrive', async () => {
    const [a, b, attacker] = await withAttacker()
    a.frozenMs = performance.now()
    // It has sent too much before: on a clock that stands still, its frames would have to wait before it is cut off.
    a.sessions.get(attacker.id)!.budgets.gossipDropped.draw(LIMITS.gossipDropped.burst - 1_500, a.frozenMs)
    for (let i = 0; i < 12_000 && a.sessions.has(attacker.id); i++) {
      await attacker.host.services.pubsub.publish(TOPIC, batch(i, [numbered(i)])).catch(() => undefined)
    }
    await until('it is disconnected', () => !a.sessions.has(attacker.id))
    expect(await counter(a, 'coind_p2p_dropped_total', { reason: 'too much gossip' })).toBeGreaterThan(1_000)
    expect(a.transactions.length).toBeLessThan(6_000)
    a.frozenMs = undefined
    const honest = Uint8Array.of(42, 42)
    await b.network.publishTransactions(batch(1, [honest]))
    await until('an honest transaction arrives', () => a.transactions.some((raw) => Buffer.compare(raw, honest) === 0))
  })

  test('a peer that is not listened to can not keep transactions from a node by being first', async () => {
    const [a, b, attacker] = await withAttacker()
    a.sessions
      .get(attacker.id)!
      .budgets.refusedTransactions.draw(LIMITS.refusedTransactions.burst * 2, performance.now())
    const data = batch(1, [Uint8Array.of(1)])
    await attacker.host.services.pubsub.publish(TOPIC, data)
    const reason = 'refused transactions'
    await vi.waitFor(async () => expect(await counter(a, 'coind_p2p_dropped_total', { reason })).toBe(1), 20_000)
    expect(a.transactions).toEqual([])
    await b.network.publishTransactions(data)
    await until('they arrive from somebody else', () => a.transactions.length === 1)
  })

  test('nor can it keep evidence from a node', async () => {
    const [a, b, attacker] = await withAttacker()
    a.sessions.get(attacker.id)!.budgets.evidence.draw(LIMITS.evidence.burst * 2, performance.now())
    const data = Uint8Array.of(1, 2, 3)
    await attacker.host.services.pubsub.publish(EVIDENCE, data)
    const reason = 'too much evidence'
    await vi.waitFor(async () => expect(await counter(a, 'coind_p2p_dropped_total', { reason })).toBe(1), 20_000)
    expect(a.evidence).toEqual([])
    await b.network.publishEvidence(data)
    await until('it arrives from somebody else', () => a.evidence.length === 1)
  })

  test('a peer that has not said hello is not listened to', async () => {
    const a = await startNode()
    const attacker = await startAttacker({ topics: [TOPIC] })
    attacker.host.services.pubsub.subscribe(TOPIC)
    await attacker.connect(a)
    await until('it could gossip', () => attacker.host.services.pubsub.getSubscribers(TOPIC).length > 0)
    await attacker.host.services.pubsub.publish(TOPIC, batch(1, [Uint8Array.of(1)]))
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(a.transactions).toEqual([])
  })
})

/** Whether a node takes what another one gossips: it has its session, and all its neighbours. Before that it drops messages. */
function hears(node: TestNode, other: TestNode, neighbours: number): boolean {
  return node.sessions.has(other.network.id) && node.network.neighbours('transactions') === neighbours
}

test('a repeated batch reaches nodes that know nothing of it, through nodes that know it', async () => {
  const a = await startNode()
  const b = await startNode({ persistentPeers: [a.peer] })
  await until('connected', () => hears(a, b, 1) && hears(b, a, 1))
  const transactions = [Uint8Array.of(1, 1), Uint8Array.of(2, 2)]
  await a.network.publishTransactions(batch(1, transactions))
  await until('it arrives', () => b.transactions.length === 2)
  // It knows only b, which does not send the transactions of others again by itself.
  const counts = { wanted: 1, inbound: 1, outbound: 1 }
  const late = await startNode({ persistentPeers: [b.peer], counts })
  await until('the late one is connected', () => hears(b, late, 2) && hears(late, b, 1))
  await a.network.publishTransactions(encodeBatch({ isRepeated: true, number: 2, transactions }))
  await until('the late one has them', () => late.transactions.length === 2)
  expect(b.transactions).toHaveLength(2)
})

test('what is published at the moment when the first peer joins reaches it', async () => {
  const published: Promise<void>[] = []
  const joined = (): void => {
    published.push(
      a.network.publishTransactions(batch(1, [Uint8Array.of(1, 1)])),
      a.network.publishEvidence(Uint8Array.of(2)),
    )
  }
  const a: TestNode = await startNode({ events: { joined } })
  const b = await startNode({ persistentPeers: [a.peer] })
  await until('it arrives', () => b.transactions.length === 1 && b.evidence.length === 1)
  await Promise.all(published)
})
