import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type { Connection, Stream } from '@libp2p/interface'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { encodeBlockRequest } from '../../../src/p2p/blockExchange.ts'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { createValidatorProof, encodeHandshakeMessage } from '../../../src/p2p/hello.ts'
import { LIMITS, REQUEST_LIMITS } from '../../../src/p2p/limits.ts'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { PRIORITIES } from '../../../src/p2p/sendQueue.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { ed25519Address } from '../../../src/primitives/ed25519.ts'
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

/** pino's number */
const WARN = 40

const sockets: Socket[] = []

/**
 * After each group: most of what a test here does is to wait, so those of a group that need little of the processor run at the same
 * time, each with nodes of its own.
 */
async function closeAll(): Promise<void> {
  for (const socket of sockets.splice(0)) socket.destroy()
  await closeAttackers()
  await closeNodes()
}

const isClosed = ({ status }: Connection): boolean => status !== 'open'

/** That the two nodes have come upon no bug, and still hear each other. */
async function expectHealthy(a: TestNode, b: TestNode): Promise<void> {
  expect([...a.defects, ...b.defects]).toEqual([])
  const before = b.messages.filter(({ from }) => from === a.network.id).length
  a.network.send([a.sessions.get(b.network.id)!.handle], encodedVote(11, 77), PRIORITIES.ownVote)
  await until('an honest vote arrives', () => b.messages.filter(({ from }) => from === a.network.id).length > before)
}

async function openStream(connection: Connection, protocol: string): Promise<Stream> {
  return connection.newStream(protocol)
}

