import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { encodeHandshakeMessage } from '../../../src/p2p/hello.ts'
import { LIMITS, STRANGERS, WORK } from '../../../src/p2p/limits.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { PRIORITIES } from '../../../src/p2p/sendQueue.ts'
import { FLAG, FRAME } from '../../../src/p2p/yamuxFrames.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { connectRaw, frame, helloFrame, line, opening, type RawPeer } from '../../e2e/network/rawPeer.ts'
import { closeAttackers, startAttacker } from '../../support/p2p/attacker.ts'
import { encodedPart, encodedVote } from '../../support/p2p/messages.ts'
import {
  closeNodes,
  connectedPair,
  counter,
  randomKey,
  startNode,
  type TestNode,
  until,
} from '../../support/p2p/testNode.ts'

const MIB = 1 << 20
/** Bytes that one read of the socket may bring. */
const READ = 64 << 10
const IDENTIFY = '/ipfs/id/1.0.0'

const peers: RawPeer[] = []

afterEach(async () => {
  await Promise.all(peers.splice(0).map((peer) => peer.stop()))
  await closeAttackers()
  await closeNodes()
})

async function connectTo(node: TestNode): Promise<RawPeer> {
  const peer = await connectRaw(node.peer.address, randomKey())
  peers.push(peer)
  return peer
}

/** A peer whose hello was accepted. Its next stream is 3. */
async function join(node: TestNode): Promise<RawPeer> {
  const { hello } = await startAttacker()
  const peer = await connectTo(node)
  const instance = new Uint8Array(16).map((_, index) => (peers.length + index) % 256)
  peer.encrypted.send(helloFrame(encodeHandshakeMessage({ kind: 'hello', hello: { ...hello, instance } })))
  await until('the raw peer has a session', () => node.sessions.has(peer.id))
  return peer
}

const endedFor = (node: TestNode, reason: string) => counter(node, 'coind_p2p_connections_ended_total', { reason })
const bans = (node: TestNode) => counter(node, 'coind_p2p_bans_total', {})
const framesOf = ({ frames }: RawPeer, type: number, flag: number) =>
  frames.filter((header) => header.type === type && (header.flags & flag) !== 0).length

async function expectEnd(node: TestNode, peer: RawPeer, reason: 'fault' | 'budget'): Promise<void> {
  const isSession = node.sessions.has(peer.id)
  await until('the connection is ended', () => !peer.isOpen() && !node.sessions.has(peer.id))
  expect(await endedFor(node, reason)).toBe(1)
  // Before libp2p has made a connection of it, nobody is there to be banned.
  if (isSession || reason === 'budget') expect(await bans(node)).toBe(reason === 'fault' ? 1 : 0)
  expect(node.defects).toEqual([])
}

/** Sends bytes as the other side takes them, until the connection ends. */
function send(peer: RawPeer, bytes: Uint8Array): void {
  if (peer.encrypted.status === 'open') peer.encrypted.send(bytes)
}

const repeated = (bytes: Uint8Array, times: number): Uint8Array =>
  concatBytes(...Array.from({ length: times }, () => bytes))

