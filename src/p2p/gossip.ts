import { type Message, TopicValidatorResult } from '@libp2p/gossipsub'
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import { bytesToHex } from '../primitives/bytes.ts'
import type { NetworkMetrics } from '../telemetry/metrics/networkMetrics.ts'
import type { Connections } from './connections.ts'
import { nodeIdOfPeer } from './peerId.ts'
import type { Session } from './session.ts'
import type { Verdict } from './transactionGossip.ts'

export const TOPICS = ['transactions', 'evidence'] as const

export type Topic = (typeof TOPICS)[number]

/** A topic's name on the wire; chains do not share any. */
export function topicName(topic: Topic, genesisHash: Uint8Array): string {
  return `/coind/${bytesToHex(genesisHash).slice(2, 18)}/${topic}/1`
}

export interface GossipOptions {
  readonly connections: Connections
  readonly genesisHash: Uint8Array
  readonly metrics: NetworkMetrics
  readonly now: () => number
  readonly judge: Readonly<Record<Topic, (session: Session, data: Uint8Array) => Promise<Verdict>>>
}

/** The part of gossipsub's message that its budget is measured by. */
interface GossipRpc {
  readonly messages?: readonly unknown[]
}

/** What its types hide: gossipsub's way in for all that peers send, its streams to them, and the messages that it knows. */
interface GossipInternals {
  handleReceivedRpc(from: PeerId, rpc: GossipRpc): Promise<void>
  readonly streamsOutbound: Map<string, { readonly rawStream: Stream }>
  onPeerConnected(peer: PeerId, connection: Connection): void
  msgIdFn(message: Message): Uint8Array
  msgIdToStrFn(id: Uint8Array): string
  readonly seenCache: { readonly entries: Map<string, unknown> }
}

/** A session without a stream for gossip is given one when it is this old. */
const REPAIR_MS = 3_000

/** Gossip of what every node of the chain should get. What peers send is measured, judged, and only then passed on. */
export class Gossip {
  readonly #options: GossipOptions

  constructor(options: GossipOptions) {
    this.#options = options
  }

  /** Before the host listens: nothing gets past the judges. */
  prepare(): void {
    const { connections, judge } = this.#options
    const { pubsub } = connections.host.services
    this.#measure(pubsub as unknown as GossipInternals)
    for (const topic of TOPICS) {
      const name = topicName(topic, this.#options.genesisHash)
      // libp2p gives a Buffer, whose parts share memory; all else here works on plain arrays.
      const plain = (data: Uint8Array): Uint8Array => new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      pubsub.topicValidators.set(name, async (peer, message) => {
        const verdict = await this.#judge(topic, peer, plain(message.data), judge[topic])
        if (verdict === 'accept') return TopicValidatorResult.Accept
        if (verdict === 'ban') return TopicValidatorResult.Reject
        if (verdict === 'unread') forget(pubsub as unknown as GossipInternals, message)
        return TopicValidatorResult.Ignore
      })
    }
  }

  /** Once the host listens. */
  subscribe(): void {
    const { connections, genesisHash } = this.#options
    for (const topic of TOPICS) connections.host.services.pubsub.subscribe(topicName(topic, genesisHash))
  }

  /** Sends to the neighbours in the topic's mesh; nobody there is no error. */
  async publish(topic: Topic, data: Uint8Array): Promise<void> {
    const { connections, metrics, genesisHash } = this.#options
    const { recipients } = await connections.host.services.pubsub.publish(topicName(topic, genesisHash), data)
    metrics.sentBytesTotal.inc({ protocol: topic }, data.length * recipients.length)
  }

  /** How many neighbours a topic has. */
  neighbours(topic: Topic): number {
    const { connections, genesisHash } = this.#options
    return connections.host.services.pubsub.getSubscribers(topicName(topic, genesisHash)).length
  }

  /**
   * Opens streams that gossipsub believes to have: one that was opened on a connection as it was replaced stays in its books as
   * open for ever.
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
      // Subscriptions arrive before the hello is through; nothing else is of use then.
      if (session === undefined) return handle(from, { ...rpc, messages: [] })
      const nowMs = now()
      const count = Math.max(1, rpc.messages?.length ?? 0)
      if (session.budgets.gossip.take(count, nowMs)) return handle(from, rpc)
      metrics.droppedTotal.inc({ reason: 'too much gossip' }, count)
      if (!session.budgets.gossipDropped.take(count, nowMs)) connections.disconnect(session, 'too much gossip')
    }
  }

  async #judge(
    topic: Topic,
    peer: PeerId,
    data: Uint8Array,
    judge: (session: Session, data: Uint8Array) => Promise<Verdict>,
  ): Promise<'accept' | 'ignore' | 'unread' | 'ban'> {
    const { connections, metrics } = this.#options
    const session = this.#sessionOf(peer)
    if (session === undefined) return 'unread'
    metrics.receivedMessagesTotal.inc({ protocol: topic })
    metrics.receivedBytesTotal.inc({ protocol: topic }, data.length)
    const verdict = await judge(session, data)
    if (typeof verdict === 'string') return verdict
    connections.ban(session, verdict.ban)
    return 'ban'
  }

  #sessionOf(peer: PeerId): Session | undefined {
    const id = nodeIdOfPeer(peer)
    return id === undefined ? undefined : this.#options.connections.sessions.get(id)
  }
}

/** Lets a message in again when another peer sends it. Otherwise one that is not listened to could keep it from us by being first. */
function forget({ msgIdFn, msgIdToStrFn, seenCache }: GossipInternals, message: Message): void {
  seenCache.entries.delete(msgIdToStrFn(msgIdFn(message)))
}
