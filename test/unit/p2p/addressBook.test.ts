import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AddressBook, BOOK_ENTRIES } from '../../../src/p2p/addressBook.ts'
import type { KnownPeer } from '../../../src/p2p/peerAddress.ts'
import { runs } from '../../propertyRuns.ts'

let directory: string
let path: string
let nowMs: number

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-book-'))
  path = join(directory, 'peers.json')
  nowMs = 1_700_000_000_000
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const OWN = '0'.repeat(40)
const HOUR_MS = 3_600_000
/** Places depend on the key, so that of a test is always the same. */
const KEY = new Uint8Array(32).fill(5)

interface BookOptions {
  readonly privateIds?: readonly string[]
  readonly isStrict?: boolean
  readonly random?: () => number
  readonly key?: Uint8Array
}

function openBook({ privateIds = [], isStrict = false, random, key = KEY }: BookOptions = {}): AddressBook {
  const options = { path, ownId: OWN, privateIds: new Set(privateIds), isStrict, now: () => nowMs, newKey: () => key }
  return new AddressBook({ ...options, ...(random && { random }) })
}

const hex = (number: number): string => number.toString(16).padStart(40, '0')

function peer(number: number, address = `8.${number >> 8}.1.${number & 255}:1`, isValidator = false): KnownPeer {
  return { id: hex(number), address, isValidator }
}

/** Repeatable numbers from 0 to 1 (MINSTD). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

const hostOf = ({ address }: KnownPeer): string => address.slice(0, address.lastIndexOf(':'))
const reach = (book: AddressBook, ...peers: readonly KnownPeer[]): void => {
  for (const each of peers) book.reached(each, hostOf(each))
}
const idsIn = (book: AddressBook): string[] => [...book.peers()].map(({ id }) => id)
const facts = (book: AddressBook, id: string): unknown => [...book.peers()].find((known) => known.id === id)

/** Peers at one public address whose places are the same in the tried table, found by trying. */
function rivals(book: AddressBook): readonly [KnownPeer, KnownPeer] {
  const holder = peer(1)
  reach(book, holder)
  for (let port = 2; ; port++) {
    const rival = peer(port, `8.0.1.1:${port}`)
    book.reached(rival, '8.0.1.1')
    if (book.count('tried') === 1) return [holder, rival]
    book.failed(rival.id, true)
  }
}