describe('a frame that its stream may not send ends the connection before it is buffered', () => {
  const zeros = new Uint8Array(8 * MIB)
  const open = opening(3, PROTOCOLS.status)
  test.each([
    ['of 4 GiB, without a stream', frame({ type: FRAME.data, streamId: 99, length: 2 ** 32 - 1 })],
    ['a byte above the largest window, without a stream', frame({ type: FRAME.data, streamId: 99, length: MIB + 1 })],
    ['of 4 GiB', concatBytes(open, frame({ type: FRAME.data, streamId: 3, length: 2 ** 32 - 1 }))],
    ['of no stream', frame({ type: FRAME.data, length: 2 ** 31 })],
    ['of an unknown type', frame({ type: 4 })],
    ['of another version', Uint8Array.of(1, ...frame({ type: FRAME.ping, flags: FLAG.syn }).subarray(1))],
  ])('%s', async (_, bytes) => {
    const node = await startNode()
    const peer = await join(node)
    const { meter } = node.sessions.get(peer.id)!
    const before = meter.received
    send(peer, bytes)
    send(peer, zeros)
    await expectEnd(node, peer, 'fault')
    expect(meter.received - before).toBeLessThanOrEqual(bytes.length + 2 * READ)
  })

  test('above the window of its stream, and not what the window takes', async () => {
    const node = await startNode()
    const peer = await join(node)
    send(peer, opening(3, PROTOCOLS.parts))
    await until('the stream is opened', () => peer.frames.filter(({ streamId }) => streamId === 3).length > 1)
    // The beginning of a part, in a frame that is not complete yet.
    const window = 256 << 10
    const { meter } = node.sessions.get(peer.id)!
    const before = meter.received
    const header = frame({ type: FRAME.data, streamId: 3, length: window })
    send(peer, concatBytes(header, Uint8Array.of(0, 0, 0xff, 0xff), new Uint8Array(50_000)))
    await until('it has arrived', () => meter.received - before > 50_000)
    send(peer, new Uint8Array(15_000))
    await until('the rest of the part has arrived', () => meter.received - before > 65_000)
    expect(peer.isOpen()).toBe(true)

    const other = await join(node)
    send(other, concatBytes(opening(3, PROTOCOLS.parts)))
    await until('the stream is opened', () => other.frames.filter(({ streamId }) => streamId === 3).length > 1)
    // At most twice the window after a fast answer.
    send(other, frame({ type: FRAME.data, streamId: 3, length: 2 * window + 1 }))
    await expectEnd(node, other, 'fault')
  })

  test('before the hello too', async () => {
    const node = await startNode()
    const peer = await connectTo(node)
    send(peer, frame({ type: FRAME.data, streamId: 99, length: 2 ** 32 - 1 }))
    await expectEnd(node, peer, 'fault')
  })
})

describe('bytes that wait take their own memory only', () => {
  /** Opens a request that is not read for some seconds, and returns the number of its stream. */
  async function waitingRequest(node: TestNode, peer: RawPeer): Promise<number> {
    send(peer, opening(3, PROTOCOLS.peers, Uint8Array.of(0, 0, 0, 1, 0)))
    await until('the first is answered', () =>
      peer.frames.some(({ streamId, flags }) => streamId === 3 && (flags & FLAG.fin) !== 0),
    )
    send(peer, frame({ type: FRAME.windowUpdate, flags: FLAG.fin, streamId: 3 }))
    send(peer, opening(5, PROTOCOLS.peers))
    await until('the second is opened', () => streamOf(node, peer, 5) !== undefined)
    return 5
  }
  const streamOf = (node: TestNode, { id }: RawPeer, streamId: number) =>
    node.sessions.get(id)!.connection.streams.find((stream) => stream.id === String(streamId) && stream.protocol !== '')
  /** Lengths of the buffers that a stream holds, of which each is counted once. */
  const heldBy = (stream: unknown): number => {
    const { readBuffer } = stream as { readonly readBuffer: Iterable<Uint8Array> }
    return [...new Set([...readBuffer].map(({ buffer }) => buffer))].reduce(
      (sum, { byteLength }) => sum + byteLength,
      0,
    )
  }

  test.each([
    ['in long messages', 60_000],
    ['in short messages', 0],
  ])('%s', async (_, length) => {
    const node = await startNode()
    const peer = await join(node)
    const streamId = await waitingRequest(node, peer)
    const byte = frame({ type: FRAME.data, streamId }, Uint8Array.of(0))
    const rest = length === 0 ? new Uint8Array() : frame({ type: FRAME.data, streamId: 99 }, new Uint8Array(length))
    for (let sent = 0; sent < 100; sent++) send(peer, concatBytes(byte, rest))
    const stream = streamOf(node, peer, streamId)!
    const unread = () => (stream as unknown as { readonly readBufferLength: number }).readBufferLength
    await until('they wait', () => unread() === 100)
    expect(heldBy(stream)).toBeLessThan(100 * 64)
    expect(node.sessions.has(peer.id)).toBe(true)
  })

  test('and so much of it that a frame does not come in thousands of messages', async () => {
    const node = await startNode()
    const peer = await join(node)
    const { meter } = node.sessions.get(peer.id)!
    send(peer, frame({ type: FRAME.data, streamId: 99, length: MIB }))
    const most = LIMITS.unreadBytes / LIMITS.unreadPiece
    const before = meter.work
    for (let sent = 0; sent < 2 * most && peer.isOpen(); sent++) {
      peer.sendMessage(Uint8Array.of(0))
      if (sent % 1_000 === 0) await new Promise((resolve) => setTimeout(resolve))
    }
    await until('the connection is ended', () => !node.sessions.has(peer.id))
    expect(node.log.some(({ reason }) => reason === 'it sends more than is read')).toBe(true)
    expect(meter.work - before).toBeLessThan(1.1 * most * WORK.message)
  })
})

