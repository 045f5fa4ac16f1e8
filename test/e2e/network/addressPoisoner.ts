/**
 * A process that wants a node's address book and its places for itself: `node addressPoisoner.ts <JSON of PoisonerOptions>`. It has whole
 * networks of addresses, and as many identities as it likes. It prints a line when it has begun, and ends with the standard input; then it
 * prints what it did ({@link PoisonerReport}) as JSON.
 */
import { randomBytes, randomInt } from 'node:crypto'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection, Stream } from '@libp2p/interface'
import { meterOf } from '../../../src/p2p/connectionMeter.ts'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { encodeHandshakeMessage, type Hello, readHandshakeMessage } from '../../../src/p2p/hello.ts'
import { createHost, type Host } from '../../../src/p2p/host.ts'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import {
  type KnownPeer,
  type PeerAddress,
  parsePeerAddress,
  readKnownPeer,
  toMultiaddr,
  writeKnownPeer,
} from '../../../src/p2p/peerAddress.ts'
import { PROTOCOL_VERSION, PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { ed25519Key } from '../../../src/primitives/ed25519.ts'
import { ProtobufFields, ProtobufWriter } from '../../../src/primitives/protobuf.ts'

export interface PoisonerOptions {
  /** host:port each: poisoned, and their places taken */
  readonly targets: readonly string[]
  /** host:port each: flooded with connections */
  readonly flooded: readonly string[]
  /** first two numbers of each /16 that is all theirs, like `45.1` */
  readonly networks: readonly string[]
  readonly chainId: string
  /** 64 hex digits */
  readonly genesisHash: string
  readonly identities: number
}

export interface PoisonerReport {
  /** sessions that a target gave one of them, and those that a target has opened itself */
  readonly joined: number
  readonly dialled: number
  /** refused because there is no place */
  readonly refused: number
  /** connections without a word */
  readonly flood: number
  /** addresses that they have named */
  readonly named: number
  /** all that they were told: addresses, and IDs of nodes */
  readonly told: readonly string[]
}

const PEERS_PER_ANSWER = 64
const FLOOD_MS = 5
const RETURN_MS = 400
const ASK_MS = 6_000
const FIRST_PORT = 30_000

const options = JSON.parse(process.argv[2]!) as PoisonerOptions
const genesisHash = hexToBytes(`0x${options.genesisHash}`)
const counts = { joined: 0, dialled: 0, refused: 0, flood: 0, named: 0 }
const told = new Set<string>()
const stopping = new AbortController()
const isOver = (): boolean => stopping.signal.aborted

const anyHost = (network: string): string => `${network}.${randomInt(256)}.${randomInt(1, 255)}`
const anyNetwork = (): string => options.networks[randomInt(options.networks.length)]!

/** libp2p has no option for the address that a connection comes from. */
const connect = net.connect as (options: net.TcpNetConnectOpts) => net.Socket
net.connect = ((target: net.TcpNetConnectOpts) =>
  connect({ ...target, localAddress: anyHost(anyNetwork()) })) as typeof net.connect

interface Identity {
  readonly id: string
  readonly host: Host
  readonly port: number
}

/** Addresses of their own machines, of nobody, and of whole other networks; all of them validators, as they say. */
function poison(identities: readonly Identity[]): readonly KnownPeer[] {
  counts.named += PEERS_PER_ANSWER
  return Array.from({ length: PEERS_PER_ANSWER }, (_, index) => {
    const { id, port } = identities[randomInt(identities.length)]!
    if (index % 4 === 0) return { id, address: `${anyHost(anyNetwork())}:${port}`, isValidator: true }
    const host = index % 2 === 0 ? anyHost(anyNetwork()) : anyHost(`${randomInt(50, 120)}.${randomInt(256)}`)
    return { id: randomBytes(20).toString('hex'), address: `${host}:${randomInt(1, 65_536)}`, isValidator: true }
  })
}

const identities: Identity[] = []

async function createIdentity(index: number): Promise<Identity> {
  const key = ed25519Key(new Uint8Array(randomBytes(32)))
  const port = FIRST_PORT + index
  const host = await createHost({
    seed: key.seed,
    listen: { host: '0.0.0.0', port },
    maxConnections: 100,
    topics: [],
    gater: { denyDialMultiaddr: () => false },
    now: () => performance.now(),
  })
  for (const protocol of [PROTOCOLS.consensus, PROTOCOLS.parts]) await host.handle(protocol, () => undefined)
  await host.handle(PROTOCOLS.peers, async (stream) => {
    stream.send(
      encodeFrame(new ProtobufWriter().varint(1, 1).repeatedMessage(2, writeKnownPeer, poison(identities)).finish()),
    )
    await stream.close().catch(() => undefined)
  })
  await host.handle(PROTOCOLS.hello, async (stream, connection) => {
    meterOf(connection).isKnown = true
    await readHandshakeMessage(stream)
    stream.send(encodeFrame(encodeHandshakeMessage({ kind: 'hello', hello: createHello(port) })))
    counts.dialled++
    await openStreams(connection)
  })
  await host.start()
  return { id: nodeId(key.publicKey), host, port }
}

const createHello = (port: number): Hello => ({
  protocolVersion: PROTOCOL_VERSION,
  genesisHash,
  chainId: options.chainId,
  version: '0',
  moniker: 'hostile',
  externalAddress: `${anyHost(anyNetwork())}:${port}`,
  listenPort: port,
  rpcAddress: '',
  base: 1,
  height: 1,
  validator: undefined,
  isVisit: false,
  instance: new Uint8Array(randomBytes(16)),
})

async function openStreams(connection: Connection): Promise<void> {
  for (const protocol of [PROTOCOLS.consensus, PROTOCOLS.parts]) await connection.newStream(protocol)
}

function learn(peers: readonly KnownPeer[]): void {
  for (const { id, address } of peers) told.add(id).add(address)
}

/** Takes a place at the target, stays as long as it may, and asks for whom it knows. */
async function occupy({ host, port }: Identity, target: PeerAddress): Promise<void> {
  const connection = await host.dial(toMultiaddr(target), { signal: AbortSignal.timeout(5_000) })
  try {
    meterOf(connection).isKnown = true
    const stream = await connection.newStream(PROTOCOLS.hello)
    stream.send(encodeFrame(encodeHandshakeMessage({ kind: 'hello', hello: createHello(port) })))
    const answer = await readHandshakeMessage(stream)
    if (answer.kind === 'refusal') {
      counts.refused++
      learn(answer.refusal.peers)
      return
    }
    told.add(answer.hello.externalAddress)
    counts.joined++
    await openStreams(connection)
    while (!isOver() && connection.status === 'open') {
      learn(await askForPeers(await connection.newStream(PROTOCOLS.peers)))
      await sleep(ASK_MS)
    }
  } finally {
    connection.abort(new Error('again'))
  }
}

async function askForPeers(stream: Stream): Promise<readonly KnownPeer[]> {
  stream.send(encodeFrame(Uint8Array.of(0)))
  await stream.close()
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk.subarray())
  return new ProtobufFields(new Uint8Array(Buffer.concat(chunks)).subarray(4)).repeatedMessage(2, readKnownPeer)
}

