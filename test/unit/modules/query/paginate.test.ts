import { describe, expect, it } from 'vitest'
import { ExecutionTimeout } from '../../../../src/evm/engine.ts'
import type { PageRequest } from '../../../../src/modules/pagination.ts'
import { addressWalk, listWalk, paginate, positionWalk, storeWalk } from '../../../../src/modules/query/paginate.ts'
import { EMPTY_BYTES } from '../../../../src/primitives/bytes.ts'
import { pauseUntilDeadline } from '../../../../src/rpc/cosmos/queryPort.ts'
import { Journal } from '../../../../src/state/journal.ts'
import { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const { native: NATIVE } = new Journal(new MemoryStateReader())
const CONTEXT = { beginPauses: () => async () => undefined, world: { native: NATIVE } }

/** The numbers from 1 to 250 under keys of their own. */
const NUMBERS = Array.from({ length: 250 }, (_, index) => [Uint8Array.of(index + 1), index + 1] as const)

function ask(request: Partial<PageRequest> | undefined, pick: (item: number) => number | undefined = (item) => item) {
  const page = request && { key: EMPTY_BYTES, offset: 0n, limit: 0n, countTotal: false, reverse: false, ...request }
  return paginate(CONTEXT, page, listWalk(NUMBERS), pick)
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
    await expect(
      paginate(
        { beginPauses: () => pauseUntilDeadline(rpc), world: { native: NATIVE } },
        undefined,
        endless,
        () => undefined,
      ),
    ).rejects.toMatchObject({ code: 4 })
  })
})

describe('pages of long lists', () => {
  const LONG = new Uint8Array(100_000)
  const keyOf = (index: number) => Uint8Array.from([index >> 16, (index >> 8) & 255, index & 255])
  /** Counts what is read of a list of so many items. */
  const listOf = (length: number) => {
    const list = { read: 0 }
    const walk = function* ({ start }: { readonly start: Uint8Array | undefined }) {
      const from = start === undefined ? 0 : Buffer.from(start).readUIntBE(0, 3)
      for (let index = from; index < length; index++) {
        list.read++
        yield [keyOf(index), index] as const
      }
    }
    return { list, walk }
  }
  const page = (request: Partial<PageRequest>): PageRequest => ({
    key: EMPTY_BYTES,
    offset: 0n,
    limit: 0n,
    countTotal: false,
    reverse: false,
    ...request,
  })

  it('end where their bytes are enough, and nothing is read beyond', async () => {
    const { list, walk } = listOf(2_000)
    const seen: number[] = []
    let key: Uint8Array = EMPTY_BYTES
    for (let pages = 0; pages < 3; pages++) {
      const found = await paginate(CONTEXT, page({ key, limit: 2_000n }), walk, (index) => ({ index, LONG }))
      expect(found.items).toHaveLength(11)
      seen.push(...found.items.map(({ index }) => index))
      key = found.pagination.nextKey
    }
    expect(seen).toEqual(Array.from({ length: 33 }, (_, index) => index))
    expect(list.read).toBe(36)
    // An offset counts what was shown before it.
    const later = await paginate(CONTEXT, page({ offset: 33n, limit: 2_000n }), walk, (index) => ({ index, LONG }))
    expect(later.items[0]).toMatchObject({ index: 33 })
  })

  it('end early and are counted to the end', async () => {
    const found = await paginate(CONTEXT, page({ countTotal: true }), listOf(2_000).walk, (index) => ({ index, LONG }))
    expect(found.items).toHaveLength(11)
    expect(found.pagination).toEqual({ nextKey: keyOf(11), total: 2_000n })
  })

  it('have at least one item', async () => {
    const found = await paginate(CONTEXT, page({ limit: 5n }), listOf(9).walk, () => new Uint8Array(3_000_000))
    expect(found.items).toHaveLength(1)
    expect(found.pagination.nextKey).toEqual(keyOf(1))
  })

  it('read a bounded number of items, whatever is asked for', async () => {
    const most = 100_001
    const none = listOf(1_000_000)
    const found = await paginate(CONTEXT, page({ limit: 1n }), none.walk, () => undefined)
    expect(found).toEqual({ items: [], pagination: { nextKey: keyOf(100_000), total: 0n } })
    expect(none.list.read).toBe(most)
    // The next page goes on there.
    const next = await paginate(CONTEXT, page({ key: keyOf(100_000), limit: 2n }), none.walk, (index) => index)
    expect(next.items).toEqual([100_000, 100_001])

    const skipped = listOf(1_000_000)
    const far = paginate(CONTEXT, page({ offset: 500_000n, limit: 1n }), skipped.walk, (index) => index)
    await expect(far).rejects.toMatchObject({ code: 8, message: 'offset 500000 is too far; ask for pages by key' })
    expect(skipped.list.read).toBe(most)

    const counted = listOf(1_000_000)
    const total = paginate(CONTEXT, page({ limit: 1n, countTotal: true }), counted.walk, (index) => index)
    await expect(total).rejects.toMatchObject({ code: 8 })
    expect(counted.list.read).toBe(most)

    // Nobody asked for the total: it is left out.
    const usual = await paginate(CONTEXT, undefined, listOf(1_000_000).walk, (index) => index)
    expect(usual.items).toHaveLength(100)
    expect(usual.pagination).toEqual({ nextKey: keyOf(100), total: 0n })
  })

  it('let others have a turn by the work that reading is', async () => {
    let pauses = 0
    const beginPauses = () => async () => void pauses++
    const { native } = new Journal(new MemoryStateReader())
    for (let i = 0; i < 40; i++) native.set(Uint8Array.of(1, i), new Uint8Array(50_000))
    const walk = storeWalk(native, Uint8Array.of(1), (key) => key.length)
    await paginate({ beginPauses, world: { native } }, undefined, walk, (item) => item)
    expect(pauses).toBe(20)
  })
})

describe('walks', () => {
  it('give keys without the prefix of a store', async () => {
    const { native } = new Journal(new MemoryStateReader())
    for (const key of [[1, 9], [2], [2, 1], [2, 5], [3]]) native.set(Uint8Array.from(key), Uint8Array.of(7))
    const walk = storeWalk(native, Uint8Array.of(2), (key, value) => [...key, ...value])
    const page = await paginate(CONTEXT, undefined, walk, (item) => item)
    expect(page.items).toEqual([[7], [1, 7], [5, 7]])
    const last = await paginate(
      CONTEXT,
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
    await expect(paginate(CONTEXT, page, walk, (item) => item)).rejects.toMatchObject({ code: 3 })
  })

  it('go by positions', async () => {
    const walk = positionWalk(['a', 'b', 'c'])
    const page = { key: EMPTY_BYTES, offset: 1n, limit: 1n, countTotal: true, reverse: false }
    expect(await paginate(CONTEXT, page, walk, (item) => item)).toEqual({
      items: ['b'],
      pagination: { nextKey: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 2), total: 3n },
    })
  })
})