describe('a node that is no peer is told so, and both ends know why', () => {
  afterAll(closeAll)

  test.concurrent.each([
    ['another genesis', { genesisHash: new Uint8Array(32).fill(8) }, /genesis is 0x0707.*, this node's 0x0808/],
    ['another chain', { chainId: 'coin_8-1' }, /it is of chain coin_7-1, this node of coin_8-1/],
  ])('%s', async (_, options, reason) => {
    const a = await startNode()
    const b = await startNode({ ...options, persistentPeers: [a.peer] })
    const told = (node: TestNode, msg: string) => node.log.find((line) => line.msg === msg)
    await until('both say why', () => !!told(a, 'peer turned away') && !!told(b, 'peer cannot be reached'))
    expect(told(b, 'peer cannot be reached')!.reason).toMatch(reason)
    expect(told(a, 'peer turned away')).toMatchObject({ level: WARN, peer: b.network.id })
    expect([a.sessions.size, b.sessions.size]).toEqual([0, 0])
  })

  test.concurrent('another identity', async () => {
    const a = await startNode()
    const wanted = '0123456789abcdef0123456789abcdef01234567'
    const b = await startNode({ persistentPeers: [{ id: wanted, address: a.peer.address }] })
    await until('the wrong node is noticed', () => b.log.some(({ msg }) => msg === 'peer cannot be reached'))
    const { reason, level } = b.log.find(({ msg }) => msg === 'peer cannot be reached')!
    expect(reason).toBe(`the node at 127.0.0.1:${a.peer.address.port} is ${a.network.id}, not ${wanted}`)
    expect(level).toBe(WARN)
    expect([a.sessions.size, b.sessions.size]).toEqual([0, 0])
  })

  test.concurrent('a false proof of being a validator', async () => {
    const a = await startNode()
    const attacker = await startAttacker()
    const proofOfAnother = createValidatorProof(randomKey(), randomKey().publicKey, attacker.hello.genesisHash)
    const hello = { ...attacker.hello, validator: proofOfAnother }
    const { connection } = await attacker.greet(a, encodeHandshakeMessage({ kind: 'hello', hello }))
    await until('it is turned away', () => isClosed(connection))
    expect(a.sessions.size).toBe(0)
    expect(a.log.find(({ msg }) => msg === 'peer turned away')!.reason).toMatch(/proof of being a validator is wrong/)
  })

  test.concurrent('one too many', async () => {
    const counts = { wanted: 0, inbound: 1, outbound: 0 }
    const [a, b] = await connectedPair({ counts })
    const attacker = await startAttacker()
    const { connection, answer } = await attacker.greet(a)
    expect(answer).toMatchObject({ kind: 'refusal', refusal: { reason: 'it has no free place' } })
    // It is told of others.
    expect(answer?.kind === 'refusal' && answer.refusal.peers.map(({ id }) => id)).toEqual([b.network.id])
    await until('it is disconnected', () => isClosed(connection))
    // A persistent peer and a validator have a place in any case.
    const validatorKey = randomKey()
    const validator = await startNode({ validatorKey, persistentPeers: [a.peer] })
    await until('the validator is refused', () => a.log.some((line) => line.peer === validator.network.id))
    expect(a.sessions.has(validator.network.id)).toBe(false)
    a.network.setValidators([ed25519Address(validatorKey.publicKey)])
    await until('the validator has its place', () => a.sessions.has(validator.network.id))
  })

  test.concurrent('further nodes of one validator', async () => {
    const a = await startNode({ counts: { wanted: 0, inbound: 2, outbound: 0 } })
    const validatorKey = randomKey()
    a.network.setValidators([ed25519Address(validatorKey.publicKey)])
    const answers: unknown[] = []
    for (let node = 0; node < 5; node++) {
      const key = randomKey()
      const attacker = await startAttacker({ key })
      const validator = createValidatorProof(validatorKey, key.publicKey, attacker.hello.genesisHash)
      const hello = { ...attacker.hello, validator }
      answers.push((await attacker.greet(a, encodeHandshakeMessage({ kind: 'hello', hello }))).answer?.kind)
      await until('it is a peer', () => a.sessions.size === Math.min(node + 1, 3))
    }
    // One has the validator's place, the others compete with strangers.
    expect(answers).toEqual(['hello', 'hello', 'hello', 'refusal', 'refusal'])
    const isReserved = [...a.sessions.values()].map(({ meter }) => meter.isReserved())
    expect(isReserved).toEqual([true, false, false])
    const [first] = a.sessions.values()
    first!.connection.abort(new Error('the validator stops this node'))
    await until('another node has its place', () => a.sessions.size === 2)
    expect([...a.sessions.values()].map(({ meter }) => meter.isReserved())).toEqual([true, false])
  })

  test.concurrent('a validator that comes back is not kept out by its own former connection', async () => {
    const a = await startNode({ counts: { wanted: 0, inbound: 0, outbound: 0 } })
    const [key, validatorKey] = [randomKey(), randomKey()]
    a.network.setValidators([ed25519Address(validatorKey.publicKey)])
    const join = async () => {
      const process = await startAttacker({ key })
      const validator = createValidatorProof(validatorKey, key.publicKey, process.hello.genesisHash)
      const { answer } = await process.greet(
        a,
        encodeHandshakeMessage({ kind: 'hello', hello: { ...process.hello, validator } }),
      )
      return answer
    }
    expect(await join()).toMatchObject({ kind: 'hello' })
    await until('it is a peer', () => a.sessions.size === 1)
    const [former] = a.sessions.values()
    // For this node nothing has ended.
    expect(await join()).toMatchObject({ kind: 'hello' })
    await until('the new process is a peer', () => a.sessions.size === 1 && [...a.sessions.values()][0] !== former)
  })
})

describe('malformed input is answered with a ban', () => {
  afterAll(closeAll)

  const vote = encodedVote(11)
  const cases: readonly (readonly [string, string, Uint8Array])[] = [
    ['a message of no kind', PROTOCOLS.consensus, encodeFrame(new Uint8Array(100).fill(99))],
    ['a frame that is too long', PROTOCOLS.consensus, Uint8Array.of(0x7f, 0xff, 0xff, 0xff, 1, 2, 3)],
    ['an empty frame', PROTOCOLS.consensus, new Uint8Array(4)],
    ['a part on the stream of votes', PROTOCOLS.consensus, encodeFrame(encodedPart(11, 100))],
    ['a vote on the stream of parts', PROTOCOLS.parts, encodeFrame(vote)],
    ['a vote that is too long', PROTOCOLS.consensus, encodeFrame(concatBytes(vote, new Uint8Array(1_000)))],
    ['a request that is no protobuf', PROTOCOLS.blocks, encodeFrame(new Uint8Array(50).fill(255))],
    ['a request that is too long', PROTOCOLS.blocks, encodeFrame(new Uint8Array(5_000))],
  ]

  test.concurrent.each(cases)('%s', async (_, protocol, bytes) => {
    const [a, b] = await connectedPair()
    const attacker = await startAttacker()
    const connection = await attacker.join(a)
    const stream = await openStream(connection, protocol)
    stream.send(bytes)
    await until('it is thrown out', () => isClosed(connection) && !a.sessions.has(attacker.id))
    expect(a.messages.filter(({ from }) => from === attacker.id)).toEqual([])
    expect(await counter(a, 'coind_p2p_bans_total', {})).toBe(1)
    await expect(attacker.greet(a)).rejects.toThrow()
    await expectHealthy(b, a)
  })

  test.concurrent.each([
    ['a hello that is no protobuf', new Uint8Array(100).fill(255)],
    ['a hello that is too long', new Uint8Array(LIMITS.helloBytes + 1)],
    ['a refusal instead of a hello', encodeHandshakeMessage({ kind: 'refusal', refusal: { reason: 'no', peers: [] } })],
  ])('%s', async (_, message) => {
    const a = await startNode()
    const attacker = await startAttacker()
    const { connection } = await attacker.greet(a, message)
    await until('it is thrown out', () => isClosed(connection))
    expect(await counter(a, 'coind_p2p_bans_total', {})).toBe(1)
    await expect(attacker.greet(a)).rejects.toThrow()
  })
})

describe('peers without manners', () => {
  afterAll(closeAll)

  test.concurrent('a connection that sends much before its hello is closed', async () => {
    const a = await startNode()
    const attacker = await startAttacker()
    const silent = await (await startAttacker()).connect(a)
    const connection = await attacker.connect(a)
    const stream = await openStream(connection, PROTOCOLS.consensus)
    stream.send(new Uint8Array(2 * LIMITS.bytesBeforeHello))
    await until('it is closed', () => isClosed(connection))
    // Not because its time to say hello was over: an older one that says nothing is still there.
    expect(isClosed(silent)).toBe(false)
  })

  test.concurrent('votes of far heights are dropped', async () => {
    const [a, b] = await connectedPair()
    const attacker = await startAttacker()
    const stream = await openStream(await attacker.join(a), PROTOCOLS.consensus)
    for (let i = 0; i < 700; i++) stream.send(encodeFrame(encodedVote(1_000 + i)))
    stream.send(encodeFrame(encodedVote(11, 5)))
    const last = encodedVote(11, 5)
    await until('the last vote arrives', () => a.messages.some(({ body }) => Buffer.compare(body, last) === 0))
    const passed = a.messages.filter(({ from }) => from === attacker.id).length
    expect(passed).toBeGreaterThan(LIMITS.offHeightMessages.burst)
    expect(passed).toBeLessThan(LIMITS.offHeightMessages.burst + 300)
    await expectHealthy(b, a)
  })

  test.concurrent('what strangers do fills no log, and what configured peers do is in it all the same', async () => {
    const key = randomKey()
    const a = await startNode({ policy: { unconditionalIds: new Set([nodeId(key.publicKey)]) } })
    const beganMs = performance.now()
    a.frozenMs = beganMs
    const attacker = await startAttacker()
    const wrong = encodeHandshakeMessage({ kind: 'hello', hello: { ...attacker.hello, chainId: 'other-1' } })
    const { perSecond, burst } = LIMITS.peerLines
    const visits = burst + 15
    for (let visit = 0; visit < visits; visit++) {
      const { connection } = await attacker.greet(a, wrong)
      connection.abort(new Error('done'))
      // As fast as strangers may come.
      a.frozenMs += 100
    }
    const most = burst + ((a.frozenMs - beganMs) / 1_000) * perSecond
    const named = await startAttacker({ key })
    await named.greet(a, wrong)
    const lines = a.log.filter(({ msg }) => msg === 'peer turned away')
    expect(lines).toHaveLength(visits + 1)
    const shown = lines.filter(({ level }) => Number(level) >= WARN)
    expect(shown.at(-1)).toMatchObject({ peer: named.id })
    expect(shown.length - 1).toBeLessThanOrEqual(most)
    expect(shown.length - 1).toBeGreaterThanOrEqual(burst)
  })

  test.concurrent('parts of a few bytes are as many as larger ones at most', async () => {
    const [a, b] = await connectedPair()
    a.frozenMs = performance.now()
    const attacker = await startAttacker()
    const stream = await openStream(await attacker.join(a), PROTOCOLS.parts)
    const most = LIMITS.parts.burst / LIMITS.leastPart
    const received = () => a.messages.filter(({ from }) => from === attacker.id).length
    const frame = encodeFrame(encodedPart(11, 1))
    for (let sent = 0; sent < 4 * most; sent += 64) stream.send(concatBytes(...Array<Uint8Array>(64).fill(frame)))
    await until('the first parts arrive', () => received() >= most)
    // Each of the others waits for longer.
    expect(received()).toBeLessThan(most + 50)
    a.frozenMs = undefined
    await expectHealthy(b, a)
  })

  test.concurrent('requests above the budget have to wait, and none is lost', async () => {
    const blocks = () => ({ block: new Uint8Array(1_000), commit: new Uint8Array(10) })
    const [a, b] = await connectedPair({ blocks })
    const ask = () => b.network.fetchBlocks(a.network.id, { from: 1, count: 1, maxBytes: 10_000 })
    const { perSecond, burst } = REQUEST_LIMITS.blocks.rate
    const startMs = performance.now()
    // Two seconds' worth of them too many, as many at a time as a node may ask for.
    for (let i = 0; i < burst + 2 * perSecond; i += 4) {
      const answers = await Promise.all([ask(), ask(), ask(), ask()])
      expect(answers.map((answer) => answer.blocks.length)).toEqual([1, 1, 1, 1])
    }
    expect(performance.now() - startMs).toBeGreaterThan(1_900)
    await expectHealthy(a, b)
  })

  test.concurrent('requests that nobody waits for are not answered in the end', async () => {
    const [a, b] = await connectedPair()
    const attacker = await startAttacker()
    const connection = await attacker.join(a)
    for (let i = 0; i < 4 * REQUEST_LIMITS.peers.rate.burst; i++) {
      const stream = await connection.newStream(PROTOCOLS.peers, { maxOutboundStreams: 1_000 })
      // That of a request too many is closed.
      if (stream.status === 'open') stream.send(encodeFrame(Uint8Array.of(0)))
      stream.abort(new Error('done'))
    }
    const reason = 'too many peers requests'
    await vi.waitFor(async () => expect(await counter(a, 'coind_p2p_dropped_total', { reason })).toBeGreaterThan(0), {
      timeout: 10_000,
    })
    expect(a.sessions.has(attacker.id)).toBe(true)
    await expectHealthy(a, b)
  })

  test.concurrent('connections that say nothing, or nonsense, are closed, and honest nodes connect beside them', async () => {
    const a = await startNode()
    const { host, port } = a.peer.address
    const openSocket = (): Socket => {
      const socket = connect({ host, port })
      socket.on('error', () => undefined)
      sockets.push(socket)
      return socket
    }
    const silent = Array.from({ length: 30 }, openSocket)
    const noisy = Array.from({ length: 10 }, openSocket)
    for (const socket of noisy) socket.write(randomBytes(10_000))
    const attacker = await startAttacker()
    const speechless = await attacker.connect(a)
    const b = await startNode({ persistentPeers: [a.peer] })
    await until('an honest node connects', () => a.sessions.has(b.network.id))
    await until(
      'the others are closed',
      () => [...silent, ...noisy].every(({ closed }) => closed) && isClosed(speechless),
    )
    expect([...a.sessions.keys()]).toEqual([b.network.id])
    await expectHealthy(a, b)
  })

  test.concurrent('an answer ends when it is taken too slowly', async () => {
    const blocks = () => ({ block: new Uint8Array(LIMITS.streamWindow / 2), commit: new Uint8Array(10) })
    const [a, b] = await connectedPair({ blocks })
    const attacker = await startAttacker()
    const connection = await attacker.join(a)
    const stream = await openStream(connection, PROTOCOLS.blocks)
    let received = 0
    stream.addEventListener('message', ({ data }) => {
      received += data.byteLength
      stream.pause()
    })
    stream.send(encodeFrame(encodeBlockRequest({ from: 1, count: 10, maxBytes: LIMITS.bytesPerAnswer })))
    await until('the answer begins', () => received > 0)
    for (let part = 0; part < 2; part++) {
      a.clockMs += LIMITS.answerMs / 2 + 1
      // Both are heard meanwhile: a silent peer would be disconnected.
      await expectHealthy(b, a)
      await openStream(connection, PROTOCOLS.status)
    }
    // It takes something every now and then, so that no single wait is too long.
    const reading = setInterval(() => stream.status === 'open' && stream.resume(), 20)
    await until('the answer is broken off', () => stream.status !== 'open').finally(() => clearInterval(reading))
    expect(received).toBeLessThan(LIMITS.bytesPerAnswer)
    expect(a.sessions.has(attacker.id)).toBe(true)
    await expectHealthy(a, b)
  })
})

describe('floods', () => {
  afterEach(closeAll)

  test('10,000 votes a second reach nobody but for the budget, and an honest peer does not feel it', async () => {
    const [a, b] = await connectedPair()
    const attacker = await startAttacker()
    const connection = await attacker.join(a)
    const stream = await openStream(connection, PROTOCOLS.consensus)
    const burst = concatBytes(...Array.from({ length: 1_000 }, (_, round) => encodeFrame(encodedVote(11, round))))
    const { budgets } = a.sessions.get(attacker.id)!
    a.frozenMs = performance.now()
    for (let i = 0; i < 12; i++) {
      if (stream.status === 'open') stream.send(burst)
      await expectHealthy(b, a)
    }
    // What it sends beyond that waits on its own side, but for one window; it is not tolerated for ever. Here it has waited for most of
    // the time that it may.
    budgets.waiting.draw((LIMITS.waiting.burst * 3) / 5, a.frozenMs)
    await until('it is disconnected', () => {
      if (stream.status === 'open' && stream.writeBufferLength < burst.length) stream.send(burst)
      return !a.sessions.has(attacker.id)
    })
    const passed = a.messages.filter(({ from }) => from === attacker.id).length
    expect(passed).toBeGreaterThan(LIMITS.messages.burst)
    // Each message beyond its budget waits longer than the one before, by the time in which the budget grows by one.
    const longestWaits = Math.sqrt((2 * LIMITS.waiting.burst * LIMITS.messages.perSecond) / 1000)
    expect(passed).toBeLessThanOrEqual(LIMITS.messages.burst + longestWaits + 1)
    expect(a.log.some(({ reason }) => reason === 'it sends more than it may')).toBe(true)
    await expectHealthy(b, a)
  })

  test('streams without end cost the connection', async () => {
    const [a, b] = await connectedPair()
    const attacker = await startAttacker()
    const connection = await attacker.join(a)
    a.frozenMs = performance.now()
    const open = async (): Promise<void> => {
      for (let i = 0; i < 1_000 && !isClosed(connection); i++) {
        const stream = await connection.newStream('/coind/status/1', { maxOutboundStreams: 1_000 })
        stream.abort(new Error('done'))
      }
    }
    await expect(open()).rejects.toThrow()
    await until('it is disconnected', () => isClosed(connection) && !a.sessions.has(attacker.id))
    await expectHealthy(b, a)
  })

  test('a peer that reads nothing costs bounded memory, and is disconnected', async () => {
    const [a, b] = await connectedPair()
    const attacker = await startAttacker()
    const taken: Stream[] = []
    const pause = (stream: Stream): void => {
      stream.pause()
      taken.push(stream)
    }
    for (const protocol of [PROTOCOLS.consensus, PROTOCOLS.parts])
      await attacker.host.handle(protocol, pause, { force: true })
    await attacker.join(a)
    await until('it took the streams', () => taken.length === 2)
    const session = a.sessions.get(attacker.id)!
    const part = encodedPart(11, 65_536)
    for (let i = 0; i < 400; i++) {
      a.network.send([session.handle], part, 'part')
      for (let k = 0; k < 100; k++) a.network.send([session.handle], encodedVote(11, i), PRIORITIES.relayedVote)
      if (i % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
    const { consensus, parts } = session.queues!
    expect(consensus.bytes).toBeGreaterThan(LIMITS.queuedMessages / 2)
    expect(consensus.bytes).toBeLessThanOrEqual(LIMITS.queuedMessages)
    expect(parts.bytes).toBeLessThanOrEqual(LIMITS.queuedParts)
    expect(await counter(a, 'coind_p2p_dropped_total', { reason: 'slow peer' })).toBeGreaterThan(1_000)
    await expectHealthy(a, b)
    a.clockMs += LIMITS.stalledMs
    await until('it is disconnected', () => !a.sessions.has(attacker.id))
    expect(a.log.some(({ msg, reason }) => msg === 'peer disconnected' && reason === 'it takes no messages')).toBe(true)
  })

  test('two nodes that dial each other at once end up with one connection', async () => {
    for (let i = 0; i < 5; i++) {
      const [keyA, keyB] = [randomKey(), randomKey()]
      const first = await startNode({ key: keyA })
      const second = await startNode({ key: keyB })
      const [a, b] = [first.peer, second.peer]
      await first.close()
      await second.close()
      const nodes = await Promise.all([
        startNode({ key: keyA, port: a.address.port, persistentPeers: [b] }),
        startNode({ key: keyB, port: b.address.port, persistentPeers: [a] }),
      ])
      await until('both are connected', () => nodes.every(({ sessions }) => sessions.size === 1))
      await expectHealthy(nodes[0], nodes[1])
      await expectHealthy(nodes[1], nodes[0])
      await closeNodes()
    }
  })
})
