import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { SNAPSHOT_SERVING } from '../../../src/p2p/limits.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { OFFERS_PER_ANSWER, PIECE_BYTES, ServingRates } from '../../../src/p2p/snapshotExchange.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { type OfferedSnapshot, type SnapshotSource, snapshotsIn } from '../../../src/snapshot/offeredSnapshots.ts'
import { closeNodes, connectedPair, type TestNode, until } from '../../support/p2p/testNode.ts'

const sha256 = (bytes: Uint8Array) => new Uint8Array(createHash('sha256').update(bytes).digest())
const nameOf = (bytes: Uint8Array) => `${Buffer.from(sha256(bytes)).toString('hex')}.zst`

let root: string
const large = new Uint8Array(randomBytes(2 * PIECE_BYTES + 5))
const small = new Uint8Array(randomBytes(100))
const empty = new Uint8Array()
const manifests: Readonly<Record<string, Uint8Array>> = {
  100: Buffer.from('{"height":100}'),
  2000: Buffer.from('{"height":2000}'),
}

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'coind-snapshots-'))
  for (const [height, manifest] of Object.entries(manifests)) {
    const directory = join(root, height)
    mkdirSync(directory)
    writeFileSync(join(directory, 'manifest.json'), manifest)
    writeFileSync(join(directory, nameOf(small)), small)
    if (height === '2000') for (const chunk of [large, empty]) writeFileSync(join(directory, nameOf(chunk)), chunk)
  }
  mkdirSync(join(root, '.3000.making'))
  writeFileSync(join(root, '.3000.making', 'manifest.json'), 'unfinished')
  writeFileSync(join(root, 'secret.txt'), 'not served')
})

afterAll(() => rmSync(root, { recursive: true }))
afterEach(closeNodes)

/** The whole file, piece after piece. */
async function fetchFile(from: TestNode, by: TestNode, hash: Uint8Array): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = []
  for (let offset = 0; ; ) {
    const piece = await by.network.fetchPiece(from.network.id, { sha256: hash, offset })
    if (piece === undefined) return undefined
    pieces.push(piece.bytes)
    offset += piece.bytes.length
    if (offset === piece.size) return concatBytes(...pieces)
  }
}

test('a peer learns of complete snapshots and fetches their files, piece by piece', async () => {
  const [server, client] = await connectedPair({ snapshots: snapshotsIn(root, () => 0) })
  const offers = await client.network.fetchOffers(server.network.id)
  expect(offers).toEqual(
    [2000, 100].map((height) => ({
      height,
      manifest: sha256(manifests[height]!),
      manifestBytes: manifests[height]!.length,
      chunkBytes: height === 100 ? small.length : small.length + large.length,
    })),
  )
  // Not by `toEqual`, which compares megabytes element by element.
  expect(sha256((await fetchFile(server, client, sha256(large)))!)).toEqual(sha256(large))
  expect(await fetchFile(server, client, sha256(small))).toEqual(small)
  expect(await fetchFile(server, client, offers[0]!.manifest)).toEqual(new Uint8Array(manifests[2000]!))
  const last = await client.network.fetchPiece(server.network.id, { sha256: sha256(large), offset: large.length - 7 })
  expect(last).toEqual({ size: large.length, bytes: large.subarray(-7) })
})

test('what a peer does not have is an answer, no error', async () => {
  const [server, client] = await connectedPair({ snapshots: snapshotsIn(root, () => 0) })
  const fetch = (hash: Uint8Array, offset = 0) => client.network.fetchPiece(server.network.id, { sha256: hash, offset })
  expect(await fetch(sha256(Buffer.from('unfinished')))).toBeUndefined()
  expect(await fetch(new Uint8Array(32))).toBeUndefined()
  expect(await fetch(sha256(small), small.length)).toBeUndefined()
  expect(await fetch(sha256(small), Number.MAX_SAFE_INTEGER)).toBeUndefined()
  expect(await fetch(sha256(empty))).toBeUndefined()
  const [none, other] = await connectedPair({ snapshots: snapshotsIn(join(root, 'absent'), () => 0) })
  expect(await other.network.fetchOffers(none.network.id)).toEqual([])
  expect([...server.defects, ...client.defects, ...none.defects]).toEqual([])
})