describe('frames that are answered one by one have a rate', () => {
  test('pings', async () => {
    const node = await startNode()
    const peer = await join(node)
    node.frozenMs = performance.now()
    send(peer, repeated(frame({ type: FRAME.ping, flags: FLAG.syn }), 5_000))
    await expectEnd(node, peer, 'budget')
    expect(framesOf(peer, FRAME.ping, FLAG.ack)).toBeLessThanOrEqual(LIMITS.pings.burst)
  })

  test('new streams', async () => {
    const node = await startNode()
    const peer = await join(node)
    node.frozenMs = performance.now()
    const streams = Array.from({ length: 5_000 }, (_, index) =>
      frame({ type: FRAME.windowUpdate, flags: FLAG.syn, streamId: 3 + 2 * index }),
    )
    for (const stream of streams) send(peer, stream)
    await expectEnd(node, peer, 'budget')
    const { windowUpdate } = FRAME
    const answers = framesOf(peer, windowUpdate, FLAG.rst) + framesOf(peer, windowUpdate, FLAG.ack)
    expect(answers).toBeLessThanOrEqual(LIMITS.streams.burst)
  })

  test('new streams before the hello', async () => {
    const node = await startNode()
    const peer = await connectTo(node)
    for (let index = 0; index < 100; index++)
      send(peer, frame({ type: FRAME.windowUpdate, flags: FLAG.syn, streamId: 1 + 2 * index }))
    await expectEnd(node, peer, 'budget')
  })

  test('lines that choose a protocol', async () => {
    const node = await startNode()
    const peer = await join(node)
    send(peer, opening(3, 'ls', repeated(line('ls'), 5_000)))
    await expectEnd(node, peer, 'budget')
    expect(peer.frames.filter(({ type, streamId }) => type === FRAME.data && streamId === 3).length).toBeLessThan(
      LIMITS.protocolLines,
    )
  })

  test('questions who the node is', async () => {
    const node = await startNode()
    const peer = await join(node)
    for (let stream = 3; stream < 23; stream += 2) send(peer, opening(stream, IDENTIFY))
    await expectEnd(node, peer, 'budget')
  })
})

