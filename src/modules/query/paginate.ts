import type { Address } from '../../primitives/address.ts'
import { compareBytes, EMPTY_BYTES } from '../../primitives/bytes.ts'
import { bytesOf } from '../../primitives/valueBytes.ts'
import type { NativeStore } from '../../state/world.ts'
import type { PageRequest } from '../pagination.ts'
import type { Page, QueryContext } from './query.ts'
import { GRPC_CODES, invalidArgument, QueryError } from './queryError.ts'

/** An item of a list with the key that says where a next page begins. */
type Keyed<T> = readonly [key: Uint8Array, item: T]

/** A list in order of keys, from `start` (included) on, or with `reverse` from `start` down. */
export type Walk<T> = (options: {
  readonly start: Uint8Array | undefined
  readonly reverse: boolean
}) => Iterable<Keyed<T>> | AsyncIterable<Keyed<T>>

const DEFAULT_LIMIT = 100n
const ADDRESS_BYTES = 20
/** Bytes of the items of a page, as `bytesOf` counts them. The item that exceeds it is the page's last. */
const PAGE_BYTES = 1_048_576
/**
 * Gas of the work for one page (`WorkMeter`; an item counts for at least {@link ITEM_GAS}),
 * including skipped and counted items: some 1.5 s, or 100,000 small items. And the gas between two
 * turns of the event loop: some 2 ms.
 */
const WALK_GAS = 100_000_000
const TURN_GAS = 100_000
const ITEM_GAS = 1_000

/**
 * Returns one page of a list by the SDK's rules (types/query/pagination.go and
 * filtered_pagination.go): from a key or an offset on, 100 items by default. The total is counted
 * when the request asks for it or has no limit, and never from a key on. Unlike the SDK's, a page
 * ends before its limit where its items are long, or where the list has too many items that are not
 * shown: the next key continues it.
 * @param pick returns the item to show for an entry; undefined: the entry is not part of the list
 * @throws QueryError for a request with both key and offset, or when the offset is too far or the
 * list too long to be counted
 */
export async function paginate<T, R>(
  {
    beginPauses,
    world,
  }: Pick<QueryContext, 'beginPauses'> & { readonly world: { readonly native: Pick<NativeStore, 'work'> } },
  request: PageRequest | undefined,
  walk: Walk<T>,
  pick: (item: T) => R | undefined,
): Promise<Page<R>> {
  const { key = EMPTY_BYTES, offset = 0n, limit: requested = 0n, countTotal = false, reverse = false } = request ?? {}
  if (key.length > 0 && offset > 0n) {
    throw invalidArgument('invalid request, either offset or key is expected, got both')
  }
  const limit = requested === 0n ? DEFAULT_LIMIT : requested
  let counts = key.length === 0 && (requested === 0n || countTotal)
  const items: R[] = []
  let hits = 0n
  let nextKey = EMPTY_BYTES
  let bytes = 0
  const effort = createEffort(world.native, beginPauses())
  for await (const [itemKey, item] of walk({ start: key.length > 0 ? key : undefined, reverse })) {
    const isTooMuch = effort.count()
    await effort.turn()
    const isFull = nextKey.length > 0
    if (isTooMuch) {
      if (countTotal && counts) throw tooLong('the list is too long to be counted; ask without count_total')
      if (hits < offset) throw tooLong(`offset ${offset} is too far; ask for pages by key`)
      if (!isFull) nextKey = itemKey
      counts = false
      break
    }
    // From a key on, the next key is simply the next one, whether it will be a hit or not.
    const isEnd = (key.length > 0 && hits === limit) || bytes >= PAGE_BYTES
    if (isEnd && !isFull) {
      nextKey = itemKey
      if (!counts) break
    }
    const shown = pick(item)
    if (shown === undefined) continue
    hits += 1n
    if (nextKey.length > 0) continue
    if (hits === offset + limit + 1n) {
      nextKey = itemKey
      if (!counts) break
    } else if (hits > offset) {
      items.push(shown)
      bytes += bytesOf(shown)
    }
  }
  return { items, pagination: { nextKey, total: counts ? hits : 0n } }
}

/** Counts the work for one page. */
function createEffort({ work }: Pick<NativeStore, 'work'>, pause: () => Promise<void>) {
  let left = WALK_GAS
  let turn = TURN_GAS
  let seen = work.done
  return {
    /** Counts an item, which has been read. @returns whether there is too much for one page; never at the first item */
    count: (): boolean => {
      const isFirst = left === WALK_GAS
      const gas = ITEM_GAS + work.done - seen
      seen = work.done
      left -= gas
      turn -= gas
      return left < 0 && !isFirst
    },
    /** Lets other calls run when it is time. */
    turn: async (): Promise<void> => {
      if (turn > 0) return
      turn = TURN_GAS
      await pause()
    },
  }
}

function tooLong(message: string): QueryError {
  return new QueryError(GRPC_CODES.resourceExhausted, message)
}

/**
 * Walks over the entries of the native store with `prefix`; keys come without the prefix, as in the
 * SDK's prefix stores.
 */
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

/** Reads a pagination key that is an address. @throws QueryError */
export function addressKey(key: Uint8Array): Address {
  if (key.length !== ADDRESS_BYTES) throw invalidArgument('invalid pagination key')
  return key
}
