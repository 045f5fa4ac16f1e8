import { randomBytes } from 'node:crypto'
import type { Connection } from '@libp2p/interface'
import { meterOf } from '../../../src/p2p/connectionMeter.ts'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { encodeHandshakeMessage, type Hello, readHandshakeMessage } from '../../../src/p2p/hello.ts'
import { createHost, type Host } from '../../../src/p2p/host.ts'
import { LIMITS } from '../../../src/p2p/limits.ts'
import { type PeerAddress, toMultiaddr } from '../../../src/p2p/peerAddress.ts'
import { PROTOCOL_VERSION, PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { ed25519Key } from '../../../src/primitives/ed25519.ts'

/** A connection to a node, as a peer that nobody has seen before, whose hello was accepted. */
export interface Visit {
  readonly target: PeerAddress
  readonly host: Host
  readonly connection: Connection
}

export interface VisitOptions {
  readonly target: PeerAddress
  readonly chain: { readonly id: string; readonly genesisHash: Uint8Array }
  /** the visitor's newest block, as it says */
  readonly height: number
  /** of gossip */
  readonly topic: string
  /** host:port that the visitor announces as its own; undefined: none */
  readonly externalAddress?: string
  /** IP address that the visitor comes from; by default the system chooses one */
  readonly from?: string
}

/** Connects as a new peer and attacks, until `attack` ends or the peer is banned. Never throws. */
export async function visitNode(options: VisitOptions, attack: (visit: Visit) => Promise<void>): Promise<void> {
  const { target, topic, from } = options
  const host = await createHost({
    seed: ed25519Key(new Uint8Array(randomBytes(32))).seed,
    listen: { host: '127.0.0.1', port: 0 },
    ...(from !== undefined && { dialFrom: from }),
    maxConnections: 10,
    topics: [topic],
    gater: { denyDialMultiaddr: () => false },
    now: () => performance.now(),
  })
  try {
    for (const protocol of [PROTOCOLS.consensus, PROTOCOLS.parts]) await host.handle(protocol, () => undefined)
    await host.start()
    host.services.pubsub.subscribe(topic)
    const connection = await greet(host, options)
    if (connection !== undefined) await attack({ target, host, connection })
  } catch {
    // Being banned is the expected end.
  } finally {
    await host.stop()
  }
}

/** Connects a visitor to a node. @returns undefined when the node refuses it @throws Error when there is no connection */
export async function greet(host: Host, options: VisitOptions): Promise<Connection | undefined> {
  const connection = await host.dial(toMultiaddr(options.target), { signal: AbortSignal.timeout(LIMITS.dialMs) })
  // The connection uses the node's own muxer, whose limits must not apply to an attacker.
  meterOf(connection).isKnown = true
  const stream = await connection.newStream(PROTOCOLS.hello)
  stream.send(encodeFrame(encodeHandshakeMessage({ kind: 'hello', hello: createHello(options) })))
  return (await readHandshakeMessage(stream)).kind === 'refusal' ? undefined : connection
}

/** What a visitor says of itself. */
export function createHello({
  chain,
  height,
  externalAddress = '',
}: Pick<VisitOptions, 'chain' | 'height' | 'externalAddress'>): Hello {
  return {
    protocolVersion: PROTOCOL_VERSION,
    genesisHash: chain.genesisHash,
    chainId: chain.id,
    version: '0',
    moniker: 'hostile',
    externalAddress,
    listenPort: 0,
    rpcAddress: '',
    base: 1,
    height,
    validator: undefined,
    isVisit: false,
    instance: new Uint8Array(randomBytes(16)),
  }
}
