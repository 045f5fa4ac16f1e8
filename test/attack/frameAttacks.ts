import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { encodeHandshakeMessage } from '../../src/p2p/hello.ts'
import { PROTOCOLS } from '../../src/p2p/protocols.ts'
import { FLAG, FRAME } from '../../src/p2p/yamuxFrames.ts'
import { concatBytes, hexToBytes } from '../../src/primitives/bytes.ts'
import { ed25519Key } from '../../src/primitives/ed25519.ts'
import { createHello } from '../e2e/network/hostileVisit.ts'
import { connectRaw, frame, helloFrame, line, opening, type RawPeer } from '../e2e/network/rawPeer.ts'
import type { Attack, Run } from './attack.ts'

const BURST_MS = 20
const SESSIONS = 8
/** Milliseconds after which a node has answered a hello. */
const HELLO_MS = 500
/** Bytes that wait in an attacker's own process before it goes on. */
const AHEAD = 4 << 20
const CHUNK = 64 << 10

/** Sends a piece of the attack and returns its bytes. @param stream a number that no stream of the peer has had */
type Send = (peer: RawPeer, stream: () => number) => number

const bytesOf =
  (next: (stream: () => number) => Uint8Array): Send =>
  (peer, stream) => {
    const bytes = next(stream)
    peer.encrypted.send(bytes)
    return bytes.length
  }

function filled(bytes: Uint8Array): Uint8Array {
  return concatBytes(...Array.from({ length: Math.ceil(CHUNK / bytes.length) }, () => bytes))
}

interface Manners {
  /** whether it reads the answers; by default it does */
  readonly reads?: boolean
  /** whether it says hello; by default it does */
  readonly greets?: boolean
}

/** An attack by peers that come again under another name when they are cut off. */
function byPeers(name: string, what: string, send: Send, manners: Manners = {}): Attack {
  return {
    name,
    what: `# peers at a time that ${what}`,
    size: SESSIONS,
    needs: { sessions: SESSIONS, bytes: CHUNK },
    prepare: async (run) => () => many(run, (peer) => flood(run, peer, send, manners)),
  }
}

async function many(run: Run, attack: (peer: RawPeer) => Promise<void>): Promise<void> {
  const keepComing = async (): Promise<void> => {
    while (!run.signal.aborted) {
      await visit(run, attack).catch(() => run.count('refused'))
      await sleep(BURST_MS)
    }
  }
  await Promise.all(Array.from({ length: run.size }, keepComing))
}

async function visit(run: Run, attack: (peer: RawPeer) => Promise<void>): Promise<void> {
  const { target, signal, count } = run
  const key = ed25519Key(new Uint8Array(randomBytes(32)))
  const address = { host: target.peerHost, port: target.peerPort }
  const peer = await connectRaw(address, key, undefined, run.freshAddress())
  const end = (): void => void peer.stop()
  signal.addEventListener('abort', end, { once: true })
  count('sessions')
  try {
    await attack(peer)
  } finally {
    signal.removeEventListener('abort', end)
    await peer.stop()
  }
}

/** Sends as much as the node takes, until it ends the connection. */
async function flood(run: Run, peer: RawPeer, send: Send, { reads = true, greets = true }: Manners): Promise<void> {
  if (greets) {
    const { chainId, genesisHash } = run.target
    const hello = createHello({ chain: { id: chainId, genesisHash: hexToBytes(`0x${genesisHash}`) }, height: 1 })
    peer.encrypted.send(helloFrame(encodeHandshakeMessage({ kind: 'hello', hello })))
    await sleep(HELLO_MS)
  }
  if (!reads) peer.socket.pause()
  let last = 1
  const stream = (): number => {
    last += 2
    return last
  }
  while (peer.isOpen() && !run.signal.aborted) {
    run.count('bytes', send(peer, stream))
    await sleep(peer.encrypted.writeBufferLength + peer.socket.writeBufferLength > AHEAD ? BURST_MS : 0)
  }
  if (!run.signal.aborted) run.count('ended')
}

