import { peerIdFromString } from '@libp2p/peer-id'
import fc from 'fast-check'
import { Registry } from 'prom-client'
import { afterAll, describe, expect, it } from 'vitest'
import { peekMessage } from '../../../src/consensus/messages.ts'
import { AnswerSlots } from '../../../src/p2p/answerSlots.ts'
import { blockHandler, encodeBlockRequest, fetchBlocks } from '../../../src/p2p/blockExchange.ts'
import { encodeFrame, FrameReader } from '../../../src/p2p/frames.ts'
import { decodeHandshakeMessage, encodeHandshakeMessage, provenValidator } from '../../../src/p2p/hello.ts'
import { isOwnDefect } from '../../../src/p2p/ownDefect.ts'
import { writeKnownPeer } from '../../../src/p2p/peerAddress.ts'
import { fetchPeers } from '../../../src/p2p/peerExchange.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { ReadingTime } from '../../../src/p2p/readingTime.ts'
import { PRIORITIES } from '../../../src/p2p/sendQueue.ts'
import { ServedBytes } from '../../../src/p2p/servedBytes.ts'
import { createBudgets, type Session } from '../../../src/p2p/session.ts'
import { encodeBatch, TransactionGossip } from '../../../src/p2p/transactionGossip.ts'
import { parseAddress } from '../../../src/primitives/address.ts'
import { bigIntToBytes, decodeUtf8, hexToBytes } from '../../../src/primitives/bytes.ts'
import { ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'
import { runs } from '../../propertyRuns.ts'
import { closeAttackers, startAttacker } from '../../support/p2p/attacker.ts'
import { encodedPart, encodedVote } from '../../support/p2p/messages.ts'
import { closeNodes, connectedPair, startNode, type TestNodeOptions, until } from '../../support/p2p/testNode.ts'

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

/** A program error that code of ours throws. */
function comeUponBug(): never {
  hexToBytes('0xzz')
  throw new Error('unreachable')
}

describe('a bug of this software', () => {
  it.each<[string, () => unknown]>([
    ['a use of what is not there', () => new FrameReader(10).push(undefined as never)],
    ['an assertion of our own', () => hexToBytes('0xzz')],
    ['a value out of range', () => bigIntToBytes(300n, 1)],
    [
      'one in a function of the language that our code calls',
      () =>
        new FrameReader(10).push({
          get length() {
            return Symbol.iterator as never
          },
        } as never),
    ],
    ['one in a part of Node.js that our code calls', () => decodeUtf8(5 as never)],
  ])('is %s', (_, run) => {
    expect(isOwnDefect(thrownBy(run))).toBe(true)
  })

  it.each<[string, unknown]>([
    ['bytes that do not decode', thrownBy(() => decodeHandshakeMessage(Uint8Array.of(255)))],
    ['a class of ours that extends TypeError', thrownBy(() => parseAddress('x'))],
    ['a program error inside of the library', thrownBy(() => peerIdFromString(undefined as never))],
    ['an error with a text alone', new Error('the connection was closed')],
    ['a program error without a stack', Object.assign(new TypeError('x'), { stack: undefined })],
    ['no error at all', undefined],
  ])('is not %s', (_, error) => {
    expect(isOwnDefect(error)).toBe(false)
  })
})

describe('a bug that a peer brings to light', () => {
  afterAll(async () => {
    await closeAttackers()
    await closeNodes()
  })

  const raw = Uint8Array.of(1, 2, 3)
  const batch = encodeBatch({ isRepeated: false, number: 1, transactions: [raw] })

  it.concurrent.each<[string, TestNodeOptions, (a: Pair[0], b: Pair[1]) => unknown]>([
    [
      'by a message of consensus',
      { events: { message: comeUponBug } },
      (a, b) => b.network.send([b.sessions.get(a.network.id)!.handle], encodedVote(11), PRIORITIES.ownVote),
    ],
    [
      'by gossip',
      { events: { transactions: async () => comeUponBug() } },
      (_, b) => b.network.publishTransactions(batch),
    ],
    ['by evidence', { events: { evidence: async () => comeUponBug() } }, (_, b) => b.network.publishEvidence(raw)],
    [
      'by a request',
      { blocks: comeUponBug },
      (a, b) => b.network.fetchBlocks(a.network.id, { from: 1, count: 1, maxBytes: 10 }).catch(() => undefined),
    ],
  ])('%s is reported', async (_, options, act) => {
    const [a, b] = await connectedPair(options)
    await until(
      'gossip has neighbours',
      () => b.network.neighbours('transactions') + b.network.neighbours('evidence') > 1,
    )
    await act(a, b)
    await until('it is reported', () => a.defects.length > 0)
    expect(a.defects.splice(0)[0]).toBeInstanceOf(TypeError)
    expect(b.defects).toEqual([])
  })

  it.concurrent('by its hello is reported', async () => {
    const a = await startNode({ events: { joined: comeUponBug } })
    await startNode({ persistentPeers: [a.peer] })
    await until('it is reported', () => a.defects.length > 0)
    expect(a.defects.splice(0)[0]).toBeInstanceOf(TypeError)
  })
})

type Pair = Awaited<ReturnType<typeof connectedPair>>

/** Valid bytes with some changed, cut off or put in front, and bytes that are nothing. */
function damaged(valid: Uint8Array): fc.Arbitrary<Uint8Array> {
  const changed = fc
    .array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 })
    .map((changes) => {
      const bytes = valid.slice()
      for (const [at, value] of changes) bytes[at] = value
      return bytes
    })
  const cut = fc.nat(valid.length).map((length) => valid.slice(0, length))
  return fc.oneof(changed, cut, fc.uint8Array({ maxLength: 300 }))
}

