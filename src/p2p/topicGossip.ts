import { TopicValidatorResult } from '@libp2p/gossipsub'
import type { Connection, PeerId } from '@libp2p/interface'
import { bytesKey, bytesToHex } from '../primitives/bytes.ts'
import { sha256 } from '../primitives/hash.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import type { Connections } from './connections.ts'
import type { GossipFrame, GossipStreams } from './gossipStreams.ts'
import type { GossipWork } from './gossipWork.ts'
import { GOSSIP_WORK, LIMITS } from './limits.ts'
import { nodeIdOfPeer } from './peerAddress.ts'
import type { Session } from './session.ts'
import { countTransactions, SeenHashes, type Verdict } from './transactionGossip.ts'

export const TOPICS = ['transactions', 'evidence'] as const

export type Topic = (typeof TOPICS)[number]

/** Returns a topic's name on the wire; each chain has its own. */
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
  readonly work: Pick<GossipWork, 'take' | 'checking'>
}

/** Age at which a session without a gossip stream gets one. */
const REPAIR_MS = 3_000
/** A transaction that could not be sent to any peer for longer is dropped: the pool repeats those that still wait for a block. */
const HELD_MS = 15_000

interface HeldMessage {
  readonly topic: Topic
  readonly data: Uint8Array
  readonly atMs: number
}

/** Messages that gossipsub has. It forgets them after as long. */
const SEEN = { maxSize: 200_000, lifetimeMs: 60_000 }

/**
 * TopicGossip of transactions and evidence, which every node of the chain should get. Messages of peers wait for their turn ({@link GossipWork})
 * and are validated before they are relayed.
 */
export class TopicGossip {
  readonly #options: GossipOptions
  /** published when no neighbour could be told; oldest first */
  #held: HeldMessage[] = []
  /** by the hash of their data */
  readonly #seen: SeenHashes
  readonly #topics: ReadonlyMap<string, Topic>

  constructor(options: GossipOptions) {
    this.#options = options
    this.#seen = new SeenHashes(SEEN, options.now())
    this.#topics = new Map(TOPICS.map((topic) => [topicName(topic, options.genesisHash), topic]))
  }

  /** Installs the validation; called before the host listens, so that no message bypasses it. */
  prepare(): void {
    const { connections, streams, validate, metrics } = this.#options
    const { pubsub } = connections.host.services
    streams.guard = {
      opens: async (connection) => (await connections.sessionOf(connection)) !== undefined,
      admit: (connection, frame, proceed) => this.#admit(connection, frame, proceed),
      dropped: (messages) => metrics.droppedTotal.inc({ reason: 'slow peer' }, messages),
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
   * Sends to the neighbours in the topic's mesh. A peer that has just joined is not a neighbour
   * yet. The message waits for the first neighbour, because gossipsub would send it to no peer, and
   * would not send the same bytes again.
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
    const { connections, metrics, genesisHash, now } = this.#options
    this.#seen.add(idOf(data), now())
    const { recipients } = await connections.host.services.pubsub.publish(topicName(topic, genesisHash), data)
    metrics.sentBytesTotal.inc({ protocol: topic }, data.length * recipients.length)
  }

  /** Returns the number of neighbours in a topic. */
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

  /** Returns whether a message would reach any neighbour. */
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
   * Decides on a frame of a peer. Frames with nothing but messages that gossipsub has already are dropped. What is dropped or waits
   * here, gossipsub may take from another peer meanwhile.
   */
  #admit(
    connection: Connection,
    frame: GossipFrame,
    proceed: (passes: boolean) => void,
  ): 'pass' | 'drop' | (() => void) {
    const session = this.#sessionOf(connection.remotePeer)
    if (session === undefined) return 'drop'
    if (frame.fields === undefined) {
      this.#options.connections.ban(session, 'malformed gossip')
      return 'drop'
    }
    const messages = frame.messages.flatMap(({ topic: name, data }) => {
      const topic = this.#topics.get(name)
      return topic === undefined ? [] : { topic, data, id: idOf(data) }
    })
    const fresh = (): typeof messages => {
      this.#seen.expire(this.#options.now())
      return messages.filter(({ id }) => !this.#seen.has(id))
    }
    const passes = (): boolean => frame.hasMore || fresh().length > 0
    const work = this.#options.work.take(
      session,
      () => costOf(frame, fresh()),
      () => proceed(passes()),
    )
    if (work !== true) return work
    return passes() ? 'pass' : 'drop'
  }

  async #validate(
    topic: Topic,
    peer: PeerId,
    data: Uint8Array,
    validate: (session: Session, data: Uint8Array) => Promise<Verdict>,
  ): Promise<'accept' | 'ignore' | 'unread' | 'ban'> {
    const { connections, metrics } = this.#options
    this.#seen.add(idOf(data), this.#options.now())
    const session = this.#sessionOf(peer)
    if (session === undefined) return 'unread'
    metrics.receivedMessagesTotal.inc({ protocol: topic })
    metrics.receivedBytesTotal.inc({ protocol: topic }, data.length)
    const checked = this.#options.work.checking(session, topic === 'transactions' ? countTransactions(data) : 0)
    let verdict: Verdict
    try {
      verdict = await validate(session, data)
    } catch (error) {
      connections.endOnDefect(error)
      throw error
    } finally {
      checked()
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

/** Returns the ID of a message by its data alone, as gossipsub tells messages apart (`msgIdFn` in host.ts). */
function idOf(data: Uint8Array): string {
  return bytesKey(sha256(data))
}

/** Returns the work for a frame with these new messages, in units of {@link GOSSIP_WORK}. */
function costOf(
  { bytes, fields = 0, wanted }: GossipFrame,
  fresh: readonly { readonly topic: Topic; readonly data: Uint8Array }[],
): number {
  const { frame, message, transaction, evidence } = GOSSIP_WORK
  let cost = frame.each + (bytes / 1_024) * frame.perKib + fields * frame.perField + wanted * frame.perWanted
  for (const { topic, data } of fresh) {
    cost += message.each + (data.length / 1_024) * message.perKib
    cost += topic === 'evidence' ? evidence : countTransactions(data) * transaction
  }
  return cost
}
