import type { Address } from '../primitives/address.ts'
import { bigIntToBytes, bytesKey, bytesToBigInt, concatBytes, equalBytes } from '../primitives/bytes.ts'
import { decimalOf, divide, multiply, round } from '../primitives/decimal.ts'
import { bytes, defineMessage, enumeration, int64, integer, type ValueOf } from '../primitives/protoSchema.ts'
import type { NativeStore } from './world.ts'

/*
 * Vesting accounts (x/auth/vesting of the Cosmos SDK): how many coins of an account are locked at a time. The journal lets no locked coin
 * leave, so their entries belong to this layer; the module `vesting` makes them, and staking tracks what of them is delegated.
 *
 * vesting/ 0x00 → the filter, which nearly all accounts without a schedule fail
 * vesting/ 0x01 | address → the schedule, which never changes
 * vesting/ 0x02 | address → what is delegated, while that is anything
 */

/** Kinds of vesting accounts, as schedules have them. */
export const VESTING_KINDS = { CONTINUOUS: 1, DELAYED: 2, PERIODIC: 3, PERMANENT: 4 } as const

const Schedule = defineMessage('coind.vesting.Schedule', {
  kind: enumeration(1, VESTING_KINDS),
  originalVesting: integer(2),
  startTime: int64(3),
  endTime: int64(4),
  /** see {@link packReleases} */
  releases: bytes(5),
})
type StoredSchedule = ValueOf<typeof Schedule>

/**
 * How coins become free: `originalVesting` acoin in all, from `startTime` (0 where the kind has none) to `endTime` (0 for a permanent lock),
 * in seconds since the epoch; a period's `amount` when its `length` in seconds is over.
 */
export interface VestingSchedule extends Omit<StoredSchedule, 'releases'> {
  readonly periods: readonly VestingPeriod[]
}

interface VestingPeriod {
  readonly length: bigint
  readonly amount: bigint
}

/** When a period is over, and all that is free from then on. */
const RELEASE_TIME_BYTES = 8
const RELEASE_BYTES = RELEASE_TIME_BYTES + 32

/**
 * Periods as entries have them: the time when each is over, in seconds since the epoch, and the acoin that are free from then on, big-endian.
 * A search finds the present one: whoever asks often, as each transfer does, reads a few of them, however many there are.
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

/** What is free at `time` of the periods that are over. */
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

/** What an account has delegated, in acoin: coins that were vesting then, and others. Slashes do not lower it. */
export type DelegatedCoins = ValueOf<typeof Delegated>

const NOTHING_DELEGATED: DelegatedCoins = { vesting: 0n, free: 0n }

const MODULE = new TextEncoder().encode('vesting/')
/**
 * Key of the filter of {@link VestingLocks}, with the number of vesting accounts behind it: every new one changes the value. Where it has no
 * value, no account vests.
 */
export const VESTING_FILTER_KEY: Uint8Array = concatBytes(MODULE, Uint8Array.of(0))
const SCHEDULES = concatBytes(MODULE, Uint8Array.of(1))
const DELEGATED = concatBytes(MODULE, Uint8Array.of(2))

/** 2^16 bits. */
const FILTER_BYTES = 8192
const COUNT_BYTES = 8
/** The filter has a bit for each two bytes of an address from here on: addresses of keys are hashes. */
const FILTERED_FROM = 12

/**
 * Whether an account may be a vesting one. The filter (a Bloom filter with four bits an address) spares all other accounts a look-up: of them
 * some 0.5 % have one with 5,000 vesting accounts. It never misses a vesting account.
 * @param filter value of {@link VESTING_FILTER_KEY}
 */
export function mayVest(filter: Uint8Array, address: Address): boolean {
  for (let i = FILTERED_FROM; i < address.length; i += 2) {
    if ((filter[(address[i]! << 5) | (address[i + 1]! >> 3)]! & (1 << (address[i + 1]! & 7))) === 0) return false
  }
  return true
}

/** Changes the filter by a vesting account more. */
function addToFilter(filter: Uint8Array, address: Address): void {
  for (let i = FILTERED_FROM; i < address.length; i += 2) {
    filter[(address[i]! << 5) | (address[i + 1]! >> 3)]! |= 1 << (address[i + 1]! & 7)
  }
  const count = bytesToBigInt(filter.subarray(FILTER_BYTES)) + 1n
  filter.set(bigIntToBytes(count, COUNT_BYTES), FILTER_BYTES)
}