/** That work ends well, or as bytes of a peer let it end. */
async function expectNoDefect(work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    expect(isOwnDefect(error), String((error as Error).stack)).toBe(false)
    expect(error).not.toBeInstanceOf(TypeError)
    expect(error).not.toBeInstanceOf(RangeError)
  }
}

describe('whatever bytes a peer sends, they bring no bug to light', () => {
  const metrics = createNetworkMetrics(new Registry())
  const session = { id: 'peer', budgets: createBudgets(0), connection: { status: 'open' } } as unknown as Session
  const peers = new ProtobufWriter()
    .varint(1, 1)
    .repeatedMessage(2, writeKnownPeer, [{ id: '01'.repeat(20), address: '10.0.0.1:26656', isValidator: true }])
    .finish()
  const standing = Uint8Array.of(0, ...new ProtobufWriter().varint(1, 1).varint(2, 9).finish())
  const block = Uint8Array.of(1, 0, 0, 0, 3, 7, 7, 7, 8, 8)

  /** A session whose peer answers every request with these frames. */
  const answering = (frames: readonly Uint8Array[]): Session => {
    const newStream = async () => {
      const stream = Object.assign(new EventTarget(), {
        status: 'open',
        send: () => true,
        close: async () => undefined,
        abort: () => undefined,
        pause: () => undefined,
        resume: () => undefined,
      })
      setImmediate(() => {
        const data = Buffer.concat(frames.map((body) => (body.length === 0 ? body : encodeFrame(body))))
        stream.dispatchEvent(Object.assign(new Event('message'), { data: new Uint8Array(data) }))
        stream.dispatchEvent(new Event('end'))
      })
      return stream
    }
    return { ...session, connection: { newStream } } as unknown as Session
  }
  const source = () => ({ base: 1, height: 9, read: () => ({ block, commit: block }), close: async () => undefined })
  const gossip = new TransactionGossip({
    metrics,
    now: () => 0,
    admit: async (transactions) => ({ admitted: transactions.length, refused: 0, invalid: [], unknown: [] }),
    refused: () => undefined,
  })
  const asked = { from: 1, count: 2, maxBytes: 1_000 }

  const readAll = (bytes: Uint8Array): void => {
    const reader = new FrameReader(1_000)
    reader.push(bytes)
    while (reader.next() !== undefined);
  }
  const proveWith = (bytes: Uint8Array) => {
    const [publicKey, signature] = [new Uint8Array(32), new Uint8Array(64)]
    publicKey.set(bytes.subarray(0, 32))
    signature.set(bytes.subarray(32, 96))
    return provenValidator({ publicKey, signature }, new Uint8Array(32), new Uint8Array(32))
  }

  it.each<[string, Uint8Array, (bytes: Uint8Array) => unknown]>([
    ['a vote', encodedVote(11), (bytes) => peekMessage(bytes)],
    ['a part', encodedPart(11, 50), (bytes) => peekMessage(bytes)],
    ['a proof of being a validator', new Uint8Array(96).fill(3), proveWith],
    ['a frame', encodeFrame(encodedVote(11)), (bytes) => readAll(bytes)],
    [
      'a batch',
      encodeBatch({ isRepeated: true, number: 7, transactions: [block, peers] }),
      (bytes) => gossip.validate(session, bytes),
    ],
    [
      'a request for blocks',
      encodeBlockRequest(asked),
      (bytes) =>
        blockHandler(
          source,
          new AnswerSlots({ isReserved: () => true, ownerOf: ({ id }) => id, now: () => 0 }),
          new ReadingTime(
            () => 0,
            metrics,
            ({ id }) => id,
          ),
          new ServedBytes({ isReserved: () => true, ownerOf: ({ id }) => id, now: () => 0 }),
        ).answer(
          session,
          bytes,
          async () => undefined,
          () => 0,
        ),
    ],
    ['an answer with peers', peers, (bytes) => fetchPeers({ metrics }, answering([bytes]))],
    [
      'an answer with a range',
      standing,
      (bytes) => fetchBlocks({ metrics }, answering([bytes, block, Uint8Array.of(2)]), asked),
    ],
    [
      'an answer with blocks',
      block,
      (bytes) => fetchBlocks({ metrics }, answering([standing, bytes, Uint8Array.of(2)]), asked),
    ],
  ])('%s', async (_, valid, handle) => {
    await handle(valid)
    await fc.assert(
      fc.asyncProperty(damaged(valid), (bytes) => expectNoDefect(() => handle(bytes))),
      { numRuns: runs(300) },
    )
  })
})

