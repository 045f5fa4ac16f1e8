import type { Address } from '../../primitives/address.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { addressesKey } from '../storeKey.ts'
import type { AbiValue } from './abi/types.ts'
import { type FunctionContext, type FunctionFailure, isFailure, OUT_OF_GAS } from './dispatch.ts'
import { queryError } from './nativeCall.ts'
import type { PageRequest, PageResponse } from './types.ts'

type Request = AbiValue<typeof PageRequest>

/** Items of a page when a request has no limit; then the total is counted too (types/query/pagination.go). */
const DEFAULT_LIMIT = 100n
/** Gas of reading an entry of a few hundred bytes. */
const ENTRY_GAS = 500n
const ADDRESS_BYTES = 20

/** A list that is returned in pages. */
interface Pages<T> {
  /** Items in order, each with the key at which a page can begin. @param start such a key; undefined: from the beginning */
  walk(start: Uint8Array | undefined, reverse: boolean): Iterable<readonly [key: Uint8Array, item: T]>
  /** Whether `walk` could yield this key. */
  isKey(key: Uint8Array): boolean
  /** Whether an item is part of the list; by default all are. */
  matches?(item: T): boolean
  /** gas of reading an item, where it is not small */
  entryGas?(item: T): bigint
  /** gas of each item in the page: it pays for the tuple that the caller makes from the item */
  readonly itemGas: bigint
}

/**
 * Reads a page of a list by the SDK's rules. Gas is taken for each entry before the entry is used,
 * also for those before `offset`. It counts as work, too, in addition to the reads: a call pays the
 * larger of its charges and its work.
 */
export function readPage<T>(
  { charge, world }: Pick<FunctionContext, 'charge' | 'world'>,
  request: Request,
  { walk, isKey, matches = () => true, entryGas = () => ENTRY_GAS, itemGas }: Pages<T>,
): { readonly items: readonly T[]; readonly pageResponse: AbiValue<typeof PageResponse> } | FunctionFailure {
  const { offset, reverse } = request
  const key = isNone(request.key) ? undefined : request.key
  if (key !== undefined && offset > 0n) {
    return queryError('InvalidArgument', 'invalid request, either offset or key is expected, got both')
  }
  if (key !== undefined && !isKey(key)) return queryError('InvalidArgument', 'invalid pagination key')
  const limit = request.limit === 0n ? DEFAULT_LIMIT : request.limit
  // A request with a key follows one whose answer had the total.
  const countsTotal = key === undefined && (request.countTotal || request.limit === 0n)

  const items: T[] = []
  let nextKey: Uint8Array = EMPTY_BYTES
  let total = 0n
  const pay = (gas: bigint): boolean => {
    world.native.work.add(Number(gas))
    return charge(gas)
  }
  for (const [itemKey, item] of walk(key, reverse)) {
    if (!pay(entryGas(item))) return OUT_OF_GAS
    if (!matches(item)) continue
    total++
    if (total > offset && total <= offset + limit) {
      if (!pay(itemGas)) return OUT_OF_GAS
      items.push(item)
    } else if (total === offset + limit + 1n) {
      nextKey = itemKey
      if (!countsTotal) break
    }
  }
  return { items, pageResponse: { nextKey, total: countsTotal ? total : 0n } }
}

/** A contract without a key may pass one zero byte, as cosmos/evm's examples do. */
function isNone(key: Uint8Array): boolean {
  return key.length === 0 || (key.length === 1 && key[0] === 0)
}

/**
 * Returns the outputs of a function that returns a page of a list: its tuples as the output `name`,
 * and the page response.
 */
export function answerPage<const N extends string, T, U>(
  context: Pick<FunctionContext, 'charge' | 'world'>,
  request: Request,
  name: N,
  pages: Pages<T> & { toTuple(item: T): U },
): (Readonly<Record<N, readonly U[]>> & { readonly pageResponse: AbiValue<typeof PageResponse> }) | FunctionFailure {
  const page = readPage(context, request, pages)
  if (isFailure(page)) return page
  const tuples = { [name]: page.items.map((item) => pages.toTuple(item)) } as unknown as Record<N, readonly U[]>
  return { ...tuples, pageResponse: page.pageResponse }
}

/** Returns the walk over a list in the order of accounts, with one item for each. */
export function byAccount<T>(
  list: (options: { readonly start?: Address; readonly reverse: boolean }) => Iterable<T>,
  accountOf: (item: T) => Address,
): Pick<Pages<T>, 'walk' | 'isKey'> {
  return {
    *walk(start, reverse) {
      const options = { ...(start && { start: addressInKey(start, 0) }), reverse }
      for (const item of list(options)) yield [addressesKey(EMPTY_BYTES, accountOf(item)), item]
    },
    isKey: (key) => isAddressesKey(key, 1),
  }
}

/** Whether a key consists of this many addresses, each after its length. */
export function isAddressesKey(key: Uint8Array, count: number): boolean {
  if (key.length !== count * (1 + ADDRESS_BYTES)) return false
  return key.every((byte, at) => at % (1 + ADDRESS_BYTES) !== 0 || byte === ADDRESS_BYTES)
}

/** Returns one of the addresses of such a key, counted from 0. */
export function addressInKey(key: Uint8Array, index: number): Address {
  const at = index * (1 + ADDRESS_BYTES) + 1
  return key.slice(at, at + ADDRESS_BYTES)
}
