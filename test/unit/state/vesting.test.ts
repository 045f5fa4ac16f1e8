import { describe, expect, it } from 'vitest'
import { sha256 } from '../../../src/primitives/hash.ts'
import { Journal } from '../../../src/state/journal.ts'
import {
  getDelegated,
  getSchedule,
  mayVest,
  putDelegated,
  putSchedule,
  VESTING_FILTER_KEY,
  VESTING_KINDS,
  VestingLocks,
  type VestingSchedule,
  vestingAt,
} from '../../../src/state/vesting.ts'
import { type ModelSchedule, VestingModel } from '../../independent/vestingModel.ts'
import { MemoryStateReader } from '../../support/state/memoryReader.ts'

const CASES: readonly (readonly [ModelSchedule, Omit<VestingSchedule, 'originalVesting'>])[] = [
  [
    { kind: 'continuous', total: 10n ** 24n + 7n, start: 10, end: 47 },
    { kind: VESTING_KINDS.CONTINUOUS, startTime: 10n, endTime: 47n, periods: [] },
  ],
  [
    { kind: 'continuous', total: 1n, start: 10, end: 12 },
    { kind: VESTING_KINDS.CONTINUOUS, startTime: 10n, endTime: 12n, periods: [] },
  ],
  [
    { kind: 'delayed', total: 9n, end: 30 },
    { kind: VESTING_KINDS.DELAYED, startTime: 0n, endTime: 30n, periods: [] },
  ],
  [
    { kind: 'permanent', total: 9n },
    { kind: VESTING_KINDS.PERMANENT, startTime: 0n, endTime: 0n, periods: [] },
  ],
  [
    {
      kind: 'periodic',
      start: 10,
      periods: [
        [5, 3n],
        [1, 4n],
        [20, 5n],
      ],
    },
    {
      kind: VESTING_KINDS.PERIODIC,
      startTime: 10n,
      endTime: 36n,
      periods: [
        { length: 5n, amount: 3n },
        { length: 1n, amount: 4n },
        { length: 20n, amount: 5n },
      ],
    },
  ],
]

