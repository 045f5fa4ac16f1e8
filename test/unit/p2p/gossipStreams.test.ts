import type { GossipSubComponents } from '@libp2p/gossipsub'
import { type Connection, type Stream, type StreamHandler, StreamMessageEvent } from '@libp2p/interface'
import fc from 'fast-check'
import { Registry } from 'prom-client'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Connections } from '../../../src/p2p/connections.ts'
import { Gossip, topicName } from '../../../src/p2p/gossip.ts'
import { type GossipGuard, GossipStreams } from '../../../src/p2p/gossipStreams.ts'
import { createHost, type Host } from '../../../src/p2p/host.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'
import { runs } from '../../propertyRuns.ts'
import { GENESIS_HASH, randomKey, until } from './testNode.ts'

const MAX_FRAME = 70_000
const TOPIC = topicName('transactions', GENESIS_HASH)
const CONNECTION = {} as Connection

/** An RPC with a subscription and messages of these topics, with its length before it. */
function frame(topics: readonly string[], bytes = 10): Uint8Array {
  const rpc = new ProtobufWriter().message(1, (writer) => writer.varint(1, 1).string(2, 'any'), undefined)
  for (const topic of topics) {
    rpc.message(2, (writer) => writer.bytes(2, new Uint8Array(bytes).fill(0x22)).string(4, topic), undefined)
  }
  const body = rpc.finish()
  return concatBytes(new ProtobufWriter().varint(1, body.length).finish().subarray(1), body)
}

/** A stream that was accepted for gossip, and what it delivers. */
function accept(given: Omit<GossipGuard, 'failed'>) {
  const streams = new GossipStreams(MAX_FRAME)
  const failures: unknown[] = []
  streams.guard = { ...given, failed: (error) => failures.push(error) }
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
    pause: note('pause'),
    resume: note('resume'),
    abort: note('abort'),
  })
  void handler!(stream as unknown as Stream, CONNECTION)
  const send = (bytes: Uint8Array) => void stream.dispatchEvent(new StreamMessageEvent(bytes))
  return { delivered, calls, send, failures }
}

const opens = async (): Promise<boolean> => true

describe('what stands between gossipsub and its streams', () => {
  test('counts the messages of each frame, and delivers the frames that pass as they came, however the bytes are cut', () => {
    const frames = fc.array(
      fc.record({
        topics: fc.array(fc.constantFrom('a', 'b', ''), { maxLength: 3 }),
        bytes: fc.constantFrom(0, 1, 100, 20_000),
        isWanted: fc.boolean(),
      }),
      { minLength: 1, maxLength: 6 },
    )
    fc.assert(
      fc.property(frames, fc.array(fc.integer({ min: 1, max: 30_000 })), (wanted, cuts) => {
        const seen: (readonly string[])[] = []
        const passes = (_: Connection, topics: readonly string[]) => wanted[seen.push(topics) - 1]!.isWanted
        const { delivered, send } = accept({ opens, passes })
        const encoded = wanted.map(({ topics, bytes }) => frame(topics, bytes))
        let rest = concatBytes(...encoded)
        for (const cut of cuts) {
          send(rest.subarray(0, cut))
          rest = rest.subarray(cut)
        }
        for (const byte of rest.subarray(0, 10)) send(Uint8Array.of(byte))
        send(rest.subarray(10))
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
    const first = accept({ opens: () => known.promise, passes: () => true })
    expect(first.calls).toEqual(['pause'])
    known.resolve(true)
    await vi.waitFor(() => expect(first.calls).toEqual(['pause', 'resume']))
    const second = accept({ opens: async () => false, passes: () => true })
    await vi.waitFor(() => expect(second.calls).toEqual(['pause', 'abort']))
  })

  test.each([
    ['too long', Uint8Array.of(0xff, 0xff, 0x7f, 1, 2, 3)],
    ['of a length without an end', new Uint8Array(20).fill(0xff)],
  ])('leaves a frame that is %s to gossipsub, with all that follows', (_, bytes) => {
    const passes = vi.fn(() => true)
    const { delivered, send } = accept({ opens, passes })
    for (const byte of bytes) send(Uint8Array.of(byte))
    send(frame(['a']))
    expect(concatBytes(...delivered)).toEqual(concatBytes(bytes, frame(['a'])))
    expect(passes).not.toHaveBeenCalled()
  })

  test('ends the stream, and reports it, when it fails itself', () => {
    const defect = new TypeError('not a function')
    const passes = (): boolean => {
      throw defect
    }
    const { delivered, calls, send, failures } = accept({ opens, passes })
    send(frame(['a']))
    expect([delivered, calls, failures]).toEqual([[], ['pause', 'abort'], [defect]])
  })

  test('counts what is no RPC as a frame without messages', () => {
    const passes = vi.fn(() => false)
    const { delivered, send } = accept({ opens, passes })
    send(Uint8Array.of(3, 0xff, 0xff, 0xff))
    expect(passes).toHaveBeenCalledWith(CONNECTION, [])
    expect(delivered).toEqual([])
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
    const gossip = new Gossip({
      connections: {
        host: a,
        sessions: new Map([['b', { connection, meter: { openedMs: -3_600_000 } }]]),
      } as unknown as Connections,
      streams: gossipStreams,
      genesisHash: GENESIS_HASH,
      metrics: createNetworkMetrics(new Registry()),
      now: () => performance.now(),
      validate: { transactions: async () => 'accept', evidence: async () => 'accept' },
      refusal: { transactions: () => undefined, evidence: () => undefined },
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
