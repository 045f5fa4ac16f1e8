import { generateKeyPairFromSeed } from '@libp2p/crypto/keys'
import {
  type GossipSub,
  type GossipSubComponents,
  type GossipsubOpts,
  gossipsub,
  StrictNoSign,
} from '@libp2p/gossipsub'
import { type Identify, identify } from '@libp2p/identify'
import type { ConnectionGater, Libp2p, PeerId } from '@libp2p/interface'
import { type TCPOptions, tcp } from '@libp2p/tcp'
import { createLibp2p } from 'libp2p'
import { sha256 } from '../primitives/hash.ts'
import { ConnectionMeters, type MetersOptions } from './connectionMeter.ts'
import type { GossipStreams } from './gossipStreams.ts'
import { guardedTcp } from './guardedTcp.ts'
import type { HandshakePlaces } from './handshakePlaces.ts'
import { LIMITS } from './limits.ts'
import { meteredYamux } from './meteredMuxer.ts'
import { meteredNoise, meteredTransport } from './meteredTransport.ts'
import { type PeerAddress, toMultiaddr } from './peerAddress.ts'

interface HostOptions extends MetersOptions {
  /** 32 bytes, the seed of the node key */
  readonly seed: Uint8Array
  readonly listen: PeerAddress
  /** IP address that its connections come from; by default the system chooses one */
  readonly dialFrom?: string
  /** in all, including those before their hello */
  readonly maxConnections: number
  /** the only allowed topics of gossip */
  readonly topics: readonly string[]
  readonly gater: ConnectionGater
  /** for inbound connections; undefined when all of them may begin a handshake */
  readonly places?: HandshakePlaces
  /** stands between gossip and its streams; by default nothing does */
  readonly gossipStreams?: GossipStreams
}

const TCP = {
  // About as many connections are accepted in one turn of the event loop.
  backlog: 128,
  // Streams may be silent for a long time, but on a live connection yamux pings arrive.
  inboundSocketInactivityTimeout: LIMITS.silentMs,
  outboundSocketInactivityTimeout: LIMITS.silentMs,
} as const

/** libp2p's identify takes at most half as long. */
const FORGET_MS = 10_000

/** Bytes of gossip that may come in one frame. */
export const MAX_GOSSIP_FRAME = 4 * LIMITS.batchBytes

/** Options of libp2p's TCP with which it dials from this IP address; `net.connect` gets them, but libp2p's types do not name this one. */
export function dialingFrom(localAddress: string): Pick<TCPOptions, 'dialOpts'> {
  const dialOpts: object = { localAddress }
  return { dialOpts }
}

export type Host = Libp2p<{ readonly identify: Identify; readonly pubsub: GossipSub }>

/**
 * Creates libp2p as this node uses it: TCP, noise, yamux, gossip. It does not dial peers by itself.
 * Many honest nodes may share one address, so libp2p's limits per address are turned off.
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const meters = new ConnectionMeters(options)
  const tcpOptions = options.dialFrom === undefined ? TCP : { ...TCP, ...dialingFrom(options.dialFrom) }
  const transport = options.places === undefined ? tcp(tcpOptions) : guardedTcp(tcpOptions, options.places)
  const host: Host = await createLibp2p({
    start: false,
    privateKey: await generateKeyPairFromSeed('Ed25519', options.seed),
    nodeInfo: { userAgent: 'coind' },
    addresses: { listen: [toListenAddress(options.listen)] },
    transports: [meteredTransport(transport, meters)],
    connectionEncrypters: [meteredNoise(meters)],
    streamMuxers: [meteredYamux(meters, options.now)],
    connectionGater: options.gater,
    connectionManager: {
      maxConnections: options.maxConnections,
      // Off: `places` has limits by address and for all that cost less.
      inboundConnectionThreshold: Number.MAX_SAFE_INTEGER,
      maxIncomingPendingConnections: Number.MAX_SAFE_INTEGER,
      inboundUpgradeTimeout: LIMITS.helloMs,
      inboundStreamProtocolNegotiationTimeout: LIMITS.helloMs,
      outboundStreamProtocolNegotiationTimeout: LIMITS.helloMs,
      dialTimeout: LIMITS.dialMs,
      addressDialTimeout: LIMITS.dialMs,
      maxParallelDials: 16,
      reconnectRetries: 0,
    },
    // Off: it opens a stream for each ping, and after a late answer it would close a validator's connection.
    connectionMonitor: { enabled: false },
    services: {
      identify: identify({ maxInboundStreams: 2, maxOutboundStreams: 2, runOnConnectionOpen: true }),
      pubsub: createGossip(options, {
        D: 8,
        Dlo: 6,
        Dhi: 12,
        Dlazy: 6,
        allowedTopics: [...options.topics],
        globalSignaturePolicy: StrictNoSign,
        msgIdFn: (message) => sha256(message.data).subarray(0, 20),
        fallbackToFloodsub: false,
        floodPublish: false,
        batchPublish: true,
        doPX: false,
        emitSelf: false,
        allowPublishToZeroTopicPeers: true,
        ignoreDuplicatePublishError: true,
        tagMeshPeers: false,
        // For smaller messages, an IDONTWANT to every neighbour would take more traffic than it saves.
        idontwantMinDataSize: LIMITS.batchBytes / 4,
        seenTTL: 60_000,
        mcacheLength: 6,
        mcacheGossip: 3,
        maxInboundStreams: 2,
        maxOutboundStreams: 2,
        maxOutboundBufferSize: 8 << 20,
        maxInboundDataLength: MAX_GOSSIP_FRAME,
        maxTopicBytesPerPeer: 16 << 10,
        decodeRpcLimits: {
          maxSubscriptions: 16,
          maxMessages: 512,
          maxIhaveMessageIDs: 5_000,
          maxIwantMessageIDs: 5_000,
          maxIdontwantMessageIDs: 512,
          maxControlMessages: 512,
          maxPeerInfos: 0,
        },
        // An honest peer announces messages twice per second at most, once for each topic, so its penalties for answers that this
        // node reads late stay below 2.5. A peer that announces more than it sends is pruned.
        scoreParams: { IPColocationFactorWeight: 0, behaviourPenaltyThreshold: 4 },
      }),
    },
  })
  host.addEventListener('peer:disconnect', ({ detail }) => forget(host, detail))
  return host
}

/**
 * Deletes what libp2p stores of a peer that has left: its addresses, protocols and signed record, up to 8 KiB, which it would keep for each
 * identity that was ever connected.
 */
function forget(host: Host, peer: PeerId): void {
  const remove = async (): Promise<void> => {
    if (host.status === 'started' && host.getConnections(peer).length === 0) await host.peerStore.delete(peer)
  }
  void remove()
  // What the peer has said of itself may still be under way.
  setTimeout(remove, FORGET_MS).unref()
}

function createGossip(
  { gossipStreams }: Pick<HostOptions, 'gossipStreams'>,
  init: Partial<GossipsubOpts>,
): (components: GossipSubComponents) => GossipSub {
  const create = gossipsub(init)
  return ({ privateKey, peerId, peerStore, registrar, connectionManager, logger }) =>
    create({
      privateKey,
      peerId,
      peerStore,
      registrar: gossipStreams?.wrap(registrar) ?? registrar,
      connectionManager,
      logger,
    })
}

function toListenAddress(listen: PeerAddress): string {
  return toMultiaddr(listen).toString()
}
