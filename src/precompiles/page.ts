import type { Address } from '../primitives/address.ts'
import { EMPTY_BYTES } from '../primitives/bytes.ts'
import type { AbiValue } from './abi/type.ts'
import { bool, bytes, tuple, uint64 } from './abi/types.ts'
import { type FunctionContext, type FunctionFailure, OUT_OF_GAS } from './dispatch.ts'
import { queryError } from './nativeCall.ts'

/** contracts/Types.sol, as cosmos.base.query.v1beta1 has them. */
export const PageRequest = tuple({ key: bytes, offset: uint64, limit: uint64, countTotal: bool, reverse: bool })
export const PageResponse = tuple({ nextKey: bytes, total: uint64 })

export type PageRequest = AbiValue<typeof PageRequest>

/** Items when a request has no limit; the total is counted then too (types/query/pagination.go). */
const DEFAULT_LIMIT = 100n
/** Gas of looking at an entry: reading a few hundred bytes. */
const ENTRY_GAS = 500n
const ADDRESS_BYTES = 20

/** A list that is given out in pages. */
export interface Pages<T> {
  /** Items in order, each with the key that a page can begin at. @param start such a key, or none: the first (or last) one */
  walk(start: Uint8Array | undefined, reverse: boolean): Iterable<readonly [key: Uint8Array, item: T]>
  /** Whether a key could be one that `walk` gives. */
  isKey(key: Uint8Array): boolean
  /** Whether an item is in the list; by default all are. */
  matches?(item: T): boolean
  /** gas of looking at an item, where it is not small */
  entryGas?(item: T): bigint
  /** gas of each item in the page, which pays for what the caller makes of it */
  readonly itemGas: bigint
}

/** A page of a list by the SDK's rules; gas is taken for each entry before anything is made of it. */
export function readPage<T>(
  { charge }: Pick<FunctionContext, 'charge'>,
  request: PageRequest,
  { walk, isKey, matches = () => true, entryGas = () => ENTRY_GAS, itemGas }: Pages<T>,
): { readonly items: readonly T[]; readonly pageResponse: AbiValue<typeof PageResponse> } | FunctionFailure {
  const { offset, reverse } = request
  const key = isNone(request.key) ? undefined : request.key
  if (key !== undefined && offset > 0n) {
    return queryError('InvalidArgument', 'invalid request, either offset or key is expected, got both')
  }
  if (key !== undefined && !isKey(key)) return queryError('InvalidArgument', 'invalid pagination key')
  const limit = request.limit === 0n ? DEFAULT_LIMIT : request.limit
  // Who gives a key was told the total before.
  const countsTotal = key === undefined && (request.countTotal || request.limit === 0n)

  const items: T[] = []
  let nextKey: Uint8Array = EMPTY_BYTES
  let total = 0n
  for (const [itemKey, item] of walk(key, reverse)) {
    if (!charge(entryGas(item))) return OUT_OF_GAS
    if (!matches(item)) continue
    total++
    if (total > offset && total <= offset + limit) {
      if (!charge(itemGas)) return OUT_OF_GAS
      items.push(item)
    } else if (total === offset + limit + 1n) {
      nextKey = itemKey
      if (!countsTotal) break
    }
  }
  return { items, pageResponse: { nextKey, total: countsTotal ? total : 0n } }
}

/** A contract that has no key may give one zero byte, as cosmos/evm's examples do. */
function isNone(key: Uint8Array): boolean {
  return key.length === 0 || (key.length === 1 && key[0] === 0)
}

/** Whether a key that a page can begin at is of this many addresses, each after its length. */
export function isAddressesKey(key: Uint8Array, count: number): boolean {
  if (key.length !== count * (1 + ADDRESS_BYTES)) return false
  return key.every((byte, at) => at % (1 + ADDRESS_BYTES) !== 0 || byte === ADDRESS_BYTES)
}

/** The address at a place of such a key. */
export function addressInKey(key: Uint8Array, place: number): Address {
  const at = place * (1 + ADDRESS_BYTES) + 1
  return key.slice(at, at + ADDRESS_BYTES)
}