describe('what arrives costs work, whatever is in it', () => {
  /** what a stranger's connection may cause while the clock stands still */
  const budget = STRANGERS.work.own.burst + STRANGERS.work.shared.burst

  test.each([
    ['window updates', frame({ type: FRAME.windowUpdate, streamId: 99 }), WORK.frame],
    ['data of one byte', frame({ type: FRAME.data, streamId: 99 }, new Uint8Array(1)), WORK.data],
  ])('%s wait', async (_, bytes, work) => {
    const [node, honest] = await connectedPair()
    const peer = await join(node)
    node.frozenMs = performance.now()
    const { meter } = node.sessions.get(peer.id)!
    const before = meter.received
    const many = repeated(bytes, 1_000)
    const messages = Math.ceil((2 * budget) / work / 1_000)
    for (let sent = 0; sent < messages; sent++) send(peer, many)
    const most = (budget / work) * bytes.length
    await until('its budget is used up', () => meter.isPaused)
    expect(meter.received - before).toBeLessThan(most + 4 * READ)
    expect(peer.isOpen()).toBe(true)
    // The frames that have passed are not more than the budget has paid for.
    const passed = meter.work
    expect(passed).toBeLessThanOrEqual(budget + WORK.stream + READ / 18)
    await expectHears(node, honest)
  })

  test('encrypted messages without content wait', async () => {
    const [node, honest] = await connectedPair()
    const peer = await join(node)
    node.frozenMs = performance.now()
    const { meter } = node.sessions.get(peer.id)!
    const before = meter.received
    for (let sent = 0; sent < (2 * budget) / WORK.message; sent++) peer.sendMessage(new Uint8Array())
    await until('its budget is used up', () => meter.isPaused)
    expect(meter.received - before).toBeLessThan((budget / WORK.message) * 18 + 4 * READ)
    await expectHears(node, honest)
  })

  test('encrypted messages without content before the hello end the connection', async () => {
    const node = await startNode()
    const peer = await connectTo(node)
    for (let sent = 0; sent < (2 * WORK.beforeHello) / WORK.message; sent++) {
      if (peer.isOpen()) peer.sendMessage(new Uint8Array())
    }
    await expectEnd(node, peer, 'budget')
  })

  test('a message that is too short to be encrypted ends the connection', async () => {
    const node = await startNode()
    const peer = await connectTo(node)
    peer.socket.send(new Uint8Array(MIB))
    await expectEnd(node, peer, 'fault')
  })
})

describe('what a peer does not read', () => {
  test('ends the connection when too much waits for its socket', async () => {
    const node = await startNode()
    const peer = await join(node)
    const stream = await node.sessions.get(peer.id)!.connection.newStream(PROTOCOLS.status)
    peer.socket.pause()
    // Only its window bounds what libp2p gives the socket of one stream at once.
    stream.send(new Uint8Array(2 * LIMITS.unsentBytes))
    expect(node.sessions.has(peer.id)).toBe(true)
    send(peer, frame({ type: FRAME.windowUpdate, streamId: Number(stream.id), length: 2 ** 31 }))
    await until('the connection is ended', () => !node.sessions.has(peer.id))
    expect(await endedFor(node, 'budget')).toBe(1)
  })

  test('ends the connection when protocols are chosen and answers wait', async () => {
    const node = await startNode()
    const peer = await join(node)
    const { connection } = node.sessions.get(peer.id)!
    const stream = await connection.newStream(PROTOCOLS.status)
    send(peer, frame({ type: FRAME.windowUpdate, streamId: Number(stream.id), length: 2 ** 31 }))
    await until('the window has come', () => node.sessions.get(peer.id)!.meter.work > 0)
    peer.socket.pause()
    stream.send(new Uint8Array(LIMITS.unsentBytes - MIB))
    for (let id = 3; id < 3 + 2 * 60; id += 2) send(peer, opening(id, PROTOCOLS.blocks, new Uint8Array(200_000)))
    await until('the connection is ended', () => !node.sessions.has(peer.id))
    expect(node.log.some(({ reason }) => reason === 'it sends more than is read')).toBe(true)
  })

  test('is not even written after a farewell', async () => {
    const node = await startNode()
    // Before the hello, since a session ends with its streams.
    const peer = await connectTo(node)
    await until('the node has spoken', () => peer.frames.length > 0)
    send(peer, frame({ type: FRAME.goAway }))
    const ping = frame({ type: FRAME.ping, flags: FLAG.syn })
    for (let sent = 0; sent < 5; sent++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      send(peer, ping)
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(framesOf(peer, FRAME.ping, FLAG.ack)).toBe(0)
  })
})

describe('before the encryption', () => {
  test.each([
    ['a line that lists protocols', line('ls')],
    ['a second line of the version', concatBytes(line('/multistream/1.0.0'), line('/multistream/1.0.0'))],
    ['a first message of 513 bytes', concatBytes(line('/multistream/1.0.0'), line('/noise'), Uint8Array.of(2, 1))],
  ])('%s ends the connection', async (_, bytes) => {
    const node = await startNode()
    let answered = 0
    const isEnded = await new Promise<boolean>((resolve) => {
      const socket = connect(node.peer.address)
      socket.on('data', (data) => {
        answered += data.length
      })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(true))
      socket.write(concatBytes(bytes, ...Array.from({ length: 10_000 }, () => line('ls'))))
    })
    expect(isEnded).toBe(true)
    expect(answered).toBeLessThanOrEqual(28)
    expect(await endedFor(node, 'fault')).toBe(1)
  })

  test('a peer that names no multiplexer is not asked line by line', async () => {
    const node = await startNode()
    const peer = await connectRaw(node.peer.address, randomKey(), [])
    peers.push(peer)
    await until('it is closed', () => !peer.isOpen())
  })
})