describe('AddressBook', () => {
  test('outlives the process, in a file that nobody else reads', () => {
    const book = openBook()
    book.learn([peer(1), peer(2, 'seed.example:26656', true)], '9.9.9.9')
    book.reached(peer(2, 'seed.example:26656', true), '5.5.5.5')
    book.save()
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const again = openBook()
    expect([...again.peers()]).toEqual([...book.peers()])
    expect([again.count('new'), again.count('tried')]).toEqual([1, 1])
    expect(again.good(10)).toEqual([peer(2, 'seed.example:26656', true)])
    // The key stays, so places do.
    const later = openBook({ key: new Uint8Array(32).fill(6) })
    later.announced(peer(4), '9.9.9.9')
    later.save()
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ key: '05'.repeat(32) })
  })

  test('is written only when it has changed', () => {
    openBook().save()
    expect(() => readFileSync(path)).toThrow(/ENOENT/)
  })

  test('takes over a file without buckets, once', () => {
    const [tried, untried] = [peer(5, '8.8.8.8:1', true), peer(6, 'node.example:2')]
    const peers = [
      { ...tried, reachedMs: 3, failures: 0 },
      { ...untried, reachedMs: 0, failures: 1 },
    ]
    writeFileSync(path, JSON.stringify({ version: 1, peers }))
    const book = openBook()
    expect([book.count('new'), book.count('tried')]).toEqual([1, 1])
    expect(book.good(10)).toEqual([tried])
    expect(facts(book, untried.id)).toMatchObject({ ...untried, failures: 1 })
    book.save()
    expect(JSON.parse(readFileSync(path, 'utf8')).version).toBe(2)
    expect([...openBook().peers()]).toEqual([...book.peers()])
  })

  test.each([
    ['cut off', '{"version": 1, "pe'],
    ['of another kind', '[]'],
    ['of another version', '{"version":3,"peers":[]}'],
    ['without its key', '{"version":2,"peers":[]}'],
    ['half wrong', JSON.stringify({ version: 1, peers: [{ id: 'x' }, { ...peer(5), reachedMs: 3, failures: 0 }] })],
  ])('a file that is %s gives what can be used of it', (kind, text) => {
    writeFileSync(path, text)
    expect(idsIn(openBook())).toEqual(kind === 'half wrong' ? [peer(5).id] : [])
  })

  test('takes neither this node nor addresses in networks that the source is not in', () => {
    const book = openBook()
    book.learn([{ ...peer(0), id: OWN }, peer(1, '127.0.0.1:1'), peer(2, '10.0.0.1:1'), peer(3)], '9.9.9.9')
    expect(idsIn(book)).toEqual([peer(3).id])
    book.announced(peer(4, '192.168.0.1:1'), '9.9.9.9')
    expect(idsIn(book)).toEqual([peer(3).id])
    book.learn([peer(5, '192.168.0.1:1'), peer(6, '127.0.0.1:1')], '192.168.0.9')
    expect(idsIn(book)).toEqual([peer(3).id, peer(5).id])
  })

  test('takes only addresses of the Internet when it is strict', () => {
    const book = openBook({ isStrict: true })
    const local = ['127.0.0.1', '10.0.0.1', '192.0.2.1', '[fd00::1]', '[2001:db8::1]', 'localhost', '224.0.0.1']
    book.learn(
      local.map((host, index) => peer(index + 1, `${host}:1`)),
      '127.0.0.1',
    )
    for (const [index, host] of local.entries()) book.announced(peer(index + 20, `${host}:1`), '127.0.0.1')
    reach(book, peer(50, '10.0.0.7:1'))
    expect(idsIn(book)).toEqual([])
    const good = [peer(30, '8.8.8.8:1'), peer(31, '[2a00::1]:1'), peer(32, 'node.example:1')]
    book.learn(good, '127.0.0.1')
    expect(idsIn(book)).toEqual(good.map(({ id }) => id))
    // A name that leads into the own network.
    book.reached(good[2]!, '10.0.0.1')
    expect(idsIn(book)).not.toContain(good[2]!.id)
  })

  test('never has a private peer, whoever names it, also when it had it before', () => {
    const secret = peer(7)
    const before = openBook()
    before.learn([secret, peer(8)], '9.9.9.9')
    before.save()
    const book = openBook({ privateIds: [secret.id] })
    expect(idsIn(book)).toEqual([peer(8).id])
    book.learn([secret], '9.9.9.9')
    book.announced(secret, hostOf(secret))
    reach(book, secret)
    expect([idsIn(book), book.good(10)]).toEqual([[peer(8).id], []])
    book.save()
    expect(readFileSync(path, 'utf8')).not.toContain(secret.id)
  })

  test('an address that was named first, or works, is not replaced by what others say, but by what the node itself says', () => {
    const book = openBook()
    book.learn([peer(1, '8.8.8.8:1')], '9.9.9.9')
    book.learn([peer(1, '6.6.6.6:6')], '9.9.9.9')
    expect(facts(book, hex(1))).toMatchObject({ address: '8.8.8.8:1' })
    reach(book, peer(1, '8.8.8.8:1'))
    book.learn([peer(1, '6.6.6.6:6')], '9.9.9.9')
    expect(facts(book, hex(1))).toMatchObject({ address: '8.8.8.8:1' })
    book.announced(peer(1, '7.7.7.7:7', true), '8.8.8.8')
    expect(facts(book, hex(1))).toMatchObject({ address: '7.7.7.7:7', isValidator: true })
    // Nobody is told of it before it was reached there.
    expect(book.good(10)).toEqual([])
    expect([book.count('new'), book.count('tried')]).toEqual([1, 0])
    // One that does not work is.
    book.failed(hex(1), false)
    book.learn([peer(1, '5.5.5.5:5')], '9.9.9.9')
    expect(facts(book, hex(1))).toMatchObject({ address: '5.5.5.5:5' })
  })

  test('forgets addresses that do not work', () => {
    const book = openBook()
    book.learn([peer(1), peer(2)], '9.9.9.9')
    reach(book, peer(3))
    book.failed(peer(1).id, true)
    for (let i = 0; i < 5; i++) for (const number of [2, 3]) book.failed(peer(number).id, false)
    expect(idsIn(book)).toEqual([peer(3).id])
    expect(book.good(10)).toEqual([])
    reach(book, peer(3))
    expect(book.good(10)).toHaveLength(1)
  })

  test('a tried address that answers keeps its place', () => {
    const book = openBook()
    const [holder, rival] = rivals(book)
    // It was reached a moment ago, so there is nothing to test.
    expect(book.toTest(() => true)?.id).toBe(rival.id)
    nowMs += 5 * HOUR_MS
    reach(book, rival)
    expect(book.toTest(() => true)?.id).toBe(holder.id)
    reach(book, holder)
    expect(book.toTest(() => true)?.id).toBe(rival.id)
    expect([book.count('new'), book.count('tried')]).toEqual([1, 1])
    expect(facts(book, holder.id)).toMatchObject({ table: 'tried' })
  })

  test('a tried address that fails its test makes room, and stays as a new one', () => {
    const book = openBook()
    const [holder, rival] = rivals(book)
    nowMs += 5 * HOUR_MS
    reach(book, rival)
    book.failed(holder.id, false)
    expect(facts(book, rival.id)).toMatchObject({ table: 'tried' })
    expect(facts(book, holder.id)).toMatchObject({ table: 'new', failures: 1 })
  })

  test('a new address that does not work, or was named long ago, makes room', () => {
    for (const change of [
      (book: AddressBook, id: string): void => {
        for (let i = 0; i < 3; i++) book.failed(id, false)
      },
      (): void => {
        nowMs += 31 * 24 * HOUR_MS
      },
    ]) {
      const book = openBook()
      const first = peer(1, '8.8.8.8:1')
      book.learn([first], '9.9.9.9')
      // The same address under another ID has the same place.
      const other = peer(2, '8.8.8.8:1')
      expect(book.learn([other], '9.9.9.9')).toBe(0)
      change(book, first.id)
      expect(book.learn([other], '9.9.9.9')).toBe(1)
      expect(idsIn(book)).toEqual([other.id])
    }
  })

  test('chooses from all of it, half from each table, and nothing that is not wanted', () => {
    const book = openBook({ random: randomFrom(7) })
    const [known, told] = [peer(1), peer(1_000)]
    reach(book, known)
    book.learn([told], '9.9.9.9')
    const counts = new Map<string, number>()
    for (let i = 0; i < 400; i++) {
      const { id } = book.choose(() => true)!
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    expect(counts.get(known.id)).toBeGreaterThan(120)
    expect(counts.get(told.id)).toBeGreaterThan(120)
    expect(book.choose(({ id }) => id === told.id)?.id).toBe(told.id)
    expect(book.choose(() => false)).toBeUndefined()
    expect(openBook().choose(() => true)).toBeUndefined()
  })
})

