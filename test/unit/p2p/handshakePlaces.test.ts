import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HandshakePlaces } from '../../../src/p2p/handshakePlaces.ts'
import { KnownAddresses } from '../../../src/p2p/knownAddresses.ts'
import { HANDSHAKE_LIMITS, LIMITS } from '../../../src/p2p/limits.ts'
import { createNetworkMetrics } from '../../../src/telemetry/metrics.ts'

const { strangers, known, publicAddress } = HANDSHAKE_LIMITS
const VALIDATOR = '198.51.100.7'
const BANNED = '203.0.113.13'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function setUp(needed: readonly string[] = [VALIDATOR]) {
  const addresses = new KnownAddresses()
  for (const host of needed) addresses.remember(host, host)
  const registry = new Registry()
  const places = new HandshakePlaces({
    isBanned: (host) => host === BANNED,
    isKnown: (host) => addresses.has(host),
    metrics: createNetworkMetrics(registry),
    now: () => performance.now(),
  })
  let port = 1_024
  const closed: number[] = []
  const connect = (host: string) => {
    const own = ++port
    const leave = places.enter({ host, port: own }, () => closed.push(own))
    return leave === undefined ? undefined : { leave, remote: { host, port: own } }
  }
  const values = async (name: string) =>
    Object.fromEntries(
      ((await registry.getSingleMetric(name)?.get())?.values ?? []).map(({ labels, value }) => [
        Object.values(labels)[0],
        value,
      ]),
    )
  return {
    places,
    closed,
    connect,
    results: () => values('coind_p2p_inbound_connections_total'),
    pending: () => values('coind_p2p_pending_handshakes'),
  }
}

const distinct = (index: number): string => `192.0.2.${index}`
/** An address in a network of its own. */
const elsewhere = (index: number): string => `${20 + (index % 70)}.${1 + Math.floor(index / 70)}.0.1`