describe('honest nodes', () => {
  test('are neither ended nor slowed while they send blocks and messages as fast as they may', async () => {
    const block = new Uint8Array(20_000)
    const [a, b] = await connectedPair({ blocks: () => ({ block, commit: new Uint8Array(1_000) }), height: 10_000 })
    const handle = a.sessions.get(b.network.id)!.handle
    let bytes = 0
    const fetching = (async () => {
      for (let round = 0; round < 10; round++) {
        const answers = await Promise.all(
          [0, 1].map(() => b.network.fetchBlocks(a.network.id, { from: 1, count: 150, maxBytes: 3 * MIB })),
        )
        bytes += answers.reduce((sum, { blocks }) => sum + blocks.reduce((all, one) => all + one.block.length, 0), 0)
      }
    })()
    const votes = LIMITS.messages.burst
    for (let round = 0; round < votes; round++) {
      a.network.send([handle], encodedVote(11, round), PRIORITIES.relayedVote)
      if (round % 40 === 0) a.network.send([handle], encodedPart(11, 65_536), 'part')
      if (round % 4 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    await fetching
    await until('all votes and parts arrive', () => b.messages.length === votes + votes / 40)
    expect(bytes).toBeGreaterThan(40 * MIB)
    for (const [node, peer] of [
      [a, b],
      [b, a],
    ] as const) {
      const { meter } = node.sessions.get(peer.network.id)!
      expect([await endedFor(node, 'fault'), await endedFor(node, 'budget')]).toEqual([0, 0])
      // What waits is bytes above their own rate; work is far below its budget.
      expect(meter.work).toBeLessThan(STRANGERS.work.shared.burst / 2)
    }
  })

  test('lose nothing while they wait, because others have used up what all share', async () => {
    const [a, b] = await connectedPair()
    const peer = await join(a)
    a.frozenMs = performance.now()
    const updates = repeated(frame({ type: FRAME.windowUpdate, streamId: 99 }), 1_000)
    for (let sent = 0; sent < 100; sent++) send(peer, updates)
    await until('the shared work is used up', () => a.sessions.get(peer.id)!.meter.isPaused)

    const { handle } = b.sessions.get(a.network.id)!
    const { meter } = a.sessions.get(b.network.id)!
    const votes = Array.from({ length: LIMITS.messages.burst - 20 }, (_, round) => encodedVote(11, round))
    let waited = false
    for (const vote of votes) {
      b.network.send([handle], vote, PRIORITIES.relayedVote)
      await new Promise((resolve) => setImmediate(resolve))
      waited ||= meter.isPaused
    }
    await until('the honest node has to wait', () => waited || meter.isPaused)
    a.frozenMs = undefined
    await until('all votes arrive', () => a.messages.length === votes.length)
    expect(a.messages.map(({ body }) => Buffer.from(body).toString('hex'))).toEqual(
      votes.map((vote) => Buffer.from(vote).toString('hex')),
    )
    expect(await endedFor(a, 'budget')).toBe(0)
  })
})

/** That the honest node's votes still arrive. */
async function expectHears(node: TestNode, honest: TestNode): Promise<void> {
  const before = node.messages.length
  honest.network.send([honest.sessions.get(node.network.id)!.handle], encodedVote(11, 77), PRIORITIES.ownVote)
  await until('an honest vote arrives', () => node.messages.length > before)
}
