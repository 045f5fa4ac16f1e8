import type { Stream } from '@libp2p/interface'
import { afterEach, describe, expect, test } from 'vitest'
import { GOSSIP_WORK, LIMITS } from '../../../src/p2p/limits.ts'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import { topicName } from '../../../src/p2p/topicGossip.ts'
import { encodeBatch, type HashedTransaction } from '../../../src/p2p/transactionGossip.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { type Attacker, closeAttackers, startAttacker } from '../../support/p2p/attacker.ts'
import {
  closeNodes,
  connectedPair,
  counter,
  GENESIS_HASH,
  randomKey,
  startNode,
  type TestNode,
  type TestNodeOptions,
  until,
} from '../../support/p2p/testNode.ts'

afterEach(async () => {
  await closeAttackers()
  await closeNodes()
})

const TOPIC = topicName('transactions', GENESIS_HASH)
const EVIDENCE = topicName('evidence', GENESIS_HASH)

/** Two honest nodes and an attacker that is a neighbour of the first in both topics. */
async function withAttacker(
  options: TestNodeOptions = {},
  second: TestNodeOptions = {},
): Promise<readonly [TestNode, TestNode, Attacker]> {
  const [a, b] = await connectedPair(options, second)
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

/** A transaction that the pool below refuses. */
const refusedTransaction = (i: number): Uint8Array => Uint8Array.of(i >> 16, i >> 8, i, 8)

/** A pool that has its reasons; counts what it refuses and what it admits. */
function refusingPool() {
  let refused = 0
  let admitted = 0
  const events: TestNodeOptions['events'] = {
    transactions: async (transactions) => {
      const bad = transactions.filter((transaction) => transaction.raw[3] === 8).length
      refused += bad
      admitted += transactions.length - bad
      return { admitted: transactions.length - bad, refused: bad, invalid: [], unknown: [] }
    },
  }
  return { events, count: () => refused, admitted: () => admitted }
}

const disconnected = ({ log }: TestNode) => log.filter(({ msg }) => msg === 'peer disconnected')

describe('honest relayers are not cut off', () => {
  test.each([
    ['a configured peer', true, 4_000],
    ['another peer', false, 3_000],
  ])('%s relays more messages than are read in time, and all of them arrive', async (_, isConfigured, count) => {
    const key = randomKey()
    const policy = { unconditionalIds: new Set(isConfigured ? [nodeId(key.publicKey)] : []) }
    const [a, b] = await connectedPair({ policy }, { key })
    await until('they are neighbours', () => hears(a, b, 1) && hears(b, a, 1))
    a.frozenMs = performance.now()
    for (let i = 0; i < count; i++) await b.network.publishTransactions(batch(i, [numbered(i)]))
    const kind = isConfigured ? 'reserved' : 'strangers'
    const affordable = GOSSIP_WORK[kind].burst / GOSSIP_WORK.message.each
    await until('what may be is read', () => a.transactions.length > affordable * 0.9)
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(a.transactions.length).toBeLessThanOrEqual(affordable)
    a.frozenMs = undefined
    await until('all arrive', () => a.transactions.length === count)
    expect([disconnected(a), disconnected(b)]).toEqual([[], []])
    expect(await counter(b, 'coind_p2p_dropped_total', { reason: 'slow peer' })).toBe(0)
  })

  test('one that relays what this node has to refuse, as conflicting transactions, only waits', async () => {
    const refusing = refusingPool()
    const [a, b] = await connectedPair({ events: refusing.events })
    await until('they are neighbours', () => hears(a, b, 1) && hears(b, a, 1))
    a.frozenMs = performance.now()
    for (let i = 0; i < 8; i++) {
      const transactions = Array.from({ length: 1_000 }, (_, k) => refusedTransaction(i * 1_000 + k))
      await b.network.publishTransactions(batch(i, transactions))
    }
    await until('what may be is read', () => refusing.count() >= GOSSIP_WORK.refused.burst)
    a.frozenMs = undefined
    await b.network.publishTransactions(batch(9, [numbered(1)]))
    await until('all are read', () => refusing.count() === 8_000 && refusing.admitted() === 1)
    expect([disconnected(a), disconnected(b)]).toEqual([[], []])
  })

  test('one that repeats what is known already costs little, and is not cut off', async () => {
    const [a, b, attacker] = await withAttacker()
    a.frozenMs = performance.now()
    for (let i = 0; i < 1_000; i++) await b.network.publishTransactions(batch(i, [numbered(i)]))
    await until('all are there', () => a.transactions.length === 1_000)
    const { connection } = a.sessions.get(attacker.id)!
    const duplicates = concatBytes(
      ...Array.from({ length: 1_000 }, (_, i) => encodedRpc(TOPIC, batch(i, [numbered(i)]))),
    )
    const stream = gossipStreamOf(attacker)
    for (let i = 0; i < 10; i++) stream.send(duplicates)
    await b.network.publishTransactions(batch(1_001, [numbered(1_001)]))
    await until('what is new arrives', () => a.transactions.length === 1_001)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await counter(a, 'coind_p2p_gossip_waits_total', { from: 'strangers' })).toBe(0)
    expect(connection.status).toBe('open')
    expect(disconnected(a)).toEqual([])
  })
})