const PINGS = filled(frame({ type: FRAME.ping, flags: FLAG.syn }))
const SMALL_DATA = filled(frame({ type: FRAME.data, streamId: 3 }, Uint8Array.of(0)))
const UPDATES = filled(frame({ type: FRAME.windowUpdate, streamId: 3, length: 1 }))
/** A part that takes long to come, a byte a frame. */
const PART_LENGTH = Uint8Array.of(0, 1, 0, 0)
const LARGE_DATA = frame({ type: FRAME.data, streamId: 99 }, new Uint8Array(CHUNK))
const ANNOUNCED = frame({ type: FRAME.data, streamId: 99, length: 2 ** 32 - 1 })
const LISTS = filled(line('ls'))
const ZEROS = new Uint8Array(CHUNK)
const EMPTY = new Uint8Array()
const MESSAGES = 1_000

const surplusStreams = bytesOf((stream) =>
  concatBytes(
    ...Array.from({ length: MESSAGES }, () => frame({ type: FRAME.windowUpdate, flags: FLAG.syn, streamId: stream() })),
  ),
)
const emptyMessages: Send = (peer) => {
  for (let sent = 0; sent < MESSAGES; sent++) peer.sendMessage(EMPTY)
  return MESSAGES * 18
}

/** The most content of one message of the encryption. */
const MESSAGE_BYTES = 65_519
/** One byte for a stream that waits, in a message as long as it may be. */
function pinning(streamId: number): Uint8Array {
  const byte = frame({ type: FRAME.data, streamId }, Uint8Array.of(0))
  const rest = MESSAGE_BYTES - byte.length - frame({ type: FRAME.ping }).length
  return concatBytes(byte, frame({ type: FRAME.data, streamId: 99 }, new Uint8Array(rest)))
}

/** The second request for peers is read after five seconds, the third after ten. */
const waitingRequests = (): Send => {
  const opened = new WeakMap<RawPeer, number>()
  return (peer, stream) => {
    const first = opened.get(peer)
    if (first === undefined) {
      const [done, waiting] = [stream(), stream()]
      opened.set(peer, waiting)
      const bytes = opening(done, PROTOCOLS.peers, Uint8Array.of(0, 0, 0, 1, 0))
      peer.encrypted.send(bytes)
      const end = frame({ type: FRAME.windowUpdate, flags: FLAG.fin, streamId: done })
      setTimeout(() => peer.encrypted.send(concatBytes(end, opening(waiting, PROTOCOLS.peers))), 300)
      return bytes.length
    }
    const bytes = pinning(first)
    peer.encrypted.send(bytes)
    return bytes.length
  }
}

/** What peers can send to port 26656 below the protocols: encrypted messages and yamux's frames that are written by hand. */
export const FRAME_ATTACKS: readonly Attack[] = [
  byPeers(
    'announced frames',
    'announce a frame of 4 GiB and send zeros',
    bytesOf((stream) => (stream() === 3 ? ANNOUNCED : ZEROS)),
  ),
  byPeers(
    'pings',
    'ping without a pause',
    bytesOf(() => PINGS),
  ),
  byPeers(
    'unread pings',
    'ping without a pause and read nothing',
    bytesOf(() => PINGS),
    { reads: false },
  ),
  byPeers('bytes that hold messages', 'send single bytes in long messages to a stream that waits', waitingRequests()),
  byPeers('surplus streams', 'open streams without a pause', surplusStreams),
  byPeers(
    'data of one byte',
    'send data of one byte and read nothing',
    bytesOf((stream) => (stream() === 3 ? opening(3, PROTOCOLS.parts, PART_LENGTH) : SMALL_DATA)),
    { reads: false },
  ),
  byPeers(
    'window updates',
    'raise a window by one byte at a time',
    bytesOf(() => UPDATES),
  ),
  byPeers(
    'data of no stream',
    'send data as fast as it is taken',
    bytesOf(() => LARGE_DATA),
  ),
  byPeers(
    'lists of protocols',
    'ask for the protocols without a pause',
    bytesOf((stream) => opening(stream(), 'ls', LISTS)),
  ),
  byPeers('empty messages', 'send encrypted messages without content', emptyMessages),
  byPeers('empty messages, no hello', 'send them before their hello', emptyMessages, { greets: false }),
]
