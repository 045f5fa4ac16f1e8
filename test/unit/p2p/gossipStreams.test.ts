import type { GossipSubComponents } from '@libp2p/gossipsub'
import {
  type Connection,
  type PeerId,
  type Stream,
  type StreamHandler,
  StreamMessageEvent,
  type Topology,
} from '@libp2p/interface'
import fc from 'fast-check'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Connections } from '../../../src/p2p/connections.ts'
import { type GossipFrame, type GossipGuard, GossipStreams } from '../../../src/p2p/gossipStreams.ts'
import { createHost, type Host } from '../../../src/p2p/host.ts'
import { LIMITS } from '../../../src/p2p/limits.ts'
import { TopicGossip, topicName } from '../../../src/p2p/topicGossip.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'
import { runs } from '../../propertyRuns.ts'
import { GENESIS_HASH, randomKey, until } from '../../support/p2p/testNode.ts'

const MAX_FRAME = 70_000
const TOPIC = topicName('transactions', GENESIS_HASH)
const CONNECTION = {} as Connection

/** An RPC with a subscription and messages of these topics, with its length before it. */
function frame(topics: readonly string[], bytes = 10): Uint8Array {
  const rpc = new ProtobufWriter().message(1, (writer) => writer.varint(1, 1).string(2, 'any'), undefined)
  return withMessages(rpc, topics, bytes)
}

/** The same without a subscription. */
const messageFrame = (topics: readonly string[]): Uint8Array => withMessages(new ProtobufWriter(), topics, 10)

function withMessages(rpc: ProtobufWriter, topics: readonly string[], bytes: number): Uint8Array {
  for (const topic of topics) {
    rpc.message(2, (writer) => writer.bytes(2, new Uint8Array(bytes).fill(0x22)).string(4, topic), undefined)
  }
  const body = rpc.finish()
  return concatBytes(new ProtobufWriter().varint(1, body.length).finish().subarray(1), body)
}

/** A stream that was accepted for gossip, and what it delivers. */
function accept(given: Pick<GossipGuard, 'opens' | 'admit'>) {
  const streams = new GossipStreams(MAX_FRAME)
  const failures: unknown[] = []
  streams.guard = { ...given, failed: (error) => failures.push(error), dropped: () => undefined }
  let handler: StreamHandler | undefined
  const registrar = {
    handle: async (_: string, wrapped: StreamHandler) => {
      handler = wrapped
    },
  } as unknown as GossipSubComponents['registrar']
  void streams.wrap(registrar).handle('/meshsub/1.1.0', (stream) => {
    stream.addEventListener('message', ({ data }) => delivered.push(data.subarray()))
  })
  const delivered: Uint8Array[] = []
  const calls: string[] = []
  const note = (name: string) => () => void calls.push(name)
  const stream = Object.assign(new EventTarget(), {
    status: 'open',
    pause: note('pause'),
    resume: note('resume'),
    abort: note('abort'),
  })
  void handler!(stream as unknown as Stream, CONNECTION)
  const send = (bytes: Uint8Array) => void stream.dispatchEvent(new StreamMessageEvent(bytes))
  const close = () => void stream.dispatchEvent(new Event('close'))
  return { delivered, calls, send, failures, close }
}

const opens = async (): Promise<boolean> => true

/** The same, of a stream whose connection may gossip, once that is known. */
async function acceptOpen(admit: GossipGuard['admit']) {
  const accepted = accept({ opens, admit })
  await vi.waitFor(() => expect(accepted.calls).toEqual(['pause', 'resume']))
  return accepted
}

const pass = (): 'pass' => 'pass'
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