/** The stream on which an attacker sends gossip. */
function gossipStreamOf({ host }: Attacker): Stream {
  return host
    .getConnections()
    .flatMap(({ streams }) => streams)
    .find(({ direction, protocol }) => direction === 'outbound' && protocol?.startsWith('/meshsub/'))!
}

/** A frame of gossipsub with one message. */
function encodedRpc(topic: string, data: Uint8Array): Uint8Array {
  const rpc = new ProtobufWriter().message(2, (writer) => writer.bytes(2, data).string(4, topic), undefined).finish()
  return concatBytes(new ProtobufWriter().varint(1, rpc.length).finish().subarray(1), rpc)
}

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

  test('a frame of ten thousand empty hashes brings a ban before gossipsub reads it', async () => {
    const [a, , attacker] = await withAttacker()
    const wanted = Array<Uint8Array>(10_000).fill(new Uint8Array())
    const rpc = new ProtobufWriter()
      .message(3, (control) => control.message(2, (iwant) => iwant.repeatedBytes(1, wanted), undefined), undefined)
      .finish()
    gossipStreamOf(attacker).send(concatBytes(new ProtobufWriter().varint(1, rpc.length).finish().subarray(1), rpc))
    await until('it is banned', () => !a.sessions.has(attacker.id))
    expect(await counter(a, 'coind_p2p_bans_total', {})).toBe(1)
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

  test('what the pool refuses goes no further, and is read no faster than it may be', async () => {
    const refusing = refusingPool()
    const [a, b, attacker] = await withAttacker({ events: refusing.events })
    a.frozenMs = performance.now()
    for (let i = 0; i < 12; i++) {
      const transactions = Array.from({ length: 1_000 }, (_, k) => refusedTransaction(i * 1_000 + k))
      await attacker.host.services.pubsub.publish(TOPIC, batch(i, transactions))
    }
    await until('all that may be is validated', () => refusing.count() >= GOSSIP_WORK.refused.burst)
    await new Promise((resolve) => setTimeout(resolve, 200))
    // The last one overdraws the budget; the next one was in flight.
    expect(refusing.count()).toBeLessThanOrEqual(GOSSIP_WORK.refused.burst + 2_000)
    expect(b.transactions).toEqual([])
    expect(a.sessions.has(attacker.id)).toBe(true)
    a.frozenMs = undefined
    await until('the rest is validated too', () => refusing.count() === 12_000)
    expect(disconnected(a)).toEqual([])
  })

  test('a flood of messages is read slowly, and honest transactions still arrive', async () => {
    const [a, b, attacker] = await withAttacker()
    a.frozenMs = performance.now()
    for (let i = 0; i < 6_000; i++) await attacker.host.services.pubsub.publish(TOPIC, batch(i, [numbered(i)]))
    const affordable = GOSSIP_WORK.strangers.burst / GOSSIP_WORK.message.each
    await until('what may be is read', () => a.transactions.length > affordable * 0.9)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(a.transactions.length).toBeLessThanOrEqual(affordable)
    expect(await counter(a, 'coind_p2p_gossip_waits_total', { from: 'strangers' })).toBeGreaterThan(0)
    a.frozenMs = undefined
    const honest = Uint8Array.of(42, 42)
    await b.network.publishTransactions(batch(1, [honest]))
    await until('an honest transaction arrives', () => a.transactions.some((raw) => Buffer.compare(raw, honest) === 0))
    // Before the rest of the flood, although all of them have one address.
    expect(a.transactions.length).toBeLessThan(5_000)
    expect(disconnected(a)).toEqual([])
  })

  test('a peer whose messages wait can not keep them from a node by being first', async () => {
    const key = randomKey()
    const refusing = refusingPool()
    const policy = { unconditionalIds: new Set([nodeId(key.publicKey)]) }
    const [a, b, attacker] = await withAttacker({ events: refusing.events, policy }, { key })
    const { pubsub } = attacker.host.services
    a.frozenMs = performance.now()
    for (let i = 0; i < 7; i++) {
      await pubsub.publish(
        TOPIC,
        batch(
          i,
          Array.from({ length: 1_000 }, (_, k) => refusedTransaction(i * 1_000 + k)),
        ),
      )
    }
    await until('the attacker has to wait', () => refusing.count() >= GOSSIP_WORK.refused.burst)
    const [data, evidence] = [batch(1, [Uint8Array.of(1)]), Uint8Array.of(1, 2, 3)]
    await pubsub.publish(TOPIC, data)
    await pubsub.publish(EVIDENCE, evidence)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect([refusing.admitted(), a.evidence]).toEqual([0, []])
    await b.network.publishTransactions(data)
    await b.network.publishEvidence(evidence)
    await until('they arrive from somebody else', () => refusing.admitted() === 1 && a.evidence.length === 1)
    a.frozenMs = undefined
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
