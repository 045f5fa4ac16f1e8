import { randomBytes } from 'node:crypto'
import type { OlderBlocks } from '../chain/store/olderBlocks.ts'
import type { BlockRequest, FetchedBlocks, Misbehaviour } from '../consensus/transport.ts'
import { ed25519Address, ed25519Key } from '../primitives/ed25519.ts'
import type { OfferedSnapshot, SnapshotSource } from '../snapshot/offeredSnapshots.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'
import { AddressBook } from './addressBook.ts'
import { AnswerSlots } from './answerSlots.ts'
import { type BlockSource, blockHandler, fetchBlocks } from './blockExchange.ts'
import { Connections } from './connections.ts'
import { ConsensusStreams } from './consensusStreams.ts'
import { GossipStreams } from './gossipStreams.ts'
import { GossipWork } from './gossipWork.ts'
import { fetchOlderBlocks, headerHandler, type OlderBlocksRequest, type OlderBlocksSource } from './headerExchange.ts'
import type { Hello, ValidatorProof } from './hello.ts'
import { MAX_GOSSIP_FRAME } from './host.ts'
import { KnownAddresses } from './knownAddresses.ts'
import { fetchLightBlock, type LightBlockReader, lightHandler } from './lightExchange.ts'
import { HANDSHAKE_LIMITS, LIMITS, type PeerCounts } from './limits.ts'
import { isMalformed } from './misbehaviour.ts'
import { type NetInfo, peerFacts } from './netInfo.ts'
import { nodeId } from './nodeKey.ts'
import { formatPeerAddress, type PeerAddress } from './peerAddress.ts'
import { PEERS_PER_ANSWER, peersHandler, statusHandler } from './peerExchange.ts'
import { PeerManager } from './peerManager.ts'
import { configuredIds, type PeerPolicy } from './peerPolicy.ts'
import { PROTOCOL_VERSION } from './protocols.ts'
import { ReadingTime } from './readingTime.ts'
import { serveRequests } from './requests.ts'
import type { Priority } from './sendQueue.ts'
import { ServedBytes } from './servedBytes.ts'
import type { Session } from './session.ts'
import { fetchOffers, fetchPiece, snapshotHandler } from './snapshotExchange.ts'
import { TOPICS, type Topic, TopicGossip, topicName } from './topicGossip.ts'
import { type AdmissionCounts, type HashedTransaction, TransactionGossip } from './transactionGossip.ts'

/** How often gossip streams are checked, see {@link TopicGossip.repair}. */
const REPAIR_MS = 2_000

/** Inbound connections that may be in their handshake. */
const PENDING_HANDSHAKES = HANDSHAKE_LIMITS.known.pending + HANDSHAKE_LIMITS.strangers.pending

/** How many peers a refusal names. */
const PEERS_IN_REFUSAL = 10

export interface NetworkOptions {
  /** 32 bytes: the node key's seed */
  readonly seed: Uint8Array
  readonly chainId: string
  readonly genesisHash: Uint8Array
  readonly moniker: string
  /** of this software */
  readonly version: string
  readonly listen: PeerAddress
  /** host:port to announce; if undefined, peers use the address of the connection, with this node's port */
  readonly externalAddress: string | undefined
  /** PUBLIC_RPC_URL */
  readonly rpcAddress: string | undefined
  /** made with this node's consensus key, whether it is a validator at present or not */
  readonly validator: ValidatorProof | undefined
  readonly policy: PeerPolicy
  readonly counts: PeerCounts
  /** file of the address book */
  readonly addressBookPath: string
  readonly blocks: BlockSource
  readonly snapshots: SnapshotSource
  readonly lightBlocks: LightBlockReader
  readonly olderBlocks: OlderBlocksSource
  /** height of the newest block, which may not be in `blocks` yet */
  readonly height: () => number
  /** number of messages of a session that the main thread has not handled yet */
  readonly unhandled: (session: Session) => number
  /** called with a bug of this software that was found while handling a peer */
  readonly onDefect: (error: Error) => void
  readonly metrics: NetworkMetrics
  readonly log: Logger
  /** milliseconds, monotonic */
  readonly now: () => number
}

/** Events of the network. No event of a session comes before its `joined` or after its `left`. */
export interface NetworkEvents {
  joined(session: Session): void
  left(session: Session): void
  /** called with an encoded consensus message within its sender's budget, in a separate array */
  message(session: Session, body: Uint8Array): void
  /** called with the protobuf of evidence, not decoded yet */
  evidence(session: Session, bytes: Uint8Array): Promise<'accept' | 'ignore' | 'reject'>
  /** called with encoded transactions from peers; resolves to the pool's results */
  transactions(transactions: readonly HashedTransaction[]): Promise<AdmissionCounts>
}

