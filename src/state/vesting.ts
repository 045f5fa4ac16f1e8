import type { Address } from '../primitives/address.ts'
import { bigIntToBytes, bytesKey, bytesToBigInt, concatBytes, equalBytes } from '../primitives/bytes.ts'
import { decimalOf, divide, multiply, round } from '../primitives/decimal.ts'
import { bytes, defineMessage, enumeration, int64, integer, type ValueOf } from '../primitives/protoSchema.ts'
import type { NativeStore } from './world.ts'

/*
 * Vesting accounts (x/auth/vesting of the Cosmos SDK): how many coins of an account are locked at a
 * time. The journal lets no locked coin leave, so their entries belong to this layer. The module
 * `vesting` creates them, and staking tracks their delegated coins.
 *
 * vesting/ 0x00 → which pages the filter has, and the number of vesting accounts vesting/ 0x03 |
 * page → a page of the filter, which nearly all accounts without a schedule fail vesting/ 0x01 |
 * address → the schedule, which never changes vesting/ 0x04 | address | number (2 bytes) → a chunk
 * of the schedule's periods, which never changes vesting/ 0x02 | address → the delegated coins,
 * while there are any
 */

/** Kinds of vesting accounts, as schedules have them. */
export const VESTING_KINDS = { CONTINUOUS: 1, DELAYED: 2, PERIODIC: 3, PERMANENT: 4 } as const

const Schedule = defineMessage('coind.vesting.Schedule', {
  kind: enumeration(1, VESTING_KINDS),
  originalVesting: integer(2),
  startTime: int64(3),
  endTime: int64(4),
  /** when the first period of each chunk is over, in seconds since the epoch, 8 bytes; the chunks are entries of their own */
  chunkTimes: bytes(5),
})
type StoredSchedule = ValueOf<typeof Schedule>

/**
 * Schedule by which coins become free: `originalVesting` acoin in all, from `startTime` (0 for a
 * kind without a start) to `endTime` (0 for a permanent lock), in seconds since the epoch; a
 * period's `amount` when its `length` in seconds is over.
 */
export interface VestingSchedule extends Omit<StoredSchedule, 'chunkTimes'> {
  readonly periods: readonly VestingPeriod[]
}

interface VestingPeriod {
  readonly length: bigint
  readonly amount: bigint
}

/**
 * Periods in a chunk. A transfer reads a schedule's entry and one chunk, at most 3 KB, and a
 * block's journal retains all entries that it has read: with whole schedules of 1,500 periods, 100
 * million gas of transfers would retain 280 MB.
 */
const CHUNK_PERIODS = 64

/** When a period is over, and all that is free from then on. */
const RELEASE_TIME_BYTES = 8
const RELEASE_BYTES = RELEASE_TIME_BYTES + 32

/**
 * Encodes periods as entries have them: the time when each is over, in seconds since the epoch, and
 * the acoin that are free from then on, big-endian. A binary search finds the current one, so that
 * a frequent caller, such as each transfer, reads only a few periods.
 */
function packReleases(startTime: bigint, periods: readonly VestingPeriod[]): Uint8Array {
  let time = startTime
  let free = 0n
  const releases = periods.map(({ length, amount }) => {
    time += length
    free += amount
    return concatBytes(bigIntToBytes(time, RELEASE_TIME_BYTES), bigIntToBytes(free, RELEASE_BYTES - RELEASE_TIME_BYTES))
  })
  return concatBytes(...releases)
}

/** Parts of packed periods, as entries have them. */
function chunksOf(releases: Uint8Array): readonly Uint8Array[] {
  const bytes = CHUNK_PERIODS * RELEASE_BYTES
  return Array.from({ length: Math.ceil(releases.length / bytes) }, (_, number) =>
    releases.subarray(number * bytes, (number + 1) * bytes),
  )
}

/**
 * Returns the last of the chunks whose first period is over at `time`; -1: not even the first one's
 * is.
 */
function chunkAt(chunkTimes: Uint8Array, time: bigint): number {
  let over = 0
  for (let end = chunkTimes.length / RELEASE_TIME_BYTES; over < end; ) {
    const middle = (over + end) >>> 1
    const at = middle * RELEASE_TIME_BYTES
    if (bytesToBigInt(chunkTimes.subarray(at, at + RELEASE_TIME_BYTES)) <= time) over = middle + 1
    else end = middle
  }
  return over - 1
}

function unpackReleases(startTime: bigint, releases: Uint8Array): readonly VestingPeriod[] {
  const periods: VestingPeriod[] = []
  let before = { time: startTime, free: 0n }
  for (let index = 0; index < releases.length / RELEASE_BYTES; index++) {
    const release = { time: releaseTime(releases, index), free: freeWith(releases, index) }
    periods.push({ length: release.time - before.time, amount: release.free - before.free })
    before = release
  }
  return periods
}