describe('a node that peers send damaged bytes of every protocol', () => {
  afterAll(async () => {
    await closeAttackers()
    await closeNodes()
  })

  it('comes upon no bug and keeps its honest peers', async () => {
    const [a, b] = await connectedPair()
    const hello = encodeHandshakeMessage({ kind: 'hello', hello: (await startAttacker()).hello })
    const valid: [string, Uint8Array][] = [
      [PROTOCOLS.consensus, encodedVote(11)],
      [PROTOCOLS.parts, encodedPart(11, 50)],
      [PROTOCOLS.blocks, encodeBlockRequest({ from: 1, count: 2, maxBytes: 1_000 })],
      [PROTOCOLS.peers, Uint8Array.of(0)],
      [PROTOCOLS.status, Uint8Array.of(0)],
    ]
    for (const [protocol, bytes] of valid) {
      for (const sent of fc.sample(damaged(bytes), { numRuns: runs(3), seed: 5 })) {
        const attacker = await startAttacker()
        const stream = await (await attacker.join(a)).newStream(protocol)
        stream.send(sent.length === 0 ? Uint8Array.of(0, 0, 0, 0) : encodeFrame(sent))
      }
    }
    for (const sent of fc.sample(damaged(hello), { numRuns: runs(5), seed: 6 })) {
      if (sent.length > 0) await (await startAttacker()).greet(a, sent)
    }
    const before = a.messages.length
    b.network.send([b.sessions.get(a.network.id)!.handle], encodedVote(11, 77), PRIORITIES.ownVote)
    await until('an honest vote arrives', () => a.messages.length > before)
    expect(a.defects).toEqual([])
    expect(a.sessions.has(b.network.id)).toBe(true)
  })
})
