import { bytesKey, concatBytes, writeVarint } from '../primitives/bytes.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey } from '../storage/columns.ts'
import { damagedIn } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'

/*
 * The index of hashes in its short form, for blocks that are in segments: of a hash only the first bytes are kept. Two hashes that share
 * them can be made with 2^32 attempts, so an entry has the places of all of them, and a reader compares the hash that it finds there.
 */

/** What the hash is of: an Ethereum or consensus header, an EVM or native transaction. */
export const HashKind = { block: 0, consensus: 1, transaction: 2, native: 3 } as const

export type HashKind = (typeof HashKind)[keyof typeof HashKind]

/** Where something with a hash is. */
export interface HashPlace {
  readonly height: number
  /** of a transaction: its index in the Ethereum block, of a native one its position in data.txs; 0 for a block */
  readonly position: number
}

const PREFIX_BYTES = 8

export function shortHashKey(kind: HashKind, hash: Uint8Array): Uint8Array {
  return columnKey(Column.shortHash, Uint8Array.of(kind), hash.subarray(0, PREFIX_BYTES))
}

/** All places of a hash that begins as this one, in the order in which they were added. @throws DatabaseError */
export function readHashPlaces(db: KeyReader, kind: HashKind, hash: Uint8Array): readonly HashPlace[] {
  const bytes = db.get(shortHashKey(kind, hash))
  if (bytes === undefined) return []
  const places = decodeHashPlaces(bytes)
  if (places === undefined) throw damagedIn(db, 'an entry of the index of hashes cannot be decoded')
  return places
}

/** Writes the places under a key; without any, there is no entry. */
export function writeHashPlaces(batch: WriteBatch, key: Uint8Array, places: readonly HashPlace[]): void {
  if (places.length === 0) batch.del(key)
  else batch.put(key, encodePlaces(places))
}

/**
 * Adds and removes places in one batch. Several may concern the same entry, so what the batch has changed is kept until it is complete.
 */
export class HashPlaceWriter {
  readonly #db: KeyReader
  readonly #batch: WriteBatch
  /** by `bytesKey` */
  readonly #changed = new Map<string, readonly HashPlace[]>()

  constructor(db: KeyReader, batch: WriteBatch) {
    this.#db = db
    this.#batch = batch
  }

  has(kind: HashKind, hash: Uint8Array, place: HashPlace): boolean {
    return this.#places(kind, hash).some((known) => isSame(known, place))
  }

  add(kind: HashKind, hash: Uint8Array, place: HashPlace): void {
    this.#change(kind, hash, (places) => [...places.filter((known) => !isSame(known, place)), place])
  }

  remove(kind: HashKind, hash: Uint8Array, place: HashPlace): void {
    this.#change(kind, hash, (places) => places.filter((known) => !isSame(known, place)))
  }

  #places(kind: HashKind, hash: Uint8Array): readonly HashPlace[] {
    return this.#changed.get(bytesKey(shortHashKey(kind, hash))) ?? readHashPlaces(this.#db, kind, hash)
  }

  #change(kind: HashKind, hash: Uint8Array, change: (places: readonly HashPlace[]) => readonly HashPlace[]): void {
    const key = shortHashKey(kind, hash)
    const places = change(this.#places(kind, hash))
    this.#changed.set(bytesKey(key), places)
    writeHashPlaces(this.#batch, key, places)
  }
}

function isSame(a: HashPlace, b: HashPlace): boolean {
  return a.height === b.height && a.position === b.position
}

/** Height and position of each as varints. */
function encodePlaces(places: readonly HashPlace[]): Uint8Array {
  const scratch = new Uint8Array(16)
  return concatBytes(
    ...places.map(({ height, position }) => {
      const end = writeVarint(scratch, writeVarint(scratch, 0, height), position)
      return scratch.slice(0, end)
    }),
  )
}

/** undefined when the bytes are no places */
export function decodeHashPlaces(bytes: Uint8Array): readonly HashPlace[] | undefined {
  const numbers: number[] = []
  for (let at = 0; at < bytes.length; ) {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const byte = bytes[at++]
      if (byte === undefined || scale > 2 ** 49) return undefined
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    numbers.push(value)
  }
  if (numbers.length % 2 !== 0) return undefined
  return Array.from({ length: numbers.length / 2 }, (_, i) => ({
    height: numbers[2 * i]!,
    position: numbers[2 * i + 1]!,
  }))
}
