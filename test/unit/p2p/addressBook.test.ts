import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AddressBook } from '../../../src/p2p/addressBook.ts'
import type { KnownPeer } from '../../../src/p2p/peerAddress.ts'

let directory: string
let path: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-book-'))
  path = join(directory, 'peers.json')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const OWN = '0'.repeat(40)

function peer(number: number, address = `8.8.${number >> 8}.${number & 255}:1`, isValidator = false): KnownPeer {
  return { id: number.toString(16).padStart(40, '0'), address, isValidator }
}

const idsIn = (book: AddressBook): string[] => [...book.peers()].map(({ id }) => id)

describe('AddressBook', () => {
  test('outlives the process', () => {
    const book = new AddressBook(path, OWN)
    book.learn([peer(1), peer(2, 'seed.example:26656', true)], '9.9.9.9')
    book.reached(peer(2, 'seed.example:26656', true), 1_000)
    book.save()
    const again = new AddressBook(path, OWN)
    expect([...again.peers()]).toEqual([...book.peers()])
    expect(again.good(10)).toEqual([peer(2, 'seed.example:26656', true)])
  })

  test('is written only when it has changed', () => {
    new AddressBook(path, OWN).save()
    expect(() => readFileSync(path)).toThrow(/ENOENT/)
  })

  test.each([
    ['cut off', '{"version": 1, "pe'],
    ['of another kind', '[]'],
    ['of another version', '{"version":2,"peers":[]}'],
    ['half wrong', JSON.stringify({ version: 1, peers: [{ id: 'x' }, { ...peer(5), reachedMs: 3, failures: 0 }] })],
  ])('a file that is %s gives what can be used of it', (kind, text) => {
    writeFileSync(path, text)
    expect(idsIn(new AddressBook(path, OWN))).toEqual(kind === 'half wrong' ? [peer(5).id] : [])
  })

  test('takes neither this node nor addresses in networks that the source is not in', () => {
    const book = new AddressBook(path, OWN)
    book.learn([{ ...peer(0), id: OWN }, peer(1, '127.0.0.1:1'), peer(2, '10.0.0.1:1'), peer(3)], '9.9.9.9')
    expect(idsIn(book)).toEqual([peer(3).id])
    book.announced(peer(4, '192.168.0.1:1'), '9.9.9.9')
    expect(book.size).toBe(1)
  })

  test('strangers fill half of it at most, and push out nothing that proved true', () => {
    const book = new AddressBook(path, OWN)
    for (let i = 1; i <= 300; i++) book.reached(peer(i), i)
    book.learn(
      Array.from({ length: 2_000 }, (_, i) => peer(1_000 + i)),
      '9.9.9.9',
    )
    expect(book.size).toBe(800)
    // Only when one of them turns out to be bad is there room for another.
    book.failed(peer(1_000).id, false)
    book.learn([peer(5_000)], '9.9.9.9')
    expect(book.size).toBe(800)
    expect(idsIn(book)).toContain(peer(5_000).id)
    expect(idsIn(book)).not.toContain(peer(1_000).id)
    for (let i = 301; i <= 1_200; i++) book.reached(peer(10_000 + i), i)
    expect(book.size).toBe(1_000)
    expect(idsIn(book)).toContain(peer(11_200).id)
  })

  test('an address that works is not replaced by what others say, but by what the node itself says', () => {
    const book = new AddressBook(path, OWN)
    book.reached(peer(1, '8.8.8.8:1'), 1)
    book.learn([peer(1, '6.6.6.6:6')], '9.9.9.9')
    expect([...book.peers()][0]!.address).toBe('8.8.8.8:1')
    book.announced(peer(1, '7.7.7.7:7', true), '8.8.8.8')
    expect([...book.peers()][0]).toMatchObject({ address: '7.7.7.7:7', isValidator: true })
    // Nobody is told of it before it was reached there.
    expect(book.good(10)).toEqual([])
  })

  test('forgets addresses that do not work', () => {
    const book = new AddressBook(path, OWN)
    book.learn([peer(1), peer(2)], '9.9.9.9')
    book.reached(peer(3), 1)
    book.failed(peer(1).id, true)
    for (let i = 0; i < 5; i++) for (const number of [2, 3]) book.failed(peer(number).id, false)
    expect(idsIn(book)).toEqual([peer(3).id])
    expect(book.good(10)).toEqual([])
    book.reached(peer(3), 2)
    expect(book.good(10)).toHaveLength(1)
  })
})
