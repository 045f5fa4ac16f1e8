import { codeDelegationTarget } from '../../evm/authorization.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { truncate } from '../../primitives/decimal.ts'
import {
  allDelegated,
  allSchedules,
  type DelegatedCoins,
  filterEntries,
  getDelegated,
  mayVest,
  VESTING_KINDS,
  type VestingSchedule,
  vestingFilterOf,
} from '../../state/vesting.ts'
import type { ReadContext } from '../context.ts'
import { delegationsOf } from '../staking/delegations.ts'
import { tokensFromShares } from '../staking/shares.ts'
import { unbondingsOf } from '../staking/unbonding.ts'
import { getValidator } from '../staking/validators.ts'

/**
 * Acoin that a delegation may be worth beyond the delegated amount: each undelegation leaves less
 * than one acoin to the validator's other delegators.
 */
const ROUNDING_ACOIN = 1_000_000_000n

/**
 * Checks the invariants of vesting accounts over the whole state.
 * @returns those that are broken
 */
export function vestingInvariants(context: ReadContext): readonly string[] {
  const { native } = context.world
  const schedules = [...allSchedules(native)]
  const problems = [
    ...filterProblems(
      context,
      schedules.map(([address]) => address),
    ),
  ]
  const known = new Set<string>()
  for (const [address, schedule] of schedules) {
    known.add(bytesKey(address))
    const delegated = getDelegated(native, address)
    for (const problem of [
      ...scheduleProblems(schedule),
      ...delegatedProblems(schedule, delegated),
      ...stakeProblems(context, address, delegated),
    ]) {
      problems.push(`vesting account ${toBech32(address)} ${problem}`)
    }
  }
  for (const [address] of allDelegated(native)) {
    if (!known.has(bytesKey(address)))
      problems.push(`${toBech32(address)} has delegated as a vesting account, but is not one`)
  }
  return problems
}

/**
 * Checks that the filter has exactly the accounts with a schedule: the journal locks no coins of an
 * account that it lacks.
 */
function* filterProblems({ world: { native } }: ReadContext, accounts: readonly Address[]): Iterable<string> {
  const missed = accounts.filter((address) => !mayVest((key) => native.get(key), address))
  for (const address of missed)
    yield `vesting account ${toBech32(address)} is not in the filter: none of its coins are locked`
  const expected = vestingFilterOf(accounts)
  const found = filterEntries(native)
  const isExact =
    found.length === expected.length &&
    found.every(([key, value], at) => equalBytes(key, expected[at]![0]) && equalBytes(value, expected[at]![1]))
  if (missed.length === 0 && !isExact)
    yield `the filter of vesting accounts is not that of the ${accounts.length} that there are`
}

/** Checks a schedule by the rules of messages and the genesis; an end in the past is allowed. */
function* scheduleProblems({ kind, originalVesting, startTime, endTime, periods }: VestingSchedule): Iterable<string> {
  if (originalVesting <= 0n) yield `has ${originalVesting}acoin that vest`
  const hasStart = kind === VESTING_KINDS.CONTINUOUS || kind === VESTING_KINDS.PERIODIC
  if (!hasStart && startTime !== 0n) yield `starts at ${startTime}, which its kind does not`
  if (kind === VESTING_KINDS.PERMANENT ? endTime !== 0n : endTime <= 0n)
    yield `ends at ${endTime}, which its kind does not`
  if (kind !== VESTING_KINDS.PERIODIC) {
    if (periods.length > 0) yield `has ${periods.length} periods, which its kind has not`
    return
  }
  let [free, end] = [0n, startTime]
  for (const [index, { length, amount }] of periods.entries()) {
    if (length < 0n) yield `ends its period ${index} before it begins`
    if (amount <= 0n) yield `gets ${amount}acoin in its period ${index}`
    free += amount
    end += length
  }
  if (free !== originalVesting) yield `has periods of ${free}acoin, and ${originalVesting}acoin that vest`
  if (end !== endTime) yield `ends at ${endTime}, its last period at ${end}`
}

/** Checks that only coins that vest are delegated as such. */
function* delegatedProblems({ originalVesting }: VestingSchedule, { vesting, free }: DelegatedCoins): Iterable<string> {
  if (vesting < 0n || vesting > originalVesting) {
    yield `has delegated ${vesting}acoin of ${originalVesting}acoin that vested`
  }
  if (free < 0n) yield `has delegated ${free}acoin that were free`
}

/**
 * Checks that an account's stake and unbonding coins are at most its delegated coins; these are
 * more where slashes burnt some. An address without a nonce, or with a contract, may have delegated
 * before it was a vesting account: as a contract that destroyed itself.
 */
function* stakeProblems({ world }: ReadContext, account: Address, { vesting, free }: DelegatedCoins): Iterable<string> {
  const code = world.getCode(account)
  const isContract = code.length > 0 && codeDelegationTarget(code) === undefined
  if (world.getNonce(account) === 0n || isContract) return
  let staked = 0n
  for (const { operator, shares } of delegationsOf(world.native, account)) {
    const validator = getValidator(world.native, operator)
    if (validator !== undefined && validator.delegatorShares > 0n)
      staked += truncate(tokensFromShares(validator, shares))
  }
  for (const { entries } of unbondingsOf(world.native, account)) for (const { balance } of entries) staked += balance
  if (staked > vesting + free + ROUNDING_ACOIN)
    yield `has ${staked}acoin at stake, and has delegated ${vesting + free}acoin`
}