test('a snapshot that was removed is not offered any more', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'coind-snapshots-'))
  try {
    const source = snapshotsIn(copy, () => 0)
    mkdirSync(join(copy, '.5.making'))
    writeFileSync(join(copy, '.5.making', 'manifest.json'), '{}')
    expect(await source.offers()).toEqual([])
    renameSync(join(copy, '.5.making'), join(copy, '5'))
    expect((await source.offers()).map(({ height }) => height)).toEqual([5])
    rmSync(join(copy, '5'), { recursive: true })
    expect(await source.offers()).toEqual([])
    expect(await source.read(sha256(Buffer.from('{}')), 0, 10)).toBeUndefined()
  } finally {
    rmSync(copy, { recursive: true })
  }
})

describe('limits', () => {
  /** Answers every piece with as many bytes as were asked for. */
  const endless = (reads: { count: number; most: number } = { count: 0, most: 0 }): SnapshotSource => {
    let open = 0
    return {
      offers: async () => [],
      read: async (_, offset, length) => {
        reads.count++
        reads.most = Math.max(reads.most, ++open)
        await new Promise((resolve) => setImmediate(resolve))
        open--
        return { size: offset + length, bytes: new Uint8Array(length) }
      },
    }
  }

  test('one piece at a time is read for a peer', async () => {
    const reads = { count: 0, most: 0 }
    const [server, client] = await connectedPair({ snapshots: endless(reads) })
    const fetch = () => client.network.fetchPiece(server.network.id, { sha256: new Uint8Array(32), offset: 0 })
    await Promise.all([fetch(), fetch(), fetch()])
    expect(reads).toEqual({ count: 3, most: 1 })
  })

  describe('of the rates', () => {
    beforeEach(() => {
      vi.useFakeTimers()
    })
    afterEach(() => {
      vi.useRealTimers()
    })

    const { address, total, longestWait } = SNAPSHOT_SERVING
    const createRates = () => new ServingRates(() => performance.now())

    /** Asks for `count` pieces at once; shows after how many milliseconds each is served. Refused ones are undefined. */
    function ask(rates: ServingRates, host: string, count: number): readonly { readonly waitMs: number | undefined }[] {
      const beginMs = performance.now()
      return Array.from({ length: count }, () => {
        const asked: { waitMs: number | undefined } = { waitMs: undefined }
        void rates.take(host).then((isServed) => {
          if (isServed) asked.waitMs = performance.now() - beginMs
        })
        return asked
      })
    }

    const served = (asked: ReturnType<typeof ask>) => asked.filter(({ waitMs }) => waitMs !== undefined).length

    test('an address waits for its share, and is refused when that would take too long', async () => {
      const rates = createRates()
      const burst = address.burst / PIECE_BYTES
      const pieceMs = (PIECE_BYTES / address.perSecond) * 1_000
      const first = [...ask(rates, '1.2.3.4', burst), ...ask(rates, '::ffff:1.2.3.4', 2)]
      const more = ask(rates, '1.2.3.4', 1_000)
      await vi.advanceTimersByTimeAsync(2 * longestWait * 1_000)
      expect(first.map(({ waitMs }) => waitMs)).toEqual([...Array(burst).fill(0), pieceMs, 2 * pieceMs])
      expect(served(more)).toBeGreaterThan((longestWait * 1_000) / pieceMs - 3)
      expect(served(more)).toBeLessThanOrEqual((longestWait * 1_000) / pieceMs + 1)
      // Others, one /64 of IPv6 among them, have shares of their own until the rate of all is used up.
      await vi.advanceTimersByTimeAsync(3_600_000)
      const quarter = total.burst / PIECE_BYTES / 4
      const all = ['5.6.7.8', '2001:db8::1', '2001:db8::2', '9.9.9.9'].flatMap((host) => ask(rates, host, quarter))
      const last = ask(rates, '10.10.10.10', 2)
      await vi.advanceTimersByTimeAsync(1_000)
      expect(all.map(({ waitMs }) => waitMs)).toEqual(Array(4 * quarter).fill(0))
      expect(last[1]!.waitMs).toBeGreaterThan(0)
    })

    test('two addresses that ask for all of it leave a third one as much as each of them gets', async () => {
      const rates = createRates()
      const counts: Record<string, number> = { '20.1.0.1': 0, '21.1.0.1': 0, '22.1.0.1': 0 }
      const refusals: string[] = []
      // Each has as many requests under way as a peer may have, but for the third one, which takes a piece after the other.
      const press = async (host: string): Promise<void> => {
        for (;;) {
          if (await rates.take(host)) counts[host]!++
          else refusals.push(host)
          await new Promise((resolve) => setTimeout(resolve, 10))
        }
      }
      for (const host of ['20.1.0.1', '21.1.0.1']) for (let index = 0; index < 16; index++) void press(host)
      await vi.advanceTimersByTimeAsync(10_000)
      void press('22.1.0.1')
      for (const host of Object.keys(counts)) counts[host] = 0
      await vi.advanceTimersByTimeAsync(30_000)
      const third = (total.perSecond * 30) / PIECE_BYTES / 3
      expect(counts['22.1.0.1']).toBeGreaterThan(0.8 * third)
      expect(counts['20.1.0.1']).toBeGreaterThan(0.8 * third)
      expect(refusals).not.toContain('22.1.0.1')
    })

    test('many addresses of one network have the share of one', async () => {
      const rates = createRates()
      const crowd = Array.from({ length: 200 }, (_, index) => ask(rates, `20.1.0.${index}`, 4)).flat()
      await vi.advanceTimersByTimeAsync(1_000)
      const other = ask(rates, '21.1.0.1', 8)
      await vi.advanceTimersByTimeAsync(2_000)
      expect(served(other)).toBe(8)
      await vi.advanceTimersByTimeAsync(60_000)
      expect(served(crowd)).toBeLessThan(crowd.length)
    })
  })

  test('more offers than an answer may hold are left out', async () => {
    const offers: OfferedSnapshot[] = Array.from({ length: OFFERS_PER_ANSWER + 3 }, (_, i) => ({
      height: 1_000 - i,
      manifest: new Uint8Array(32).fill(i),
      manifestBytes: 1,
      chunkBytes: 2 ** 40,
    }))
    const [server, client] = await connectedPair({
      snapshots: { offers: async () => offers, read: async () => undefined },
    })
    expect(await client.network.fetchOffers(server.network.id)).toEqual(offers.slice(0, OFFERS_PER_ANSWER))
  })
})