describe('a poisoned address book', () => {
  /** An address in one of the attackers' networks, or any other one. */
  const anyAddress = (groups: readonly string[]) =>
    fc.oneof(
      fc
        .tuple(fc.constantFrom(...groups), fc.nat(65_535), fc.integer({ min: 1, max: 65_535 }))
        .map(([group, host, port]) => `${group}.${host >> 8}.${host & 255}:${port}`),
      fc
        .tuple(fc.integer({ min: 11, max: 99 }), fc.nat(255), fc.nat(255), fc.nat(255))
        .map(([a, b, c, d]) => `${a}.${b}.${c}.${d}:26656`),
    )
  /** As many IDs as they like. */
  const anyPeer = (groups: readonly string[]): fc.Arbitrary<KnownPeer> =>
    fc.record({
      id: fc.integer({ min: 1_000_000, max: 2 ** 31 }).map(hex),
      address: anyAddress(groups),
      isValidator: fc.boolean(),
    })
  const anyGroups = fc.uniqueArray(
    fc.integer({ min: 1, max: 99 }).map((number) => `45.${number}`),
    {
      minLength: 1,
      maxLength: 4,
    },
  )
  type Message =
    | { readonly kind: 'named'; readonly peers: readonly KnownPeer[]; readonly from: string }
    | { readonly kind: 'announced' | 'reached'; readonly peer: KnownPeer; readonly from: string }
  const anyMessage = (groups: readonly string[]): fc.Arbitrary<Message> => {
    const from = fc.tuple(fc.constantFrom(...groups), fc.nat(255)).map(([group, host]) => `${group}.7.${host}`)
    return fc.oneof(
      fc.record({ kind: fc.constant('named' as const), peers: fc.array(anyPeer(groups), { maxLength: 64 }), from }),
      fc.record({ kind: fc.constant('announced' as const), peer: anyPeer(groups), from }),
      // Machines that they have answer a dial.
      fc.tuple(anyPeer(groups), from).map(([each, host]) => ({
        kind: 'reached' as const,
        peer: { ...each, address: `${host}:${1 + (Number.parseInt(each.id.slice(-3), 16) % 60_000)}` },
        from: host,
      })),
    )
  }

  test('has of a few sources no more than their share, and all honest addresses that it had', () => {
    const anyAttack = anyGroups.chain((groups) =>
      fc.record({
        groups: fc.constant(groups),
        messages: fc.array(anyMessage(groups), { minLength: 100, maxLength: 200 }),
      }),
    )
    fc.assert(
      fc.property(anyAttack, ({ groups, messages }) => {
        rmSync(path, { force: true })
        const book = openBook()
        const honest = Array.from({ length: 120 }, (_, i) => peer(i + 1, `${11 + (i % 30)}.${i}.1.1:26656`))
        reach(book, ...honest.slice(0, 60))
        for (const each of honest.slice(60)) book.announced(each, hostOf(each))
        const before = new Set(idsIn(book))
        expect(before.size).toBeGreaterThan(90)
        for (const message of messages) {
          if (message.kind === 'named') book.learn(message.peers, message.from)
          else if (message.kind === 'announced') book.announced(message.peer, message.from)
          else book.reached(message.peer, message.from)
          nowMs += 1_000
        }
        const after = [...book.peers()] as (KnownPeer & { table: string })[]
        const isHonest = ({ id }: KnownPeer): boolean => before.has(id)
        expect(after.filter(isHonest)).toHaveLength(before.size)
        const theirs = after.filter((each) => !isHonest(each))
        // A sixteenth of each table for each of their networks.
        expect(theirs.filter(({ table }) => table === 'new').length).toBeLessThanOrEqual(groups.length * 256)
        expect(theirs.filter(({ table }) => table === 'tried').length).toBeLessThanOrEqual(groups.length * 64)
        expect(after.length).toBeLessThanOrEqual(BOOK_ENTRIES)
      }),
      { numRuns: runs(12) },
    )
  })

  test('still learns and keeps honest addresses, and dials them', () => {
    const random = randomFrom(99)
    const book = openBook({ random })
    const sources = ['45.1.0.1', '45.2.0.1', '46.3.0.1', '47.4.0.1']
    let id = 1_000_000
    for (let turn = 0; turn < 600; turn++) {
      const source = sources[turn % sources.length]!
      const any = (): number => Math.floor(random() * 256)
      book.learn(
        Array.from({ length: 16 }, () => peer(id++, `${12 + (any() % 80)}.${any()}.${any()}.${any()}:26656`, true)),
        source,
      )
    }
    const poison = book.count('new')
    expect(poison).toBeGreaterThan(300)
    expect(poison).toBeLessThanOrEqual(sources.length * 256)
    const honest = Array.from({ length: 60 }, (_, i) => peer(i + 1, `${11 + i}.200.1.1:26656`))
    // Ten of them tell of all.
    for (const teller of honest.slice(0, 10)) book.learn(honest, hostOf(teller))
    const held = idsIn(book).filter((each) => honest.some((one) => one.id === each))
    expect(held.length).toBeGreaterThan(55)
    reach(book, ...honest.slice(0, 10))
    // Of the addresses that are dialled, no more are theirs than of the buckets of the new table.
    const chosen = Array.from({ length: 300 }, () => book.choose(() => true)!)
    const good = chosen.filter((each) => honest.some((one) => one.id === each.id)).length
    expect(good).toBeGreaterThan(180)
  })
})