/**
 * The peer-to-peer network of this node. It combines the parts: connections and their handshake, the streams of consensus messages,
 * gossip of transactions and evidence, requests for blocks and peers, and the manager that decides which peers to dial and to accept.
 */
export class Network {
  readonly id: string
  readonly #options: NetworkOptions
  readonly #events: NetworkEvents
  readonly #connections: Connections
  readonly #streams: ConsensusStreams
  readonly #gossip: TopicGossip
  readonly #transactions: TransactionGossip
  readonly #book: AddressBook
  readonly #peers: PeerManager
  readonly #byHandle = new Map<number, Session>()
  #repairing: NodeJS.Timeout | undefined
  #isClosing = false

  private constructor(
    options: NetworkOptions,
    events: NetworkEvents,
    id: string,
    connections: Connections,
    known: KnownAddresses,
    gossipStreams: GossipStreams,
  ) {
    this.id = id
    this.#options = options
    this.#events = events
    this.#connections = connections
    const { metrics, now, log, counts, genesisHash } = options
    const policy = withoutSelf(options.policy, id)
    this.#streams = new ConsensusStreams({
      connections,
      metrics,
      now,
      height: options.height,
      unhandled: options.unhandled,
      isReserved: (session) => this.#peers.isReserved(session),
      onMessage: (session, body) => events.message(session, body),
    })
    this.#transactions = new TransactionGossip({
      metrics,
      now,
      admit: (transactions) => events.transactions(transactions),
      refused: (session, cost) => gossipWork.refused(session, cost),
    })
    const gossipWork = new GossipWork({
      isReserved: (session) => this.#peers.isReserved(session),
      ownerOf: (session) => this.#peers.ownerOf(session),
      hasRoom: (isReserved) => this.#transactions.hasRoom(isReserved),
      metrics,
      now,
    })
    this.#gossip = new TopicGossip({
      connections,
      streams: gossipStreams,
      genesisHash,
      metrics,
      now,
      validate: {
        transactions: (session, data) => this.#transactions.validate(session, data),
        evidence: async (session, data) => {
          if (data.length > LIMITS.evidenceBytes) return { ban: `evidence of ${data.length} bytes` }
          const verdict = await events.evidence(session, data)
          return verdict === 'reject' ? { ban: 'wrong evidence' } : verdict
        },
      },
      work: gossipWork,
    })
    this.#book = new AddressBook({
      path: options.addressBookPath,
      ownId: id,
      privateIds: policy.privateIds,
      isStrict: policy.isBookStrict,
      now: Date.now,
    })
    this.#peers = new PeerManager({
      id,
      connections,
      book: this.#book,
      known,
      policy,
      counts,
      ownAddress: options.validator && ed25519Address(options.validator.publicKey),
      metrics,
      log,
      now,
    })
  }

  /**
   * Starts to listen and to dial, in this order:
   *
   * 1. Creates the host without listening, and all parts that use it.
   * 2. Installs all handlers before a peer can connect: validation of gossip, consensus streams, requests.
   * 3. Listens.
   * 4. Subscribes to gossip, which libp2p allows once the host runs.
   * 5. Starts to dial known peers.
   * @throws Error when it is not possible to listen on the port
   */
  static async start(options: NetworkOptions, events: NetworkEvents): Promise<Network> {
    // 1.
    const id = nodeId(ed25519Key(options.seed).publicKey)
    const instance = new Uint8Array(randomBytes(16))
    const configured = configuredIds(options.policy)
    const { counts } = options
    const seeds = new Set(options.policy.seeds.map((seed) => seed.id))
    const known = new KnownAddresses()
    const gossipStreams = new GossipStreams(MAX_GOSSIP_FRAME)
    const connections = await Connections.create({
      seed: options.seed,
      id,
      listen: options.listen,
      maxConnections: PENDING_HANDSHAKES + 2 * (counts.inbound + counts.outbound) + configured.size,
      topics: TOPICS.map((topic) => topicName(topic, options.genesisHash)),
      gossipStreams,
      log: options.log,
      now: options.now,
      metrics: options.metrics,
      hello: (peer) => network.#hello(instance, configured.has(peer)),
      isConfigured: (peer) => configured.has(peer),
      isNamed: (peer) => configured.has(peer) || seeds.has(peer),
      isKnownAddress: (host) => known.has(host),
      refuse: (peer) => network.#peers.refuse(peer),
      others: (host) => network.#peers.known(PEERS_IN_REFUSAL, host),
      onEstablished: (session) => network.#established(session),
      onLeft: (session) => network.#left(session),
      isReserved: (session) => network.#peers.isReserved(session),
      onDefect: options.onDefect,
      onPeersNamed: (peers, source) => network.#peers.named(peers, source),
    })
    const network = new Network(options, events, id, connections, known, gossipStreams)
    // 2.
    await network.#serve()
    // 3.
    await connections.listen()
    // 4.
    network.#gossip.subscribe()
    network.#repairing = setInterval(() => network.#gossip.repair(), REPAIR_MS)
    // 5.
    network.#peers.start()
    options.log.info({ nodeId: id, address: formatPeerAddress(connections.listenAddress) }, 'listening for peers')
    return network
  }

  /** connected peers */
  get peerCount(): number {
    return this.#byHandle.size
  }

  /** peers that take part in the gossip of a topic */
  neighbours(topic: Topic): number {
    return this.#gossip.neighbours(topic)
  }

  /** where peers can connect, with the port that the system chose if 0 was configured */
  get listenAddress(): PeerAddress {
    return this.#connections.listenAddress
  }

  /** Sends an encoded consensus message to the sessions with these handles, except those that have ended. */
  send(handles: Iterable<number>, body: Uint8Array, priority: Priority | 'part'): void {
    const sessions: Session[] = []
    for (const handle of handles) {
      const session = this.#byHandle.get(handle)
      if (session !== undefined) sessions.push(session)
    }
    if (sessions.length > 0) this.#streams.send(sessions, body, priority)
  }

  /** @throws Error when the peer is gone, does not answer in time or its answer is invalid */
  fetchBlocks(id: string, request: BlockRequest): Promise<FetchedBlocks> {
    return this.#fetch(id, 'blocks', (session) => fetchBlocks(this.#options, session, request))
  }

  /** Returns the IDs of connected peers. */
  peerIds(): readonly string[] {
    return Array.from(this.#byHandle.values(), ({ id }) => id)
  }

  /** Fetches blocks without their transactions. @throws Error as above */
  fetchOlderBlocks(id: string, asked: OlderBlocksRequest): Promise<OlderBlocks> {
    return this.#fetch(id, 'headers', (session) => fetchOlderBlocks(this.#options, session, asked))
  }

  /** Requests a peer's list of snapshots. @throws Error when the peer is gone, does not answer in time or its answer is invalid */
  fetchOffers(id: string): Promise<readonly OfferedSnapshot[]> {
    return this.#fetch(id, 'snapshots', (session) => fetchOffers(this.#options, session))
  }

  /** Fetches a piece of a snapshot's file, see {@link fetchPiece}. @throws Error as above */
  fetchPiece(id: string, file: Parameters<typeof fetchPiece>[2]): ReturnType<typeof fetchPiece> {
    return this.#fetch(id, 'snapshots', (session) => fetchPiece(this.#options, session, file))
  }

  /**
   * Called by consensus and block sync when a peer broke the rules: it is banned. An `unresponsive` peer is only disconnected, if that
   * happens too often. See misbehaviour.ts.
   */
  punish(id: string, what: Misbehaviour, reason: string): void {
    const session = this.#connections.sessions.get(id)
    if (session === undefined) return
    if (what !== 'unresponsive') this.#connections.ban(session, `${what}: ${reason}`)
    else if (!session.budgets.failures.take(1, this.#options.now()) && !this.#peers.isReserved(session)) {
      this.#connections.disconnect(session, reason)
    }
  }

  /** @param data made by `encodeBatch` */
  async publishTransactions(data: Uint8Array): Promise<void> {
    if (this.#isClosing) return
    this.#transactions.published(data)
    await this.#gossip.publish('transactions', data)
  }

  /** @param bytes protobuf of evidence that this node has verified */
  async publishEvidence(bytes: Uint8Array): Promise<void> {
    if (!this.#isClosing) await this.#gossip.publish('evidence', bytes)
  }

  /** Sets the current validators, by consensus address; see {@link PeerManager.setValidators}. */
  setValidators(addresses: readonly Uint8Array[]): void {
    this.#peers.setValidators(addresses)
  }

  /** Returns the public facts about the peers, without private ones. */
  netInfo(): NetInfo {
    const nowMs = this.#options.now()
    const { privateIds } = this.#options.policy
    const shown = [...this.#byHandle.values()].filter(({ id }) => !privateIds.has(id))
    return {
      listening: true,
      listeners: [this.#options.externalAddress ?? formatPeerAddress(this.listenAddress)],
      peers: shown.map((session) => peerFacts(session, nowMs)),
    }
  }

  /** Closes all connections and saves the address book. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#repairing)
    this.#gossip.close()
    this.#peers.close()
    await this.#connections.close()
  }

  /** Fetches the encoded light block of a height, or the nearest one above that the peer has. @throws Error as above */
  fetchLightBlock(id: string, height: number): Promise<Uint8Array | undefined> {
    return this.#fetch(id, 'light block', (session) => fetchLightBlock(this.#options, session, height))
  }

  async #fetch<T>(id: string, what: string, fetch: (session: Session) => Promise<T>): Promise<T> {
    const session = this.#connections.sessions.get(id)
    if (session === undefined) throw new Error(`${id} is not connected`)
    try {
      return await fetch(session)
    } catch (error) {
      this.#connections.endOnDefect(error)
      if (isMalformed(error)) this.#connections.ban(session, `malformed ${what}: ${error.message}`)
      throw error
    }
  }

  async #serve(): Promise<void> {
    const { metrics, now, blocks, snapshots, lightBlocks, olderBlocks } = this.#options
    const context = { connections: this.#connections, metrics, now }
    const isReserved = (session: Session): boolean => this.#peers.isReserved(session)
    const ownerOf = (session: Session): string => this.#peers.ownerOf(session)
    const reading = new ReadingTime(now, metrics, ownerOf)
    this.#gossip.prepare()
    await this.#streams.start()
    const slots = { isReserved, ownerOf, now }
    const served = new ServedBytes(slots)
    await serveRequests(context, blockHandler(blocks, new AnswerSlots(slots), reading, served))
    if (this.#options.policy.exchangesPeers) {
      const answered = (session: Session): void => this.#peers.answered(session)
      await serveRequests(
        context,
        peersHandler((host) => this.#peers.known(PEERS_PER_ANSWER, host), answered),
      )
    }
    await serveRequests(
      context,
      statusHandler(() => this.#blockRange()),
    )
    await serveRequests(context, snapshotHandler(snapshots, now))
    await serveRequests(context, lightHandler(lightBlocks, reading))
    await serveRequests(context, headerHandler(olderBlocks, new AnswerSlots(slots), reading, served))
  }

  #blockRange(): { readonly base: number; readonly height: number } {
    const view = this.#options.blocks()
    const { base, height } = view
    void view.close()
    return { base, height }
  }

  #hello(instance: Uint8Array, isConfigured: boolean): Hello {
    const { chainId, genesisHash, moniker, version, externalAddress, rpcAddress, validator, policy } = this.#options
    const { exchangesPeers, isSeed } = policy
    // A node that takes no part in the exchange is in no address book; operators of other nodes configure a seed by hand.
    const isAnnounced = exchangesPeers && !isSeed
    return {
      protocolVersion: PROTOCOL_VERSION,
      genesisHash,
      chainId,
      version,
      moniker,
      externalAddress: (isAnnounced ? externalAddress : undefined) ?? '',
      listenPort: isAnnounced ? this.listenAddress.port : 0,
      rpcAddress: rpcAddress ?? '',
      ...this.#blockRange(),
      // Behind sentries, no other peer learns that this is a validator.
      validator: exchangesPeers || isConfigured ? validator : undefined,
      isVisit: isSeed && !isConfigured,
      instance,
    }
  }

  async #established(session: Session): Promise<void> {
    if (session.isVisit) {
      this.#peers.joined(session)
      return
    }
    await this.#streams.open(session)
    if (session.connection.status !== 'open') return
    this.#byHandle.set(session.handle, session)
    this.#peers.joined(session)
    this.#events.joined(session)
    session.joined.resolve()
  }

  #left(session: Session): void {
    // A stream that waits for `joined` continues and finds that it is closed.
    session.joined.resolve()
    if (session.isVisit) this.#peers.left(session)
    if (!this.#byHandle.delete(session.handle)) return
    this.#peers.left(session)
    this.#events.left(session)
  }
}

function withoutSelf(policy: PeerPolicy, ownId: string): PeerPolicy {
  const isOther = ({ id }: { readonly id: string }): boolean => id !== ownId
  return { ...policy, persistent: policy.persistent.filter(isOther), seeds: policy.seeds.filter(isOther) }
}
