import { TopicValidatorResult } from '@libp2p/gossipsub'
import type { PeerId } from '@libp2p/interface'
import { bytesToHex } from '../primitives/bytes.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { Connections } from './connections.ts'
import type { GossipStreams } from './gossipStreams.ts'
import { LIMITS } from './limits.ts'
import { nodeIdOfPeer } from './peerAddress.ts'
import type { Session } from './session.ts'
import type { Verdict } from './transactionGossip.ts'

export const TOPICS = ['transactions', 'evidence'] as const

export type Topic = (typeof TOPICS)[number]

/** A topic's name on the wire; each chain has its own. */
export function topicName(topic: Topic, genesisHash: Uint8Array): string {
  return `/coind/${bytesToHex(genesisHash).slice(2, 18)}/${topic}/1`
}

interface GossipOptions {
  readonly connections: Connections
  /** those of the host */
  readonly streams: GossipStreams
  readonly genesisHash: Uint8Array
  readonly metrics: NetworkMetrics
  readonly now: () => number
  readonly validate: Readonly<Record<Topic, (session: Session, data: Uint8Array) => Promise<Verdict>>>
  /** why so many messages of a peer are dropped before they are looked at; undefined: they are not */
  readonly refusal: Readonly<Record<Topic, (session: Session, messages: number) => string | undefined>>
}

/** Age at which a session without a gossip stream gets one. */
const REPAIR_MS = 3_000
/** Transactions that nobody could be told of for longer are not sent any more: the pool repeats what still waits for a block. */
const HELD_MS = 15_000

interface HeldMessage {
  readonly topic: Topic
  readonly data: Uint8Array
  readonly atMs: number
}

/**
 * Gossip of transactions and evidence, which every node of the chain should get. Messages of peers are counted against their budget
 * and validated before they are relayed.
 */
export class Gossip {
  readonly #options: GossipOptions
  /** published when no neighbour could be told; oldest first */
  #held: HeldMessage[] = []

  constructor(options: GossipOptions) {
    this.#options = options
  }