describe('coins that vest', () => {
  it.each(CASES)('are those of the specification at each second: %o', (given, schedule) => {
    const model = new VestingModel(given)
    const ours = { ...schedule, originalVesting: model.original }
    for (let now = 0; now < 60; now++) expect(vestingAt(ours, BigInt(now))).toBe(model.vesting(now))
  })

  it('of very many periods are read in part, whatever the time', () => {
    const state = new MemoryStateReader()
    const address = new Uint8Array(20).fill(7)
    const DAYS = 1_500
    const periods = Array.from({ length: DAYS }, (_, day) => ({ length: 10n, amount: BigInt(day + 1) }))
    const originalVesting = BigInt((DAYS * (DAYS + 1)) / 2)
    const schedule = {
      kind: VESTING_KINDS.PERIODIC,
      originalVesting,
      startTime: 100n,
      endTime: 100n + 10n * BigInt(DAYS),
      periods,
    }
    const made = new Journal(state)
    made.addBalance(address, originalVesting)
    putSchedule(made.native, address, schedule)
    expect(getSchedule(made.native, address)).toEqual(schedule)
    state.apply(made.changes())
    let bytes = 0
    const counted = new Proxy(state, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          const value: unknown = member.apply(target, args)
          if (name === 'getNative' && value instanceof Uint8Array) bytes += value.length
          return value
        }
      },
    })
    for (let time = 95; time < 100 + 10 * DAYS + 15; time += time < 2_000 ? 1 : 97) {
      const world = new Journal(counted)
      world.setTime(time)
      bytes = 0
      const day = Math.max(0, Math.min(DAYS, Math.floor((time - 100) / 10)))
      expect(world.getSpendable(address)).toBe(BigInt((day * (day + 1)) / 2))
      // The pages of the filter, the schedule and a chunk.
      expect(bytes).toBeLessThan(5_000)
    }
    expect(bytes).toBeGreaterThan(0)
  })

  it('are undone with what made them, and those of an account are read once', () => {
    const world = new Journal(new MemoryStateReader())
    const address = new Uint8Array(20).fill(7)
    const schedule = { kind: VESTING_KINDS.PERMANENT, originalVesting: 60n, startTime: 0n, endTime: 0n, periods: [] }
    world.addBalance(address, 100n)
    expect([world.hasVesting(), world.getSpendable(address)]).toEqual([false, 100n])
    world.checkpoint()
    putSchedule(world.native, address, schedule)
    expect([world.hasVesting(), world.getSpendable(address)]).toEqual([true, 40n])
    expect(() => world.subBalance(address, 41n)).toThrow('a balance with 40 to spend cannot pay 41')
    world.subBalance(address, 40n)
    putDelegated(world.native, address, { vesting: 10n, free: 2n })
    expect(world.getSpendable(address)).toBe(10n)
    world.subDelegated(address, 30n)
    expect([world.getBalance(address), world.getSpendable(address)]).toEqual([30n, 0n])
    world.revert()
    expect([world.hasVesting(), world.getSpendable(address)]).toEqual([false, 100n])
    expect([getSchedule(world.native, address), getDelegated(world.native, address)]).toEqual([
      undefined,
      { vesting: 0n, free: 0n },
    ])
  })

  it('change the entry that tells of them with each account, whatever the filter has already', () => {
    const world = new Journal(new MemoryStateReader())
    const schedule = { kind: VESTING_KINDS.PERMANENT, originalVesting: 1n, startTime: 0n, endTime: 0n, periods: [] }
    const entries = [1, 2, 3].map((first) => {
      // The filter takes the end of an address alone.
      putSchedule(world.native, Uint8Array.of(first, ...new Uint8Array(19)), schedule)
      return world.native.get(VESTING_FILTER_KEY)!.join()
    })
    expect(new Set(entries).size).toBe(3)
  })

  it('cost other accounts no look-up', () => {
    const state = new MemoryStateReader()
    const world = new Journal(state)
    const schedule = { kind: VESTING_KINDS.PERMANENT, originalVesting: 1n, startTime: 0n, endTime: 0n, periods: [] }
    for (let i = 0; i < 200; i++)
      putSchedule(
        world.native,
        new Uint8Array(20).map((_, at) => (i * 41 + at * 7) & 255),
        schedule,
      )
    state.apply(world.changes())
    const read: string[] = []
    const { native } = new Journal(state)
    const locks = new VestingLocks({
      watch: (key) => native.watch(key),
      get: (key) => {
        read.push(Buffer.from(key).toString('hex'))
        return native.get(key)
      },
    })
    for (let i = 0; i < 100; i++) {
      const other = new Uint8Array(20).map((_, at) => (i * 59 + at * at * 13 + 5) & 255)
      expect(locks.locked(other)).toBe(0n)
    }
    expect(read).toEqual([])
    expect(locks.locked(new Uint8Array(20).map((_, at) => (41 + at * 7) & 255))).toBe(1n)
  })

  it('write the same few entries, however many accounts there are, and let hardly any other account pass', () => {
    const world = new Journal(new MemoryStateReader())
    const schedule = { kind: VESTING_KINDS.PERMANENT, originalVesting: 1n, startTime: 0n, endTime: 0n, periods: [] }
    const addressOf = (number: number) => sha256(Uint8Array.of(number >> 16, number >> 8, number)).slice(0, 20)
    const works: number[] = []
    for (let number = 0; number < 20_000; number++) {
      const before = world.native.work.done
      putSchedule(world.native, addressOf(number), schedule)
      works.push(world.native.work.done - before)
    }
    expect(Math.max(...works)).toBeLessThan(20_000)
    let passed = 0
    const read = (key: Uint8Array) => world.native.get(key)
    for (let number = 20_000; number < 40_000; number++) if (mayVest(read, addressOf(number))) passed++
    expect(passed).toBeLessThan(10)
  })
})
