import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { FilePiece, OfferedSnapshot } from '../../../../src/snapshot/offeredSnapshots.ts'
import {
  findSnapshots,
  NoPeerServes,
  PeerFiles,
  type SnapshotPeers,
  TriedSnapshots,
  waitForPeers,
} from '../../../../src/sync/blocks/peerSnapshots.ts'

const PIECE = 10
const sha256 = (bytes: Uint8Array) => new Uint8Array(createHash('sha256').update(bytes).digest())
const files = Array.from({ length: 8 }, (_, i) => new Uint8Array(25 + i).fill(i + 1))
const fileOf = (bytes: Uint8Array) => ({ sha256: sha256(bytes), bytes: bytes.length })

type Serve = (bytes: Uint8Array, offset: number) => FilePiece | undefined

const honest: Serve = (bytes, offset) => ({ size: bytes.length, bytes: bytes.slice(offset, offset + PIECE) })

/** Peers that serve `files`, each in its way. Time passes when somebody sleeps. */
class Peers implements SnapshotPeers {
  readonly #serves: Map<string, Serve>
  readonly asked: string[] = []
  readonly punished: [string, string][] = []
  readonly #busy = new Set<string>()
  wasDoubled = false
  nowMs = 0

  constructor(serves: Readonly<Record<string, Serve>>) {
    this.#serves = new Map(Object.entries(serves))
  }