async function occupyAgain(identity: Identity, target: PeerAddress): Promise<void> {
  while (!isOver()) {
    await occupy(identity, target).catch(() => undefined)
    await sleep(RETURN_MS + randomInt(RETURN_MS))
  }
}

/** Connections that say nothing, from everywhere. */
async function flood(target: PeerAddress): Promise<void> {
  while (!isOver()) {
    const socket = net.connect(target)
    counts.flood++
    socket.on('error', () => undefined)
    setTimeout(() => socket.destroy(), 2_000)
    await sleep(FLOOD_MS)
  }
}

// The streams of connections that break throw from timers, as they do in a node.
process.on('uncaughtException', () => undefined)
process.on('unhandledRejection', () => undefined)
process.stdin.on('end', () => stopping.abort())
process.stdin.resume()

for (let index = 0; index < options.identities; index++) identities.push(await createIdentity(index))
const addressesOf = (texts: readonly string[]): readonly PeerAddress[] => texts.map((text) => parsePeerAddress(text)!)
for (const target of addressesOf(options.targets)) for (const identity of identities) void occupyAgain(identity, target)
for (const target of addressesOf(options.flooded)) void flood(target)
console.log('begun')
await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve))
console.log(JSON.stringify({ ...counts, told: [...told] } satisfies PoisonerReport))
process.exit()
