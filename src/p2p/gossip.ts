import { type Message, TopicValidatorResult } from '@libp2p/gossipsub'
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import { bytesToHex } from '../primitives/bytes.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { Connections } from './connections.ts'
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
  readonly genesisHash: Uint8Array
  readonly metrics: NetworkMetrics
  readonly now: () => number
  readonly validate: Readonly<Record<Topic, (session: Session, data: Uint8Array) => Promise<Verdict>>>
}

/** The part of gossipsub's messages that counts against a peer's budget. */
interface GossipRpc {
  readonly messages?: readonly unknown[]
}

/**
 * Private parts of gossipsub: the function that handles everything that peers send, its streams to them, and the messages it has seen.
 */
interface GossipInternals {
  handleReceivedRpc(from: PeerId, rpc: GossipRpc): Promise<void>
  readonly streamsOutbound: Map<string, { readonly rawStream: Stream }>
  onPeerConnected(peer: PeerId, connection: Connection): void
  msgIdFn(message: Message): Uint8Array
  msgIdToStrFn(id: Uint8Array): string
  readonly seenCache: { readonly entries: Map<string, unknown> }
}

/** Age at which a session without a gossip stream gets one. */
const REPAIR_MS = 3_000

/**
 * Gossip of transactions and evidence, which every node of the chain should get. Messages of peers are counted against their budget
 * and validated before they are relayed.
 */
export class Gossip {
  readonly #options: GossipOptions

  constructor(options: GossipOptions) {
    this.#options = options
  }

  /** Installs the validation; called before the host listens, so that no message bypasses it. */
  prepare(): void {
    const { connections, validate } = this.#options
    const { pubsub } = connections.host.services
    this.#measure(pubsub as unknown as GossipInternals)
    for (const topic of TOPICS) {
      const name = topicName(topic, this.#options.genesisHash)
      // libp2p passes a Buffer, whose `slice` shares memory; the rest of the code expects a plain Uint8Array, whose `slice` copies.
      const plain = (data: Uint8Array): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      pubsub.topicValidators.set(name, async (peer, message) => {
        const verdict = await this.#validate(topic, peer, plain(message.data), validate[topic])
        if (verdict === 'accept') return TopicValidatorResult.Accept
        if (verdict === 'ban') return TopicValidatorResult.Reject
        if (verdict === 'unread') forget(pubsub as unknown as GossipInternals, message)
        return TopicValidatorResult.Ignore
      })
    }
  }

  /** Called once the host listens. */
  subscribe(): void {
    const { connections, genesisHash } = this.#options
    for (const topic of TOPICS) connections.host.services.pubsub.subscribe(topicName(topic, genesisHash))
  }

  /** Sends to the neighbours in the topic's mesh. It is not an error that there are none. */
  async publish(topic: Topic, data: Uint8Array): Promise<void> {
    const { connections, metrics, genesisHash } = this.#options
    const { recipients } = await connections.host.services.pubsub.publish(topicName(topic, genesisHash), data)
    metrics.sentBytesTotal.inc({ protocol: topic }, data.length * recipients.length)
  }

  /** The number of neighbours in a topic. */
  neighbours(topic: Topic): number {
    const { connections, genesisHash } = this.#options
    return connections.host.services.pubsub.getSubscribers(topicName(topic, genesisHash)).length
  }

  /**
   * Reopens streams that gossipsub wrongly considers open: if a connection is replaced just when gossipsub opens a stream on it,
   * gossipsub keeps that dead stream forever.
   */
  repair(): void {
    const { connections, now } = this.#options
    const pubsub = connections.host.services.pubsub as unknown as GossipInternals
    for (const { connection, meter } of connections.sessions.values()) {
      if (now() - meter.openedMs < REPAIR_MS || connection.status !== 'open') continue
      const key = connection.remotePeer.toString()
      const stream = pubsub.streamsOutbound.get(key)?.rawStream
      if (stream !== undefined && stream.status === 'open' && connection.streams.includes(stream)) continue
      pubsub.streamsOutbound.delete(key)
      pubsub.onPeerConnected(connection.remotePeer, connection)
    }
  }

  #measure(receiver: GossipInternals): void {
    const { metrics, connections, now } = this.#options
    const handle = receiver.handleReceivedRpc.bind(receiver)
    receiver.handleReceivedRpc = async (from, rpc) => {
      const session = this.#sessionOf(from)
      // Subscriptions may arrive before the end of the handshake; messages are dropped until then.
      if (session === undefined) return handle(from, { ...rpc, messages: [] })
      const nowMs = now()
      const count = Math.max(1, rpc.messages?.length ?? 0)
      if (session.budgets.gossip.take(count, nowMs)) return handle(from, rpc)
      metrics.droppedTotal.inc({ reason: 'too much gossip' }, count)
      if (!session.budgets.gossipDropped.take(count, nowMs)) connections.disconnect(session, 'too much gossip')
    }
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

/**
 * Makes gossipsub accept the message again from another peer. Otherwise a peer above its budget could suppress messages by sending
 * them first.
 */
function forget({ msgIdFn, msgIdToStrFn, seenCache }: GossipInternals, message: Message): void {
  seenCache.entries.delete(msgIdToStrFn(msgIdFn(message)))
}