  peers = () => [...this.#serves.keys()]
  fetchOffers = async () => []

  fetchPiece = async (peer: string, { sha256: hash, offset }: { sha256: Uint8Array; offset: number }) => {
    this.asked.push(peer)
    if (this.#busy.has(peer)) this.wasDoubled = true
    this.#busy.add(peer)
    await new Promise((resolve) => setImmediate(resolve))
    this.#busy.delete(peer)
    const bytes = files.find((file) => Buffer.compare(sha256(file), hash) === 0)
    return bytes && this.#serves.get(peer)?.(bytes, offset)
  }

  punish = (peer: string, what: string, reason: string) => {
    this.punished.push([peer, `${what}: ${reason}`])
    this.leave(peer)
  }

  leave(peer: string): void {
    this.#serves.delete(peer)
  }

  files(peers: readonly string[] = this.peers()): PeerFiles {
    return new PeerFiles({
      network: this,
      peers,
      nowMs: () => this.nowMs,
      sleep: async (ms, signal) => {
        signal?.throwIfAborted()
        this.nowMs += ms
        await new Promise((resolve) => setImmediate(resolve))
      },
    })
  }
}

const fetchAll = (from: PeerFiles) => Promise.all(files.map((bytes) => from.fetch(fileOf(bytes))))

describe('files of a snapshot', () => {
  test('come from several peers at the same time, each with one request', async () => {
    const peers = new Peers({ a: honest, b: honest, c: honest })
    expect(await fetchAll(peers.files())).toEqual(files)
    expect(new Set(peers.asked)).toEqual(new Set(['a', 'b', 'c']))
    expect([peers.wasDoubled, peers.punished]).toEqual([false, []])
  })

  test.each<[string, Serve, RegExp | undefined]>([
    [
      'sends wrong bytes',
      (bytes, offset) =>
        honest(
          bytes.map((byte) => byte ^ 1),
          offset,
        ),
      /do not have the hash/,
    ],
    [
      'sends other sizes',
      (bytes, offset) => ({ ...honest(bytes, offset)!, size: bytes.length + 1 }),
      /of 26 bytes instead of 25|instead of/,
    ],
    ['has nothing', () => undefined, undefined],
    [
      'does not answer',
      () => {
        throw new Error('no answer in time')
      },
      undefined,
    ],
  ])('come from others when a peer %s', async (_, serve, reason) => {
    const peers = new Peers({ bad: serve, good: honest })
    expect(await fetchAll(peers.files())).toEqual(files)
    expect(peers.punished.map(([peer]) => peer)).toEqual(reason === undefined ? [] : ['bad'])
    if (reason !== undefined) expect(peers.punished[0]![1]).toMatch(reason)
  })

  test('come at last when every chunk of one peer is bad and the other one often does not answer', async () => {
    let calls = 0
    const peers = new Peers({
      liar: (bytes, offset) => ({ size: bytes.length, bytes: new Uint8Array(honest(bytes, offset)!.bytes.length) }),
      slow: (bytes, offset) => {
        if (++calls % 5 === 0) throw new Error('no answer in time')
        return honest(bytes, offset)
      },
    })
    expect(await fetchAll(peers.files())).toEqual(files)
    expect(peers.punished.map(([peer]) => peer)).toEqual(['liar'])
  })

  test('come from the faster of the peers that are free, so that slow ones do not hold up the rest', async () => {
    const served = { slow: 0, slower: 0, fast: 0 }
    const taking =
      (name: keyof typeof served, pieceMs: number): Serve =>
      (bytes, offset) => {
        peers.nowMs += pieceMs
        if (offset === 0) served[name]++
        return honest(bytes, offset)
      }
    const peers = new Peers({ slow: taking('slow', 8_000), slower: taking('slower', 9_000), fast: taking('fast', 10) })
    const from = peers.files()
    for (const bytes of files) await from.fetch(fileOf(bytes))
    expect(served).toEqual({ slow: 1, slower: 1, fast: files.length - 2 })
  })

  test('are given up when no peer is left, or nobody sends anything for long', async () => {
    const liars = new Peers({ a: (bytes) => ({ size: bytes.length, bytes: new Uint8Array(25) }) })
    await expect(liars.files().fetch(fileOf(files[0]!))).rejects.toThrow(NoPeerServes)
    const empty = new Peers({ a: () => undefined, b: () => undefined })
    await expect(empty.files().fetch(fileOf(files[0]!))).rejects.toThrow(/has a file of the snapshot any more/)
    const silent = new Peers({
      a: () => {
        throw new Error('no answer in time')
      },
    })
    await expect(silent.files().fetch(fileOf(files[0]!))).rejects.toThrow(/for 90 seconds/)
    expect(silent.asked.length).toBeLessThan(10)
    expect(silent.punished).toEqual([])
  })

  test('are not waited for after the abort', async () => {
    const peers = new Peers({ a: honest })
    const abort = new AbortController()
    const from = peers.files()
    const all = files.map((bytes) => from.fetch(fileOf(bytes), abort.signal).catch((error: unknown) => error))
    abort.abort(new Error('stopped'))
    expect(new Set((await Promise.all(all)).map(String))).toEqual(new Set(['Error: stopped']))
  })

  test('come from nobody any more when the snapshot is none of this chain', async () => {
    const peers = new Peers({ a: honest, b: honest, other: honest })
    const from = peers.files(['a', 'b'])
    from.punishAll('a forged manifest')
    expect(peers.punished).toEqual([
      ['a', 'malformed: a forged manifest'],
      ['b', 'malformed: a forged manifest'],
    ])
    await expect(from.fetch(fileOf(files[0]!))).rejects.toThrow(NoPeerServes)
  })
})

test('the newest snapshot comes first, and of the same height the one that most peers have', async () => {
  const offer = (height: number, name: number): OfferedSnapshot => ({
    height,
    manifest: new Uint8Array(32).fill(name),
    manifestBytes: 10,
    chunkBytes: 100,
  })
  const offers: Readonly<Record<string, readonly OfferedSnapshot[]>> = {
    a: [offer(200, 2), offer(100, 1)],
    b: [offer(200, 9), offer(100, 1)],
    c: [offer(200, 2), offer(200, 2), offer(300, 3)],
  }
  const network: SnapshotPeers = {
    peers: () => ['a', 'silent', 'b', 'c'],
    fetchOffers: async (peer) => offers[peer] ?? Promise.reject(new Error('no answer in time')),
    fetchPiece: async () => undefined,
    punish: () => undefined,
  }
  const found = await findSnapshots(network)
  expect(found.map(({ height, manifest, peers }) => [height, manifest[0], peers])).toEqual([
    [300, 3, ['c']],
    [200, 2, ['a', 'c']],
    [200, 9, ['b']],
    [100, 1, ['a', 'b']],
  ])
  const begun = (height: number) => findSnapshots(network, height).then((offers) => offers.map(({ height }) => height))
  expect(await begun(200)).toEqual([200, 200, 300, 100])
  expect(await begun(150)).toEqual([300, 200, 200, 100])
})

test('a snapshot that peers did not give is tried again with others', () => {
  const manifest = new Uint8Array(32).fill(1)
  const tried = new TriedSnapshots()
  expect(tried.has({ manifest, peers: ['a'] })).toBe(false)
  tried.add({ manifest, peers: ['a', 'b'] })
  tried.add({ manifest, peers: ['c'] })
  for (const [peers, expected] of [
    [['a'], true],
    [['b', 'c'], true],
    [['b', 'd'], false],
  ] as const) {
    expect(tried.has({ manifest, peers })).toBe(expected)
  }
  expect(tried.has({ manifest: new Uint8Array(32).fill(2), peers: ['a'] })).toBe(false)
})

test('a peer that offers ever new snapshots in vain is not asked for more, others are', () => {
  const tried = new TriedSnapshots()
  const manifestOf = (number: number) => new Uint8Array(32).fill(number)
  for (const number of [1, 2]) {
    expect(tried.has({ manifest: manifestOf(number), peers: ['liar'] })).toBe(false)
    tried.add({ manifest: manifestOf(number), peers: ['liar'] })
  }
  for (let number = 3; number < 20; number++) {
    expect(tried.has({ manifest: manifestOf(number), peers: ['liar'] })).toBe(true)
    expect(tried.has({ manifest: manifestOf(number), peers: ['liar', 'other'] })).toBe(false)
  }
})

describe('the wait for peers', () => {
  /** Peers that are there from some moments on, in seconds. */
  const waiting = async (peers: Readonly<Record<string, number>>, configured: readonly string[] = []) => {
    let nowMs = 5_000
    const told: number[] = []
    const isThere = await waitForPeers({
      network: {
        refresh: async () => undefined,
        peers: () => Object.keys(peers).filter((peer) => nowMs >= 5_000 + peers[peer]! * 1_000),
      },
      configured,
      nowMs: () => nowMs,
      sleep: async (ms) => {
        nowMs += ms
      },
      onWaiting: (seconds) => told.push(seconds),
    })
    return { isThere, seconds: (nowMs - 5_000) / 1_000, told }
  }

  test('is over soon after the first, and later where one is missing that is configured', async () => {
    expect(await waiting({ a: 0 })).toEqual({ isThere: true, seconds: 1, told: [] })
    expect(await waiting({ a: 0, b: 3 }, ['b'])).toEqual({ isThere: true, seconds: 3, told: [] })
    expect(await waiting({ a: 0 }, ['b'])).toEqual({ isThere: true, seconds: 5, told: [] })
  })

  test('lasts through a restart of all peers, and says so', async () => {
    expect(await waiting({ a: 95 })).toEqual({ isThere: true, seconds: 96, told: [30, 60, 90] })
    const { isThere, seconds, told } = await waiting({})
    expect([isThere, seconds, told.length]).toEqual([false, 600, 19])
  })
})