function releaseTime(releases: Uint8Array, index: number): bigint {
  const at = index * RELEASE_BYTES
  return bytesToBigInt(releases.subarray(at, at + RELEASE_TIME_BYTES))
}

function freeWith(releases: Uint8Array, index: number): bigint {
  const at = index * RELEASE_BYTES
  return bytesToBigInt(releases.subarray(at + RELEASE_TIME_BYTES, at + RELEASE_BYTES))
}

/** Returns the acoin that the periods ended by `time` have freed. */
function freeAt(releases: Uint8Array, time: bigint): bigint {
  let over = 0
  for (let end = releases.length / RELEASE_BYTES; over < end; ) {
    const middle = (over + end) >>> 1
    if (releaseTime(releases, middle) <= time) over = middle + 1
    else end = middle
  }
  return over === 0 ? 0n : freeWith(releases, over - 1)
}

const Delegated = defineMessage('coind.vesting.Delegated', { vesting: integer(1), free: integer(2) })

/**
 * Coins that an account has delegated, in acoin: those that were vesting then, and others. Slashes
 * do not lower the amounts.
 */
export type DelegatedCoins = ValueOf<typeof Delegated>

const NOTHING_DELEGATED: DelegatedCoins = { vesting: 0n, free: 0n }

const MODULE = new TextEncoder().encode('vesting/')
/**
 * Key of the filter of {@link VestingLocks}, with the number of vesting accounts in its value: every new one changes it. Where it has no
 * value, no account vests.
 */
export const VESTING_FILTER_KEY: Uint8Array = concatBytes(MODULE, Uint8Array.of(0))
const SCHEDULES = concatBytes(MODULE, Uint8Array.of(1))
const DELEGATED = concatBytes(MODULE, Uint8Array.of(2))
const CHUNKS = concatBytes(MODULE, Uint8Array.of(4))

const FILTER_PAGES = concatBytes(MODULE, Uint8Array.of(3))

/** 2^13 bits. */
const PAGE_BYTES = 1024
const PAGES = 256
/** {@link VESTING_FILTER_KEY} has a bit for each page that has any, and the number of accounts. */
const INDEX_BYTES = PAGES / 8
const COUNT_BYTES = 8
/** The byte of an address that names its page; the 8 after it are its bits there. Addresses of keys are hashes. */
const PAGE_AT = 11

/*
 * The filter saves accounts that do not vest a look-up of a schedule. It is a Bloom filter of 2^21
 * bits, four per address, all in one of 256 pages: a new account writes one page, and a block reads
 * those pages that have any bits. It never misses a vesting account. Of the other accounts, 1 in
 * 10,000 passes with 50,000 vesting accounts, and 6 % with 360,000. An attacker who fills it with
 * chosen addresses pays for 500,000 new accounts, 30 billion gas; then each account of a block
 * costs a look-up of an absent key.
 */
const pageOf = (address: Address): number => address[PAGE_AT]!
const pageKey = (page: number): Uint8Array => concatBytes(FILTER_PAGES, Uint8Array.of(page))

/** Whether the entry belongs to the filter. */
export function isFilterKey(key: Uint8Array): boolean {
  const { length } = FILTER_PAGES
  return equalBytes(key, VESTING_FILTER_KEY) || equalBytes(key.subarray(0, length), FILTER_PAGES)
}

function bitsIn(address: Address): readonly number[] {
  const bits: number[] = []
  for (let i = PAGE_AT + 1; i < address.length; i += 2) bits.push(((address[i]! & 31) << 8) | address[i + 1]!)
  return bits
}

/**
 * Whether an account may be a vesting one.
 * @param read values of the filter's entries
 */
export function mayVest(read: (key: Uint8Array) => Uint8Array | undefined, address: Address): boolean {
  const index = read(VESTING_FILTER_KEY)
  const number = pageOf(address)
  if (index === undefined || (index[number >> 3]! & (1 << (number & 7))) === 0) return false
  const page = read(pageKey(number))
  return page !== undefined && hasBits(page, address)
}

function hasBits(page: Uint8Array, address: Address): boolean {
  for (let i = PAGE_AT + 1; i < address.length; i += 2) {
    if ((page[((address[i]! & 31) << 5) | (address[i + 1]! >> 3)]! & (1 << (address[i + 1]! & 7))) === 0) return false
  }
  return true
}

