import { describe, expect, it } from 'vitest'
import { ExecutionTimeout } from '../../../../src/evm/engine.ts'
import type { PageRequest } from '../../../../src/modules/pagination.ts'
import { EMPTY_BYTES } from '../../../../src/primitives/bytes.ts'
import { addressWalk, listWalk, paginate, positionWalk, storeWalk } from '../../../../src/rpc/native/paginate.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../state/memoryReader.ts'

const RPC = {
  monotonicMs: () => 0,
  limits: { callTimeoutMs: 1_000 },
  execution: { yieldUntil: () => async () => undefined },
} as never

/** The numbers from 1 to 250 under keys of their own. */
const NUMBERS = Array.from({ length: 250 }, (_, index) => [Uint8Array.of(index + 1), index + 1] as const)

function ask(request: Partial<PageRequest> | undefined, pick: (item: number) => number | undefined = (item) => item) {
  const page = request && { key: EMPTY_BYTES, offset: 0n, limit: 0n, countTotal: false, reverse: false, ...request }
  return paginate({ rpc: RPC }, page, listWalk(NUMBERS), pick)
}

function range(first: number, last: number): number[] {
  return Array.from({ length: Math.abs(last - first) + 1 }, (_, index) =>
    first < last ? first + index : first - index,
  )
}

const even = (item: number) => (item % 2 === 0 ? item : undefined)

// What types/query/pagination.go and filtered_pagination.go of the SDK give for the same requests.
const CASES: readonly [
  name: string,
  request: Partial<PageRequest> | undefined,
  items: readonly number[],
  nextKey: number | undefined,
  total: bigint,
][] = [
  ['nothing asked: 100 and the total', undefined, range(1, 100), 101, 250n],
  ['a limit: no total', { limit: 3n }, range(1, 3), 4, 0n],
  ['a limit and the total', { limit: 3n, countTotal: true }, range(1, 3), 4, 250n],
  ['an offset', { offset: 5n, limit: 3n }, range(6, 8), 9, 0n],
  ['an offset without a limit', { offset: 200n }, range(201, 250), undefined, 250n],
  ['an offset behind the end', { offset: 250n, limit: 5n }, [], undefined, 0n],
  ['an offset beyond 64 bits', { offset: 2n ** 64n - 1n, limit: 2n ** 64n - 1n }, [], undefined, 0n],
  ['the last page: no next key', { offset: 248n, limit: 2n }, range(249, 250), undefined, 0n],
  ['all at once', { limit: 2n ** 64n - 1n, countTotal: true }, range(1, 250), undefined, 250n],
  ['from a key on', { key: Uint8Array.of(10), limit: 3n }, range(10, 12), 13, 0n],
  ['a key never counts', { key: Uint8Array.of(10), countTotal: true, limit: 1n }, [10], 11, 0n],
  ['a key without a limit', { key: Uint8Array.of(151) }, range(151, 250), undefined, 0n],
  ['a key that is the last', { key: Uint8Array.of(250), limit: 5n }, [250], undefined, 0n],
  ['a key behind the end', { key: Uint8Array.of(255), limit: 5n }, [], undefined, 0n],
  ['backwards', { reverse: true, limit: 3n }, range(250, 248), 247, 0n],
  ['backwards from a key', { reverse: true, key: Uint8Array.of(247), limit: 2n }, range(247, 246), 245, 0n],
  ['backwards to the start', { reverse: true, key: Uint8Array.of(2), limit: 9n }, [2, 1], undefined, 0n],
]

describe('pages', () => {
  it.each(CASES)('%s', async (_, request, items, nextKey, total) => {
    expect(await ask(request)).toEqual({
      items,
      pagination: { nextKey: nextKey === undefined ? EMPTY_BYTES : Uint8Array.of(nextKey), total },
    })
  })

  it('refuse a key together with an offset', async () => {
    await expect(ask({ key: Uint8Array.of(1), offset: 1n })).rejects.toMatchObject({
      code: 3,
      message: 'invalid request, either offset or key is expected, got both',
    })
  })

  it('count only what is shown, offset included', async () => {
    expect(await ask({ offset: 2n, limit: 2n, countTotal: true }, even)).toEqual({
      items: [6, 8],
      pagination: { nextKey: Uint8Array.of(10), total: 125n },
    })
    // From a key on the next one is the entry that follows, whether it is shown or not.
    expect(await ask({ key: Uint8Array.of(10), limit: 2n }, even)).toEqual({
      items: [10, 12],
      pagination: { nextKey: Uint8Array.of(13), total: 0n },
    })
  })

  it.each([1n, 7n, 100n])('one after the other have everything once, %d at a time', async (limit) => {
    for (const reverse of [false, true]) {
      const seen: number[] = []
      for (let key: Uint8Array = EMPTY_BYTES; ; ) {
        const { items, pagination } = await ask({ key, limit, reverse }, even)
        seen.push(...items)
        key = pagination.nextKey
        if (key.length === 0) break
      }
      const all = range(1, 250).filter((item) => item % 2 === 0)
      expect(seen).toEqual(reverse ? all.reverse() : all)
    }
  })

  it('end when the time is over', async () => {
    let pauses = 0
    const yieldUntil = () => async () => {
      if (++pauses === 3) throw new ExecutionTimeout('time is over')
    }
    const rpc = { monotonicMs: () => 0, limits: { callTimeoutMs: 1_000 }, execution: { yieldUntil } } as never
    const endless = function* () {
      for (;;) yield [Uint8Array.of(1), 1] as const
    }
    await expect(paginate({ rpc }, undefined, endless, () => undefined)).rejects.toMatchObject({ code: 4 })
  })
})

describe('walks', () => {
  it('give keys without the prefix of a store', async () => {
    const { native } = new Journal(new MemoryStateReader())
    for (const key of [[1, 9], [2], [2, 1], [2, 5], [3]]) native.set(Uint8Array.from(key), Uint8Array.of(7))
    const walk = storeWalk(native, Uint8Array.of(2), (key, value) => [...key, ...value])
    const page = await paginate({ rpc: RPC }, undefined, walk, (item) => item)
    expect(page.items).toEqual([[7], [1, 7], [5, 7]])
    const last = await paginate(
      { rpc: RPC },
      { key: Uint8Array.of(1), offset: 0n, limit: 0n, countTotal: false, reverse: true },
      walk,
      (item) => item,
    )
    expect(last.items).toEqual([[1, 7], [7]])
  })

  it('refuse a key that is no address where keys are addresses', async () => {
    const walk = addressWalk(
      () => [],
      () => new Uint8Array(20),
    )
    const page = { key: Uint8Array.of(1), offset: 0n, limit: 0n, countTotal: false, reverse: false }
    await expect(paginate({ rpc: RPC }, page, walk, (item) => item)).rejects.toMatchObject({ code: 3 })
  })

  it('go by positions', async () => {
    const walk = positionWalk(['a', 'b', 'c'])
    const page = { key: EMPTY_BYTES, offset: 1n, limit: 1n, countTotal: true, reverse: false }
    expect(await paginate({ rpc: RPC }, page, walk, (item) => item)).toEqual({
      items: ['b'],
      pagination: { nextKey: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 2), total: 3n },
    })
  })
})