  /** Installs the validation; called before the host listens, so that no message bypasses it. */
  prepare(): void {
    const { connections, streams, validate } = this.#options
    const { pubsub } = connections.host.services
    const names = new Map(TOPICS.map((topic) => [topicName(topic, this.#options.genesisHash), topic]))
    streams.guard = {
      opens: async (connection) => (await connections.sessionOf(connection)) !== undefined,
      passes: (connection, topics) => {
        const session = this.#sessionOf(connection.remotePeer)
        if (session === undefined) return false
        return this.#passes(
          session,
          topics.map((name) => names.get(name)),
        )
      },
      failed: (error) => connections.endOnDefect(error),
    }
    for (const topic of TOPICS) {
      const name = topicName(topic, this.#options.genesisHash)
      // libp2p passes a Buffer, whose `slice` shares memory; the rest of the code expects a plain Uint8Array, whose `slice` copies.
      const plain = (data: Uint8Array): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      pubsub.topicValidators.set(name, async (peer, message) => {
        const verdict = await this.#validate(topic, peer, plain(message.data), validate[topic])
        if (verdict === 'accept') return TopicValidatorResult.Accept
        if (verdict === 'ban') return TopicValidatorResult.Reject
        return TopicValidatorResult.Ignore
      })
    }
  }

  /** Called once the host listens. */
  subscribe(): void {
    const { connections, streams, genesisHash } = this.#options
    const { pubsub } = connections.host.services
    for (const topic of TOPICS) pubsub.subscribe(topicName(topic, genesisHash))
    pubsub.addEventListener('subscription-change', () => this.#sendHeld())
    streams.onOpened = () => this.#sendHeld()
  }

  /**
   * Sends to the neighbours in the topic's mesh. A peer that has just joined is no neighbour yet: then the message waits for the first one,
   * because gossipsub would tell nobody, and would not send the same bytes again.
   */
  async publish(topic: Topic, data: Uint8Array): Promise<void> {
    if (this.#isHeard(topic)) await this.#send(topic, data)
    else if (this.#heldBytes() + data.length <= LIMITS.queuedTransactions) {
      this.#held.push({ topic, data, atMs: this.#options.now() })
    }
  }

  /** Called before the host stops: nothing is sent any more. */
  close(): void {
    this.#held = []
  }

  async #send(topic: Topic, data: Uint8Array): Promise<void> {
    const { connections, metrics, genesisHash } = this.#options
    const { recipients } = await connections.host.services.pubsub.publish(topicName(topic, genesisHash), data)
    metrics.sentBytesTotal.inc({ protocol: topic }, data.length * recipients.length)
  }

  /** The number of neighbours in a topic. */
  neighbours(topic: Topic): number {
    const { connections, genesisHash } = this.#options
    return connections.host.services.pubsub.getSubscribers(topicName(topic, genesisHash)).length
  }

  /** Opens the streams that gossipsub lacks: it does not try again when a connection ends while it opens a stream on it. */
  repair(): void {
    const { connections, streams, now } = this.#options
    const { protocols } = connections.host.services.pubsub
    for (const { connection, meter } of connections.sessions.values()) {
      if (now() - meter.openedMs < REPAIR_MS || connection.status !== 'open') continue
      const isOpen = connection.streams.some(
        ({ direction, status, protocol }) =>
          direction === 'outbound' && status === 'open' && protocols.includes(protocol),
      )
      if (!isOpen) streams.reconnect(connection).catch((error: unknown) => connections.endOnDefect(error))
    }
  }

  /** Whether a message would reach any neighbour. */
  #isHeard(topic: Topic): boolean {
    const { connections, streams, genesisHash } = this.#options
    return connections.host.services.pubsub.getSubscribers(topicName(topic, genesisHash)).some((peer) => {
      const session = this.#sessionOf(peer)
      return session !== undefined && streams.isOpen(session.connection)
    })
  }

  #heldBytes(): number {
    return this.#held.reduce((sum, { data }) => sum + data.length, 0)
  }

  #sendHeld(): void {
    if (this.#held.length === 0) return
    const { connections, now } = this.#options
    const nowMs = now()
    const held = this.#held.filter(({ topic, atMs }) => topic !== 'transactions' || nowMs - atMs < HELD_MS)
    const heard = new Set(TOPICS.filter((topic) => this.#isHeard(topic)))
    this.#held = held.filter(({ topic }) => !heard.has(topic))
    for (const { topic, data } of held) {
      if (heard.has(topic)) this.#send(topic, data).catch((error: unknown) => connections.endOnDefect(error))
    }
  }

  /**
   * Whether gossipsub may read a frame of a peer. It is counted with its messages, also those that gossipsub knows already or that are
   * not for it; what is dropped here gossipsub takes from another peer.
   */
  #passes(session: Session, topics: readonly (Topic | undefined)[]): boolean {
    const { metrics, connections, now, refusal } = this.#options
    const nowMs = now()
    const count = Math.max(1, topics.length)
    if (!session.budgets.gossip.take(count, nowMs)) {
      metrics.droppedTotal.inc({ reason: 'too much gossip' }, count)
      if (!session.budgets.gossipDropped.take(count, nowMs)) connections.disconnect(session, 'too much gossip')
      return false
    }
    for (const topic of TOPICS) {
      const messages = topics.filter((name) => name === topic).length
      const reason = messages === 0 ? undefined : refusal[topic](session, messages)
      if (reason === undefined) continue
      metrics.droppedTotal.inc({ reason }, count)
      return false
    }
    return true
  }

  async #validate(
    topic: Topic,
    peer: PeerId,
    data: Uint8Array,
    validate: (session: Session, data: Uint8Array) => Promise<Verdict>,
  ): Promise<'accept' | 'ignore' | 'unread' | 'ban'> {
    const { connections, metrics } = this.#options
    const session = this.#sessionOf(peer)
    if (session === undefined) return 'unread'
    metrics.receivedMessagesTotal.inc({ protocol: topic })
    metrics.receivedBytesTotal.inc({ protocol: topic }, data.length)
    let verdict: Verdict
    try {
      verdict = await validate(session, data)
    } catch (error) {
      connections.endOnDefect(error)
      throw error
    }
    if (typeof verdict === 'string') return verdict
    connections.ban(session, verdict.ban)
    return 'ban'
  }

  #sessionOf(peer: PeerId): Session | undefined {
    const id = nodeIdOfPeer(peer)
    return id === undefined ? undefined : this.#options.connections.sessions.get(id)
  }
}