/** Adds a vesting account to the filter. */
function addToFilter(native: Pick<NativeStore, 'get' | 'set'>, address: Address): void {
  const number = pageOf(address)
  const page = native.get(pageKey(number))?.slice() ?? new Uint8Array(PAGE_BYTES)
  for (const bit of bitsIn(address)) page[bit >> 3]! |= 1 << (bit & 7)
  native.set(pageKey(number), page)
  const index = native.get(VESTING_FILTER_KEY)?.slice() ?? new Uint8Array(INDEX_BYTES + COUNT_BYTES)
  index[number >> 3]! |= 1 << (number & 7)
  index.set(bigIntToBytes(bytesToBigInt(index.subarray(INDEX_BYTES)) + 1n, COUNT_BYTES), INDEX_BYTES)
  native.set(VESTING_FILTER_KEY, index)
}

/** Returns the entries of the filter of exactly these vesting accounts, in order of keys. */
export function vestingFilterOf(addresses: readonly Address[]): readonly (readonly [Uint8Array, Uint8Array])[] {
  const entries = new Map<string, readonly [Uint8Array, Uint8Array]>()
  const native = {
    get: (key: Uint8Array) => entries.get(bytesKey(key))?.[1],
    set: (key: Uint8Array, value: Uint8Array) => entries.set(bytesKey(key), [key, value]),
  }
  for (const address of addresses) addToFilter(native as unknown as Pick<NativeStore, 'get' | 'set'>, address)
  return [...entries.keys()].sort().map((key) => entries.get(key)!)
}

/** Returns the entries that the filter has, in order of keys. */
export function filterEntries(
  native: Pick<NativeStore, 'get' | 'range'>,
): readonly (readonly [Uint8Array, Uint8Array])[] {
  const index = native.get(VESTING_FILTER_KEY)
  return [...(index === undefined ? [] : [[VESTING_FILTER_KEY, index] as const]), ...native.range(FILTER_PAGES)]
}

/** Whether the entry is the schedule of an account. */
export function isScheduleKey(key: Uint8Array): boolean {
  return equalBytes(key.subarray(0, SCHEDULES.length), SCHEDULES)
}

export function hasSchedule(native: Pick<NativeStore, 'get'>, address: Address): boolean {
  return native.get(concatBytes(SCHEDULES, address)) !== undefined
}

export function getSchedule(native: Pick<NativeStore, 'get'>, address: Address): VestingSchedule | undefined {
  const value = native.get(concatBytes(SCHEDULES, address))
  return value && scheduleIn(native, address, value)
}

/** Yields the schedules of all vesting accounts, in order of their addresses. */
export function* allSchedules(
  native: Pick<NativeStore, 'get' | 'range'>,
): IterableIterator<readonly [address: Address, schedule: VestingSchedule]> {
  for (const [key, value] of native.range(SCHEDULES)) {
    const address = key.subarray(SCHEDULES.length)
    yield [address, scheduleIn(native, address, value)]
  }
}

function scheduleIn(native: Pick<NativeStore, 'get'>, address: Address, value: Uint8Array): VestingSchedule {
  const { chunkTimes, ...schedule } = Schedule.decode(value)
  const count = chunkTimes.length / RELEASE_TIME_BYTES
  const releases = concatBytes(...Array.from({ length: count }, (_, number) => readChunk(native, address, number)))
  return { ...schedule, periods: unpackReleases(schedule.startTime, releases) }
}

function chunkKey(address: Address, number: number): Uint8Array {
  return concatBytes(CHUNKS, address, bigIntToBytes(BigInt(number), 2))
}

function readChunk(native: Pick<NativeStore, 'get'>, address: Address, number: number): Uint8Array {
  const chunk = native.get(chunkKey(address, number))
  if (chunk === undefined) throw new Error(`chunk ${number} of a vesting schedule is missing`)
  return chunk
}

/** Makes an account a vesting account, permanently. */
export function putSchedule(
  native: Pick<NativeStore, 'get' | 'set'>,
  address: Address,
  schedule: VestingSchedule,
): void {
  const { periods, ...rest } = schedule
  const chunks = chunksOf(packReleases(rest.startTime, periods))
  const chunkTimes = concatBytes(...chunks.map((chunk) => chunk.subarray(0, RELEASE_TIME_BYTES)))
  native.set(concatBytes(SCHEDULES, address), Schedule.encode({ ...rest, chunkTimes }))
  for (const [number, chunk] of chunks.entries()) native.set(chunkKey(address, number), chunk)
  addToFilter(native, address)
}

export function getDelegated(native: Pick<NativeStore, 'get'>, address: Address): DelegatedCoins {
  const value = native.get(concatBytes(DELEGATED, address))
  return value === undefined ? NOTHING_DELEGATED : Delegated.decode(value)
}