describe('places for handshakes', () => {
  test('are few for strangers, and known peers have their own', async () => {
    const { connect, results, pending } = setUp()
    for (let index = 0; index < 200; index++) connect(distinct(index))
    expect(await pending()).toEqual({ strangers: strangers.pending })
    expect(await results()).toEqual({ admitted: strangers.pending, full: 200 - strangers.pending })
    expect(connect(VALIDATOR)).toBeDefined()
    expect(await pending()).toEqual({ strangers: strangers.pending, known: 1 })
  })

  test('are free again when a connection is closed or has a session', async () => {
    const { places, connect, pending } = setUp()
    const [first, second] = [connect(distinct(1)), connect(distinct(2))]
    first!.leave()
    places.established(second!.remote)
    // Its end is no second release.
    second!.leave()
    expect(await pending()).toEqual({ strangers: 0 })
  })

  test('are all free again when a port was used anew before the end of its former connection was heard of', async () => {
    const { places, closed, connect, results, pending } = setUp()
    const remote = { host: distinct(1), port: 1 }
    for (let count = 0; count < publicAddress.pending; count++) {
      const [former, next] = [places.enter(remote, () => closed.push(1)), places.enter(remote, () => closed.push(2))]
      former!()
      next!()
    }
    expect(await pending()).toEqual({ strangers: 0 })
    vi.advanceTimersByTime(60_000)
    expect(connect(distinct(1))).toBeDefined()
    expect(closed).toEqual([])
    expect(await results()).toEqual({ admitted: 2 * publicAddress.pending + 1 })
  })

  test('are kept no longer than the deadline', async () => {
    const { places, closed, connect, results, pending } = setUp()
    const [late, intime] = [connect(distinct(1)), connect(distinct(2))]
    places.established(intime!.remote)
    vi.advanceTimersByTime(LIMITS.helloMs)
    expect(closed).toEqual([late!.remote.port])
    expect(await pending()).toEqual({ strangers: 0 })
    expect(await results()).toEqual({ admitted: 2, late: 1 })
  })

  test('of those that say nothing go to others, once they have had some time', async () => {
    const { closed, connect, results } = setUp()
    for (let index = 0; index < strangers.pending; index++) connect(distinct(index))
    vi.advanceTimersByTime(LIMITS.handshakeGraceMs - 1)
    expect(connect(distinct(100))).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(connect(distinct(101))).toBeDefined()
    expect(closed).toHaveLength(1)
    expect(await results()).toEqual({ admitted: strangers.pending + 1, full: 1, evicted: 1 })
  })

  test.each([
    ['one IPv4 address', () => '192.0.2.1'],
    ['one IPv4 address as IPv6', () => '::ffff:192.0.2.1'],
    ['an address with a zone', () => '2001:db8::1%eth0'],
    ['one /64', (index: number) => `2001:db8:1:2::${index.toString(16)}`],
  ])('%s has a share of them', async (_, host) => {
    const { connect, results } = setUp()
    for (let index = 0; index < 100; index++) connect(host(index))
    expect(await results()).toEqual({ admitted: publicAddress.pending, share: 100 - publicAddress.pending })
    expect(connect('192.0.2.2')).toBeDefined()
    expect(connect('2001:db8:1:3::1')).toBeDefined()
  })

  test('a share is also one of starts, and what is above it takes nothing from others', async () => {
    const { connect } = setUp()
    let admitted = 0
    const knock = (host: string): void => {
      const connection = connect(host)
      if (connection === undefined) return
      admitted++
      connection.leave()
    }
    for (let count = 0; count < 1_000; count++) knock(distinct(1))
    expect(admitted).toBe(publicAddress.started.burst)
    for (let index = 0; index < strangers.started.burst; index++) knock(elsewhere(index))
    expect(admitted).toBe(strangers.started.burst)
    vi.advanceTimersByTime(1_000)
    for (let index = 0; index < 200; index++) knock(elsewhere(index))
    expect(admitted).toBe(strangers.started.burst + strangers.started.perSecond)
  })

  test.each([
    ['say nothing', () => undefined],
    ['leave at once', (connection: { leave: () => void } | undefined) => connection?.leave()],
  ])('300 connections a second from 29 addresses that %s leave other strangers theirs', async (_, attack) => {
    const { places, closed, connect } = setUp([])
    const admitted: number[] = []
    let knocks = 0
    let attacks = 0
    for (let tenth = 0; tenth < 600; tenth++) {
      for (let count = 0; count < 30; count++) attack(connect(elsewhere(attacks++ % 29)))
      if (tenth % 10 === 0) {
        knocks++
        const connection = connect(elsewhere(100 + knocks))
        if (connection !== undefined) {
          admitted.push(connection.remote.port)
          // A handshake over a slow line.
          setTimeout(() => places.established(connection.remote), 900)
        }
      }
      vi.advanceTimersByTime(100)
    }
    expect(admitted.length).toBe(knocks)
    expect(admitted.filter((port) => closed.includes(port))).toEqual([])
  })

  test('a network has the share of a few addresses, however many it has', () => {
    const { connect } = setUp()
    const flood = (count: number): number => {
      let admitted = 0
      for (let index = 0; index < count; index++) {
        const connection = connect(`192.0.${index % 250}.${index % 249}`)
        if (connection !== undefined) admitted++
        connection?.leave()
      }
      return admitted
    }
    flood(1_000)
    for (let tenth = 0; tenth < 300; tenth++) {
      flood(30)
      if (tenth % 10 === 0) {
        const connection = connect(elsewhere(tenth))
        expect(connection).toBeDefined()
        connection?.leave()
      }
      vi.advanceTimersByTime(100)
    }
  })

  test('an address that holds most of the places makes room for one that holds fewer', async () => {
    const { closed, connect, results } = setUp()
    for (let index = 0; index < strangers.pending / publicAddress.pending; index++) {
      for (let count = 0; count < publicAddress.pending; count++) connect(elsewhere(index))
    }
    const others = [connect(elsewhere(200)), connect(elsewhere(201))]
    expect(others.every((connection) => connection !== undefined)).toBe(true)
    expect(closed).toHaveLength(2)
    expect(await results()).toEqual({ admitted: strangers.pending + 2, evicted: 2 })
  })

  test('so many handshakes start in a minute of a flood from everywhere, and those of known peers besides', async () => {
    const { connect, results } = setUp()
    let fromKnown = 0
    for (let tenth = 0; tenth < 600; tenth++) {
      for (let index = 0; index < 50; index++) connect(`2001:db8:${tenth}:${index}::1`)?.leave()
      if (connect(VALIDATOR) !== undefined) fromKnown++
      vi.advanceTimersByTime(100)
    }
    const { admitted } = await results()
    const { perSecond, burst } = strangers.started
    expect(admitted! - fromKnown).toBeGreaterThan(60 * perSecond)
    expect(admitted! - fromKnown).toBeLessThanOrEqual(burst + 60 * perSecond)
    expect(fromKnown).toBeGreaterThan(publicAddress.started.burst)
    expect(fromKnown).toBeLessThan(known.started.burst + 60 * known.started.perSecond)
  })

  test('are none for a banned address', async () => {
    const { connect, results } = setUp()
    expect(connect(BANNED)).toBeUndefined()
    expect(connect('::ffff:203.0.113.13')).toBeUndefined()
    expect(await results()).toEqual({ banned: 2 })
  })

  test('are there for a peer that is needed, whoever was banned at its address', () => {
    const { connect } = setUp([BANNED])
    expect(connect(BANNED)).toBeDefined()
  })
})

describe('known addresses', () => {
  test('are the newest few of each peer, whatever their form', async () => {
    const addresses = new KnownAddresses()
    for (const host of ['192.0.2.1', '192.0.2.2', '::ffff:192.0.2.3', 'validator.example'])
      addresses.remember('a', host)
    addresses.remember('b', '2001:db8::1')
    expect(['192.0.2.1', '192.0.2.2', '192.0.2.3'].map((host) => addresses.has(host))).toEqual([false, true, true])
    expect([addresses.has('2001:db8:0:0:5::9'), addresses.has('2001:db8:0:1::1')]).toEqual([true, false])
    addresses.keepOnly((peer) => peer === 'b')
    expect([addresses.has('192.0.2.2'), addresses.has('2001:db8::1')]).toEqual([false, true])
  })

  test('are also those of host names', async () => {
    const addresses = new KnownAddresses()
    await addresses.resolve('seed', 'localhost')
    expect(addresses.has('127.0.0.1') || addresses.has('::1')).toBe(true)
    await addresses.resolve('other', '192.0.2.9')
    expect(addresses.has('192.0.2.9')).toBe(true)
    // No name at all: no server is asked.
    await expect(addresses.resolve('wrong', 'not..a.name')).rejects.toThrow('not..a.name')
  })
})