describe('a peer is banned that', () => {
  test.each([
    ['asks for something unknown', [0x08, 0x03]],
    ['asks without saying what', [0x10, 0x01]],
    ['names a file by half a hash', [0x08, 0x02, 0x12, 0x02, 1, 2]],
    [
      'asks for bytes before the file',
      [0x08, 0x02, 0x12, 0x20, ...new Uint8Array(32), 0x18, ...new Array(9).fill(0xff), 1],
    ],
    ['sends what is no request', [0xff, 0xff]],
  ])('%s', async (_, body) => {
    const [server, client] = await connectedPair({ snapshots: snapshotsIn(root, () => 0) })
    const stream = await client.sessions.get(server.network.id)!.connection.newStream(PROTOCOLS.snapshots)
    stream.send(encodeFrame(Uint8Array.from(body)))
    await until('it is banned', () => server.log.some(({ msg }) => msg === 'peer banned'))
    expect(server.defects).toEqual([])
  })

  test.each<[string, SnapshotSource['read']]>([
    ['sends less than the piece', async () => ({ size: 1_000, bytes: new Uint8Array(999) })],
    ['sends more than the piece', async () => ({ size: 1_000, bytes: new Uint8Array(1_001) })],
    ['says that the file ends before the piece', async () => ({ size: 1, bytes: new Uint8Array(5) })],
  ])('%s', async (_, read) => {
    const [server, client] = await connectedPair({ snapshots: { offers: async () => [], read } })
    const answer = client.network.fetchPiece(server.network.id, { sha256: new Uint8Array(32), offset: 0 })
    await expect(answer).rejects.toThrow(/a piece of/)
    await until('it is banned', () => client.log.some(({ msg }) => msg === 'peer banned'))
    expect([...server.defects, ...client.defects]).toEqual([])
  })
})
