import { randomBytes } from 'node:crypto'
import type { Connection, Stream } from '@libp2p/interface'
import { meterOf } from '../../../src/p2p/connectionMeter.ts'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import {
  decodeHandshakeMessage,
  encodeHandshakeMessage,
  type HandshakeMessage,
  type Hello,
} from '../../../src/p2p/hello.ts'
import { createHost, type Host } from '../../../src/p2p/host.ts'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import { toMultiaddr } from '../../../src/p2p/peerAddress.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import type { Ed25519Key } from '../../../src/primitives/ed25519.ts'
import { GENESIS_HASH, randomKey, type TestNode, until } from './testNode.ts'

/** A peer that speaks the wire protocols and breaks their rules. */
export interface Attacker {
  readonly id: string
  readonly host: Host
  readonly hello: Hello
  /** connects without sending anything */
  connect(target: TestNode): Promise<Connection>
  /** connects and sends its handshake message; undefined: no answer */
  greet(
    target: TestNode,
    message?: Uint8Array,
  ): Promise<{ connection: Connection; answer: HandshakeMessage | undefined }>
  /** becomes a peer */
  join(target: TestNode): Promise<Connection>
}

const running: Host[] = []

export async function startAttacker(options: { topics?: readonly string[]; key?: Ed25519Key } = {}): Promise<Attacker> {
  const key = options.key ?? randomKey()
  const host = await createHost({
    seed: key.seed,
    listen: { host: '127.0.0.1', port: 0 },
    maxConnections: 500,
    topics: options.topics ?? [],
    gater: {},
    now: () => performance.now(),
  })
  // It accepts the streams of its victims, and never reads them unless a test does.
  for (const protocol of [PROTOCOLS.consensus, PROTOCOLS.parts]) await host.handle(protocol, () => undefined)
  await host.start()
  running.push(host)
  const hello: Hello = {
    protocolVersion: 1,
    genesisHash: GENESIS_HASH,
    chainId: 'coin_7-1',
    version: '0',
    moniker: 'attacker',
    externalAddress: '',
    listenPort: 0,
    rpcAddress: '',
    base: 1,
    height: 1,
    validator: undefined,
    isVisit: false,
    instance: new Uint8Array(randomBytes(16)),
  }
  const id = nodeId(key.publicKey)
  const attacker: Attacker = {
    id,
    host,
    hello,
    connect: async (target) => {
      const connection = await host.dial(toMultiaddr(target.peer.address))
      // The connection uses our own muxer, whose limits must not apply to an attacker.
      meterOf(connection).isKnown = true
      return connection
    },
    greet: async (target, message = encodeHandshakeMessage({ kind: 'hello', hello })) => {
      const connection = await attacker.connect(target)
      const stream = await connection.newStream(PROTOCOLS.hello)
      stream.send(encodeFrame(message))
      return { connection, answer: await readHandshakeMessage(stream) }
    },
    join: async (target) => {
      const { connection } = await attacker.greet(target)
      await until('the attacker is a peer', () => target.sessions.has(id))
      return connection
    },
  }
  return attacker
}

/** For `afterEach`. */
export async function closeAttackers(): Promise<void> {
  await Promise.all(running.splice(0).map((host) => host.stop()))
}

async function readHandshakeMessage(stream: Stream): Promise<HandshakeMessage | undefined> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of stream) chunks.push(chunk.subarray())
  } catch {
    return undefined
  }
  const bytes = Buffer.concat(chunks)
  return bytes.length <= 4 ? undefined : decodeHandshakeMessage(new Uint8Array(bytes.subarray(4)))
}