describe('what stands between gossipsub and its streams', () => {
  test('looks at the messages of each frame, and delivers the frames that pass as they came, however the bytes are cut', async () => {
    const frames = fc.array(
      fc.record({
        topics: fc.array(fc.constantFrom('a', 'b', ''), { maxLength: 3 }),
        bytes: fc.constantFrom(0, 1, 100, 20_000),
        isWanted: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    )
    await fc.assert(
      fc.asyncProperty(frames, fc.array(fc.integer({ min: 1, max: 30_000 })), async (wanted, cuts) => {
        const seen: (readonly string[])[] = []
        const admit = (_: Connection, { messages, hasMore, fields, bytes }: GossipFrame) => {
          expect([hasMore, fields! > messages.length, bytes > 0]).toEqual([true, true, true])
          return wanted[seen.push(messages.map(({ topic }) => topic)) - 1]!.isWanted ? 'pass' : 'drop'
        }
        const { delivered, send } = await acceptOpen(admit)
        const encoded = wanted.map(({ topics, bytes }) => frame(topics, bytes))
        let rest = concatBytes(...encoded)
        for (const cut of cuts) {
          send(rest.subarray(0, cut))
          rest = rest.subarray(cut)
        }
        for (const byte of rest.subarray(0, 10)) send(Uint8Array.of(byte))
        send(rest.subarray(10))
        // A frame with messages a turn.
        for (let turn = 0; turn < wanted.length; turn++) await nextTurn()
        expect(seen).toEqual(wanted.map(({ topics }) => topics))
        const expected = encoded.filter((_, index) => wanted[index]!.isWanted)
        expect(delivered.map(({ length }) => length)).toEqual(expected.map(({ length }) => length))
        expect(Buffer.compare(concatBytes(...delivered), concatBytes(...expected))).toBe(0)
      }),
      { numRuns: runs(100) },
    )
  })

  test('reads nothing before it is known whose stream it is, and ends that of a stranger', async () => {
    const known = Promise.withResolvers<boolean>()
    const first = accept({ opens: () => known.promise, admit: pass })
    expect(first.calls).toEqual(['pause'])
    known.resolve(true)
    await vi.waitFor(() => expect(first.calls).toEqual(['pause', 'resume']))
    const second = accept({ opens: async () => false, admit: pass })
    await vi.waitFor(() => expect(second.calls).toEqual(['pause', 'abort']))
  })

  test.each([
    ['too long', Uint8Array.of(0xff, 0xff, 0x7f, 1, 2, 3)],
    ['of a length without an end', new Uint8Array(20).fill(0xff)],
  ])('leaves a frame that is %s to gossipsub, with all that follows', async (_, bytes) => {
    const admit = vi.fn(pass)
    const { delivered, send } = await acceptOpen(admit)
    for (const byte of bytes) send(Uint8Array.of(byte))
    send(frame(['a']))
    expect(concatBytes(...delivered)).toEqual(concatBytes(bytes, frame(['a'])))
    expect(admit).not.toHaveBeenCalled()
  })

  test('ends the stream, and reports it, when it fails itself', async () => {
    const defect = new TypeError('not a function')
    const { delivered, calls, send, failures } = await acceptOpen(() => {
      throw defect
    })
    send(frame(['a']))
    expect([delivered, calls, failures]).toEqual([[], ['pause', 'resume', 'abort'], [defect]])
  })

  const control = (field: number, items: readonly Uint8Array[]): Uint8Array =>
    new ProtobufWriter()
      .message(3, (writer, all) => writer.message(field, (inner, ids) => inner.repeatedBytes(1, ids), all), items)
      .finish()
  const ids = (count: number, bytes: number): Uint8Array[] => Array<Uint8Array>(count).fill(new Uint8Array(bytes))

  test.each<[string, Uint8Array, number | undefined, number?]>([
    ['what is no RPC', Uint8Array.of(0xff, 0xff, 0xff), undefined],
    ['a control message that is none', Uint8Array.of(3 * 8 + 2, 2, 0xff, 0xff), undefined],
    ['hashes that are asked for', control(2, ids(1_000, 20)), 1_002, 1_000],
    ['hashes that are offered', control(1, ids(1_000, 20)), 1_002],
    ['ten thousand that are empty', control(2, ids(10_000, 0)), undefined],
    ['ten thousand empty control messages', new ProtobufWriter().repeatedBytes(3, ids(10_000, 0)).finish(), undefined],
    ['ten thousand unknown fields', new ProtobufWriter().repeatedBytes(9, ids(10_000, 0)).finish(), undefined],
    ['ten thousand empty messages', new ProtobufWriter().repeatedBytes(2, ids(10_000, 0)).finish(), undefined],
  ])('counts the fields of %s', async (_, rpc, fields, wanted = 0) => {
    const admit = vi.fn((): 'drop' => 'drop')
    const { delivered, send } = await acceptOpen(admit)
    send(concatBytes(new ProtobufWriter().varint(1, rpc.length).finish().subarray(1), rpc))
    expect(admit).toHaveBeenCalledWith(
      CONNECTION,
      { messages: [], hasMore: true, fields, wanted, bytes: rpc.length },
      expect.any(Function),
    )
    expect(delivered).toEqual([])
  })

  test('reads nothing more while a frame waits, and then goes on in the order in which frames came', async () => {
    const proceeds: ((passes: boolean) => void)[] = []
    const { delivered, calls, send } = await acceptOpen((_, { messages }, proceed) => {
      if (messages[0]!.topic !== 'wait') return 'pass'
      proceeds.push(proceed)
      return () => undefined
    })
    const frames = ['a', 'wait', 'b', 'wait', 'c'].map((topic) => frame([topic]))
    const passed = (count: number) => expect(delivered).toEqual(frames.slice(0, count))
    send(concatBytes(...frames.slice(0, 3), frames[3]!.subarray(0, 5)))
    await nextTurn()
    passed(1)
    expect(calls).toEqual(['pause', 'resume', 'pause'])
    // What the stream had buffered before it was paused.
    send(frames[3]!.subarray(5))
    passed(1)
    proceeds[0]!(true)
    for (let turn = 0; turn < 3; turn++) await nextTurn()
    passed(3)
    const resumed = () => calls.filter((name) => name === 'resume').length
    expect([proceeds.length, resumed(), calls.at(-1)]).toEqual([2, 2, 'pause'])
    proceeds[1]!(false)
    expect([resumed(), calls.at(-1)]).toEqual([3, 'resume'])
    send(frames[4]!)
    expect(delivered).toEqual([frames[0], frames[1], frames[2], frames[4]])
  })

  test('delivers one frame with messages in a turn, and reads nothing more while much waits', async () => {
    const { delivered, calls, send } = await acceptOpen(pass)
    const frames = Array.from({ length: 4 }, () => frame(['a'], LIMITS.batchBytes / 2))
    send(concatBytes(...frames))
    expect([delivered.length, calls.at(-1)]).toEqual([1, 'pause'])
    for (let count = 2; count <= 4; count++) {
      await nextTurn()
      expect(delivered.length).toBe(count)
    }
    expect(calls.at(-1)).toBe('resume')
  })

  test('takes a frame back that waits when the stream ends', async () => {
    const cancel = vi.fn()
    const { send, close } = await acceptOpen(() => cancel)
    send(frame(['a']))
    expect(cancel).not.toHaveBeenCalled()
    close()
    expect(cancel).toHaveBeenCalledTimes(1)
  })
})

describe('what gossipsub sends', () => {
  test('waits for a slow peer up to a limit, then messages are dropped, and nothing else', async () => {
    const streams = new GossipStreams(MAX_FRAME)
    let dropped = 0
    streams.guard = { opens, admit: pass, failed: () => undefined, dropped: (messages) => (dropped += messages) }
    const sent: number[] = []
    const stream = {
      status: 'open',
      writeBufferLength: 0,
      send: (bytes: Uint8Array) => sent.push(bytes.length),
    }
    let onConnect: Topology['onConnect']
    const registrar = {
      register: async (_: string, topology: Topology) => {
        ;({ onConnect } = topology)
        return 'id'
      },
    } as unknown as GossipSubComponents['registrar']
    let opened: Stream | undefined
    await streams.wrap(registrar).register('/meshsub/1.1.0', {
      onConnect: async (_, connection) => {
        opened = await connection.newStream('/meshsub/1.1.0')
      },
    })
    await onConnect!({} as PeerId, { newStream: async () => stream } as unknown as Connection)
    const [message, both] = [messageFrame(['a', 'b']), frame(['a'])]
    opened!.send(message)
    stream.writeBufferLength = LIMITS.unsentGossip + 1
    opened!.send(message)
    opened!.send(both)
    expect([sent, dropped]).toEqual([[message.length, both.length], 2])
    stream.writeBufferLength = 0
    opened!.send(message)
    expect(sent).toHaveLength(3)
    // An answer to a peer that asks for all recent messages.
    opened!.send(frame(Array(40).fill('a'), 60_000))
    expect(sent.at(-1)).toBeLessThan(LIMITS.unsentGossip + 1_000)
    expect(dropped).toBe(2 + 40 - Math.floor(LIMITS.unsentGossip / 60_010))
  })
})

describe('streams that gossipsub lacks', () => {
  const running: Host[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((host) => host.stop()))
  })

  async function startHost(gossipStreams: GossipStreams): Promise<Host> {
    const host = await createHost({
      seed: randomKey().seed,
      listen: { host: '127.0.0.1', port: 0 },
      maxConnections: 10,
      topics: [TOPIC],
      gater: {},
      gossipStreams,
      now: () => performance.now(),
    })
    await host.start()
    running.push(host)
    host.services.pubsub.subscribe(TOPIC)
    return host
  }

  const outbound = ({ streams }: Connection, { services }: Host) =>
    streams.filter(
      ({ direction, protocol }) => direction === 'outbound' && services.pubsub.protocols.includes(protocol),
    )

  test.each([
    ['ends', 0],
    ['ends, and the next ones do before gossipsub listens for their end', 3],
  ])('are opened again when one %s', async (_, deaths) => {
    const gossipStreams = new GossipStreams(MAX_FRAME)
    const [a, b] = [await startHost(gossipStreams), await startHost(new GossipStreams(MAX_FRAME))]
    const connection = await a.dial(b.getMultiaddrs())
    const gossip = new TopicGossip({
      connections: {
        host: a,
        sessions: new Map([['b', { connection, meter: { openedMs: -3_600_000 } }]]),
      } as unknown as Connections,
      streams: gossipStreams,
      genesisHash: GENESIS_HASH,
      metrics: createNetworkMetrics(new Registry()),
      now: () => performance.now(),
      validate: { transactions: async () => 'accept', evidence: async () => 'accept' },
      work: { take: () => true, checking: () => () => undefined },
    })
    const known = () => b.services.pubsub.getSubscribers(TOPIC).length
    await until('they are neighbours', () => outbound(connection, a).length === 1 && known() === 1)
    const open = connection.newStream.bind(connection)
    let opened = 0
    connection.newStream = async (protocols, options) => {
      const stream = await open(protocols, options)
      if (opened++ < deaths) stream.abort(new Error('gone'))
      return stream
    }
    outbound(connection, a)[0]!.abort(new Error('gone'))
    await until('it is gone', () => outbound(connection, a).every(({ status }) => status !== 'open'))
    let received = 0
    b.services.pubsub.addEventListener('message', () => received++)
    await until('it is open again', () => {
      gossip.repair()
      return outbound(connection, a).some(({ status }) => status === 'open')
    })
    expect(opened).toBeGreaterThan(deaths)
    let number = 0
    await vi.waitFor(
      async () => {
        await a.services.pubsub.publish(TOPIC, Uint8Array.of(number++))
        expect(received).toBeGreaterThan(0)
      },
      { timeout: 20_000, interval: 100 },
    )
  })
})