/** The filter of exactly these vesting accounts; undefined: of none. */
export function vestingFilterOf(addresses: readonly Address[]): Uint8Array | undefined {
  if (addresses.length === 0) return undefined
  const filter = new Uint8Array(FILTER_BYTES + COUNT_BYTES)
  for (const address of addresses) addToFilter(filter, address)
  return filter
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
  return value && scheduleIn(value)
}

/** The schedules of all vesting accounts, in order of their addresses. */
export function* allSchedules(
  native: Pick<NativeStore, 'range'>,
): IterableIterator<readonly [address: Address, schedule: VestingSchedule]> {
  for (const [key, value] of native.range(SCHEDULES)) yield [key.subarray(SCHEDULES.length), scheduleIn(value)]
}

function scheduleIn(value: Uint8Array): VestingSchedule {
  const { releases, ...schedule } = Schedule.decode(value)
  return { ...schedule, periods: unpackReleases(schedule.startTime, releases) }
}

/** Makes an account a vesting one, for ever. */
export function putSchedule(
  native: Pick<NativeStore, 'get' | 'set'>,
  address: Address,
  schedule: VestingSchedule,
): void {
  native.set(concatBytes(SCHEDULES, address), Schedule.encode(storedOf(schedule)))
  const filter = native.get(VESTING_FILTER_KEY)?.slice() ?? new Uint8Array(FILTER_BYTES + COUNT_BYTES)
  addToFilter(filter, address)
  native.set(VESTING_FILTER_KEY, filter)
}

function storedOf({ periods, ...schedule }: VestingSchedule): StoredSchedule {
  return { ...schedule, releases: packReleases(schedule.startTime, periods) }
}

export function getDelegated(native: Pick<NativeStore, 'get'>, address: Address): DelegatedCoins {
  const value = native.get(concatBytes(DELEGATED, address))
  return value === undefined ? NOTHING_DELEGATED : Delegated.decode(value)
}

/** What accounts have delegated that have any of it, in order of their addresses. */
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
 * Coins that are not free yet at `time`, delegated or not, in acoin (GetVestingCoins in x/auth/vesting/types/vesting_account.go, with its
 * decimals of 18 places).
 */
export function vestingAt(schedule: VestingSchedule, time: bigint): bigint {
  return storedVestingAt(storedOf(schedule), time)
}

/** {@link vestingAt} of an account in the state; undefined: it is no vesting account. */
export function getVesting(native: Pick<NativeStore, 'get'>, address: Address, time: bigint): bigint | undefined {
  const value = native.get(concatBytes(SCHEDULES, address))
  return value && storedVestingAt(Schedule.decode(value), time)
}

function storedVestingAt(
  { kind, originalVesting, startTime, endTime, releases }: StoredSchedule,
  time: bigint,
): bigint {
  if (kind === VESTING_KINDS.PERMANENT) return originalVesting
  if (kind === VESTING_KINDS.DELAYED) return time >= endTime ? 0n : originalVesting
  if (time <= startTime) return originalVesting
  if (time >= endTime) return 0n
  if (kind === VESTING_KINDS.PERIODIC) return originalVesting - freeAt(releases, time)
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
  #filter: { readonly value: Uint8Array | undefined } | undefined
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
    this.#filter ??= this.#native.watch(VESTING_FILTER_KEY)
    return this.#filter.value !== undefined
  }

  isVesting(address: Address): boolean {
    return this.#schedule(address) !== undefined
  }

  /** Acoin of the account that may not leave now; it may have less than that. */
  locked(address: Address): bigint {
    const entry = this.#schedule(address)
    if (entry === undefined) return 0n
    const key = bytesKey(address)
    let vesting = this.#vesting.get(key)
    if (vesting?.entry !== entry) {
      vesting = { entry, amount: storedVestingAt(Schedule.decode(entry), BigInt(this.#time)) }
      this.#vesting.set(key, vesting)
    }
    return vesting.amount === 0n ? 0n : lockedOf(vesting.amount, getDelegated(this.#native, address))
  }

  /** The entry of its schedule. */
  #schedule(address: Address): Uint8Array | undefined {
    if (!this.areAny || !mayVest(this.#filter!.value!, address)) return undefined
    return this.#native.get(concatBytes(SCHEDULES, address))
  }
}