/** Yields accounts with delegated coins, and how many, in order of the addresses. */
export function* allDelegated(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [address: Address, delegated: DelegatedCoins]> {
  for (const [key, value] of native.range(DELEGATED)) yield [key.subarray(DELEGATED.length), Delegated.decode(value)]
}

export function putDelegated(
  native: Pick<NativeStore, 'set' | 'delete'>,
  address: Address,
  delegated: DelegatedCoins,
): void {
  const key = concatBytes(DELEGATED, address)
  if (delegated.vesting === 0n && delegated.free === 0n) native.delete(key)
  else native.set(key, Delegated.encode(delegated))
}

/**
 * Returns the coins that are not free yet at `time`, delegated or not, in acoin (GetVestingCoins in
 * x/auth/vesting/types/vesting_account.go, with its decimals of 18 places).
 */
export function vestingAt(schedule: VestingSchedule, time: bigint): bigint {
  return vestingOf(schedule, time, () => freeAt(packReleases(schedule.startTime, schedule.periods), time))
}

/** Returns {@link vestingAt} of an account in the state; undefined: it is not a vesting account. */
export function getVesting(native: Pick<NativeStore, 'get'>, address: Address, time: bigint): bigint | undefined {
  const value = native.get(concatBytes(SCHEDULES, address))
  return value && storedVestingAt(native, address, value, time)
}

/** @param value the entry of the account's schedule */
function storedVestingAt(native: Pick<NativeStore, 'get'>, address: Address, value: Uint8Array, time: bigint): bigint {
  const schedule = Schedule.decode(value)
  return vestingOf(schedule, time, () => {
    const number = chunkAt(schedule.chunkTimes, time)
    return number < 0 ? 0n : freeAt(readChunk(native, address, number), time)
  })
}

/** @param free returns the acoin that ended periods have freed */
function vestingOf(
  { kind, originalVesting, startTime, endTime }: Omit<StoredSchedule, 'chunkTimes'>,
  time: bigint,
  free: () => bigint,
): bigint {
  if (kind === VESTING_KINDS.PERMANENT) return originalVesting
  if (kind === VESTING_KINDS.DELAYED) return time >= endTime ? 0n : originalVesting
  if (time <= startTime) return originalVesting
  if (time >= endTime) return 0n
  if (kind === VESTING_KINDS.PERIODIC) return originalVesting - free()
  const part = divide(decimalOf(time - startTime), decimalOf(endTime - startTime))
  return originalVesting - round(multiply(decimalOf(originalVesting), part))
}

/** Of coins that vest, those that are locked: the others are delegated (LockedCoinsFromVesting). */
function lockedOf(vesting: bigint, delegated: DelegatedCoins): bigint {
  return vesting > delegated.vesting ? vesting - delegated.vesting : 0n
}

/** Tells the journal how many coins of an account are locked. A schedule is read and evaluated once for each account. */
export class VestingLocks {
  readonly #native: Pick<NativeStore, 'get' | 'watch'>
  #index: { readonly value: Uint8Array | undefined } | undefined
  readonly #pages: ({ readonly value: Uint8Array | undefined } | undefined)[] = []
  #time = 0
  /** by address: the coins that vest at that time, and the entry from which that was computed */
  readonly #vesting = new Map<string, { readonly entry: Uint8Array; readonly amount: bigint }>()

  constructor(native: Pick<NativeStore, 'get' | 'watch'>) {
    this.#native = native
  }

  /** Sets the time of the block; before that nothing has become free. @param time whole seconds since the epoch */
  setTime(time: number): void {
    if (time === this.#time) return
    this.#time = time
    this.#vesting.clear()
  }

  /** Whether any account vests. */
  get areAny(): boolean {
    this.#index ??= this.#native.watch(VESTING_FILTER_KEY)
    return this.#index.value !== undefined
  }

  isVesting(address: Address): boolean {
    return this.#schedule(address) !== undefined
  }

  /** Returns the acoin of the account that may not leave now; it may have less than that. */
  locked(address: Address): bigint {
    const entry = this.#schedule(address)
    if (entry === undefined) return 0n
    const key = bytesKey(address)
    let vesting = this.#vesting.get(key)
    if (vesting?.entry !== entry) {
      vesting = { entry, amount: storedVestingAt(this.#native, address, entry, BigInt(this.#time)) }
      this.#vesting.set(key, vesting)
    }
    return vesting.amount === 0n ? 0n : lockedOf(vesting.amount, getDelegated(this.#native, address))
  }

  /** Returns the entry of its schedule. */
  #schedule(address: Address): Uint8Array | undefined {
    if (!this.areAny) return undefined
    const number = pageOf(address)
    if ((this.#index!.value![number >> 3]! & (1 << (number & 7))) === 0) return undefined
    this.#pages[number] ??= this.#native.watch(pageKey(number))
    const page = this.#pages[number].value
    if (page === undefined || !hasBits(page, address)) return undefined
    return this.#native.get(concatBytes(SCHEDULES, address))
  }
}
