import type { PageRequest } from '../../modules/pagination.ts'
import type { Address } from '../../primitives/address.ts'
import { compareBytes, EMPTY_BYTES } from '../../primitives/bytes.ts'
import type { NativeStore } from '../../state/world.ts'
import { type Page, pauseUntilDeadline, type QueryContext } from './query.ts'
import { invalidArgument } from './queryError.ts'

/** An item of a list with the key that says where a next page begins. */
type Keyed<T> = readonly [key: Uint8Array, item: T]

/** A list in order of keys, from `start` (included) on, or with `reverse` from `start` down. */
export type Walk<T> = (options: {
  readonly start: Uint8Array | undefined
  readonly reverse: boolean
}) => Iterable<Keyed<T>> | AsyncIterable<Keyed<T>>

const DEFAULT_LIMIT = 100n
const ADDRESS_BYTES = 20
/** Items between two turns of the event loop: a page may be long, and counting reads the whole list. */
const ITEMS_A_TURN = 1_000

/**
 * One page of a list by the SDK's rules (types/query/pagination.go and filtered_pagination.go): from a key or an offset on, 100 items
 * by default; the total is counted when it is asked for or no limit is given, and never from a key on.
 * @param pick what to show of an entry; undefined: the entry is not part of the list
 * @throws QueryError when both key and offset are given, or the list is too long to count in time
 */
export async function paginate<T, R>(
  { rpc }: Pick<QueryContext, 'rpc'>,
  request: PageRequest | undefined,
  walk: Walk<T>,
  pick: (item: T) => R | undefined,
): Promise<Page<R>> {
  const { key = EMPTY_BYTES, offset = 0n, limit: requested = 0n, countTotal = false, reverse = false } = request ?? {}
  if (key.length > 0 && offset > 0n) {
    throw invalidArgument('invalid request, either offset or key is expected, got both')
  }
  const limit = requested === 0n ? DEFAULT_LIMIT : requested
  const counts = key.length === 0 && (requested === 0n || countTotal)
  const items: R[] = []
  let hits = 0n
  let nextKey = EMPTY_BYTES
  let steps = 0
  const pause = pauseUntilDeadline(rpc)
  for await (const [itemKey, item] of walk({ start: key.length > 0 ? key : undefined, reverse })) {
    if (++steps % ITEMS_A_TURN === 0) await pause()
    // From a key on, the next key is simply the next one, whether it will be a hit or not.
    if (key.length > 0 && hits === limit) {
      nextKey = itemKey
      break
    }
    const shown = pick(item)
    if (shown === undefined) continue
    hits += 1n
    if (hits > offset && hits <= offset + limit) items.push(shown)
    if (hits === offset + limit + 1n) nextKey = itemKey
    if (hits > offset + limit && !counts) break
  }
  return { items, pagination: { nextKey, total: counts ? hits : 0n } }
}

/** The entries of the native store with `prefix`; keys are what follows the prefix, as in the SDK's prefix stores. */
export function storeWalk<T>(
  native: Pick<NativeStore, 'range'>,
  prefix: Uint8Array,
  read: (key: Uint8Array, value: Uint8Array) => T,
): Walk<T> {
  return function* ({ start, reverse }) {
    const from = start === undefined ? {} : { start: Uint8Array.from([...prefix, ...start]) }
    for (const [storeKey, value] of native.range(prefix, { ...from, reverse })) {
      const key = storeKey.slice(prefix.length)
      yield [key, read(key, value)]
    }
  }
}

/** A list that is in memory, in ascending order of keys. */
export function listWalk<T>(entries: readonly Keyed<T>[]): Walk<T> {
  return function* ({ start, reverse }) {
    const ordered = reverse ? entries.toReversed() : entries
    for (const entry of ordered) {
      const order = start === undefined ? 0 : compareBytes(entry[0], start)
      if (reverse ? order <= 0 : order >= 0) yield entry
    }
  }
}

/** A list in memory without keys of its own: the position is the key, 8 bytes. */
export function positionWalk<T>(items: readonly T[]): Walk<T> {
  return listWalk(
    items.map((item, index) => {
      const key = Buffer.alloc(8)
      key.writeBigUInt64BE(BigInt(index))
      return [new Uint8Array(key), item]
    }),
  )
}

/** A list in order of an address that each item has: the address is the key. */
export function addressWalk<T>(
  walk: (options: { readonly start?: Address; readonly reverse: boolean }) => Iterable<T>,
  addressOf: (item: T) => Address,
): Walk<T> {
  return function* ({ start, reverse }) {
    const from = start === undefined ? {} : { start: addressKey(start) }
    for (const item of walk({ ...from, reverse })) yield [addressOf(item), item]
  }
}

/** A pagination key that is an address. @throws QueryError */
export function addressKey(key: Uint8Array): Address {
  if (key.length !== ADDRESS_BYTES) throw invalidArgument('invalid pagination key')
  return key
}
