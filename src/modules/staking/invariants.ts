import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesKey, bytesToHex, keyBytes } from '../../primitives/bytes.ts'
import { formatDecimal } from '../../primitives/decimal.ts'
import type { ReadContext } from '../context.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { allDelegations, delegationsTo } from './delegations.ts'
import { branchOf, departedSums } from './departures.ts'
import { heightKey, indexedHeights } from './heightIndex.ts'
import { lockedKeys, pendingRotations } from './keyRotation.ts'
import { POWER_INDEX, REDELEGATIONS_BY_HEIGHT, UNBONDING_BY_HEIGHT } from './keys.ts'
import { type QueuedDue, queued } from './queue.ts'
import { allRedelegations, hasReceivingRedelegation, redelegationsFrom } from './redelegations.ts'
import { operatorText } from './sdkForms.ts'
import { pendingSlashes } from './settle.ts'
import { allUnbondings, unbondingsFrom } from './unbonding.ts'
import {
  consensusAddressOf,
  getLastTotalPower,
  getValidator,
  getValidatorByConsensus,
  lastPowers,
  powerIndexKeyOf,
  type Validator,
  validators,
} from './validators.ts'

/**
 * Checks the invariants of stake between transactions over the whole state: the SDK's (x/staking/keeper/invariants.go), and that indexes
 * and queues name exactly the records that exist.
 * @returns those that are broken
 */
export function stakingInvariants(context: ReadContext): readonly string[] {
  const { native } = context.world
  const all = [...validators(native)]
  return [
    ...pools(context, all),
    ...shares(context, all),
    ...powers(context, all),
    ...unbondingRecords(context),
    ...redelegationRecords(context),
    ...heights(context),
    ...departures(context),
    ...slashes(context),
    ...queues(context, all),
    ...rotations(context),
  ]
}

/**
 * Coins in the pools beyond those of validators and unbonding delegators; negative where coins are
 * missing.
 */
interface PoolSurplus {
  readonly bonded: bigint
  readonly notBonded: bigint
}

/**
 * Returns the surplus. Only staking moves coins out of the pools. EVM code can send coins there (by
 * self-destruct), which stay.
 */
export function poolSurplus({ world }: ReadContext): PoolSurplus {
  let [bonded, notBonded] = [0n, 0n]
  for (const { status, tokens } of validators(world.native)) {
    if (status === 'bonded') bonded += tokens
    else notBonded += tokens
  }
  for (const { entries } of allUnbondings(world.native)) for (const { balance } of entries) notBonded += balance
  return {
    bonded: world.getBalance(BONDED_POOL) - bonded,
    notBonded: world.getBalance(NOT_BONDED_POOL) - notBonded,
  }
}

/** Checks that the pools hold at least the coins of validators and unbonding delegators. */
function* pools(context: ReadContext, all: readonly Validator[]): Iterable<string> {
  for (const { operator, tokens } of all) {
    if (tokens < 0n) yield `${operatorText(operator)} has ${tokens} tokens`
  }
  for (const { delegator, operator, entries } of allUnbondings(context.world.native)) {
    if (entries.length === 0) yield `${pair(delegator, operator)} unbonds nothing`
    for (const { balance, initialBalance } of entries) {
      if (balance < 0n || balance > initialBalance) yield `${pair(delegator, operator)} unbonds ${balance}`
    }
  }
  const { bonded, notBonded } = poolSurplus(context)
  if (bonded < 0n) yield `the bonded pool lacks ${-bonded}acoin of what bonded validators have`
  if (notBonded < 0n) yield `the not bonded pool lacks ${-notBonded}acoin of what it owes`
}

/** Checks that a validator's shares are those of its delegations, all above 0. */
function* shares({ world: { native } }: ReadContext, all: readonly Validator[]): Iterable<string> {
  let indexed = 0
  for (const { operator, delegatorShares } of all) {
    let sum = 0n
    for (const delegation of delegationsTo(native, operator)) {
      indexed++
      sum += delegation.shares
    }
    if (sum === delegatorShares) continue
    yield `${operatorText(operator)} has ${formatDecimal(delegatorShares)} shares, its delegations ${formatDecimal(sum)}`
  }
  let count = 0
  for (const { delegator, operator, shares } of allDelegations(native)) {
    count++
    if (shares <= 0n) yield `${pair(delegator, operator)} has ${formatDecimal(shares)} shares`
  }
  if (count !== indexed) yield `there are ${count} delegations, ${indexed} of them to validators`
}

/**
 * Checks that validators that can be bonded are in the order of powers, and those with power are
 * bonded.
 */
function* powers({ world: { native } }: ReadContext, all: readonly Validator[]): Iterable<string> {
  const places = new Set([...native.range(POWER_INDEX)].map(([key]) => bytesKey(key)))
  const last = new Map([...lastPowers(native)].map(({ operator, power }) => [bytesKey(operator), power]))
  let expected = 0
  for (const validator of all) {
    const name = operatorText(validator.operator)
    const place = powerIndexKeyOf(validator)
    if (place !== undefined) {
      expected++
      if (!places.has(bytesKey(place))) yield `${name} is not in the order of powers`
    }
    const isKnown = last.has(bytesKey(validator.operator))
    if (isKnown !== (validator.status === 'bonded')) yield `${name} is ${validator.status}, with power: ${isKnown}`
    const found = getValidatorByConsensus(native, consensusAddressOf(validator))
    if (found === undefined || bytesKey(found.operator) !== bytesKey(validator.operator)) {
      yield `${name} is not found by its consensus key`
    }
  }
  if (expected !== places.size)
    yield `${expected} validators could be bonded, ${places.size} are in the order of powers`
  const known = [...last.keys()].filter((name) => all.some(({ operator }) => bytesKey(operator) === name)).length
  if (known !== last.size) yield `${last.size - known} validators with power do not exist`
  const total = [...last.values()].reduce((sum, power) => sum + power, 0n)
  if (total !== getLastTotalPower(native)) yield `the total power is ${getLastTotalPower(native)}, the sum ${total}`
}

function* unbondingRecords({ world: { native } }: ReadContext): Iterable<string> {
  const due = new Set([...queued(native)].map(dueKey))
  for (const { delegator, operator, entries } of allUnbondings(native)) {
    const [found] = unbondingsFrom(native, operator, { start: delegator })
    if (found === undefined || bytesKey(found.delegator) !== bytesKey(delegator)) {
      yield `${pair(delegator, operator)} is not in the index of what unbonds`
    }
    for (const { completionTimeMs: timeMs } of entries) {
      if (!due.has(dueKey({ kind: 'unbonding', timeMs, addresses: [delegator, operator] }))) {
        yield `${pair(delegator, operator)} unbonds at ${timeMs}, which nothing waits for`
      }
    }
  }
}

function* redelegationRecords({ world: { native } }: ReadContext): Iterable<string> {
  const due = new Set([...queued(native)].map(dueKey))
  for (const { delegator, source, destination, entries } of allRedelegations(native)) {
    const name = `${pair(delegator, source)} to ${operatorText(destination)}`
    if (entries.length === 0) yield `${name} redelegates nothing`
    const [found] = redelegationsFrom(native, source, { start: [delegator, destination] })
    if (found === undefined || bytesKey(found.destination) !== bytesKey(destination)) yield `${name} is in no index`
    if (!hasReceivingRedelegation(native, delegator, destination)) yield `${name} is not in the destination's index`
    for (const { completionTimeMs: timeMs } of entries) {
      if (!due.has(dueKey({ kind: 'redelegation', timeMs, addresses: [delegator, source, destination] }))) {
        yield `${name} ends at ${timeMs}, which nothing waits for`
      }
    }
  }
}

/**
 * Checks that the indexes by height, which slashes read, name exactly the heights of all entries.
 */
function* heights({ world: { native } }: ReadContext): Iterable<string> {
  const expected = new Set<string>()
  const expect = (prefix: Uint8Array, operator: Address, others: readonly Address[], height: number) =>
    expected.add(bytesKey(heightKey({ prefix, operator }, height, others)))
  for (const { delegator, operator, entries } of allUnbondings(native)) {
    for (const { creationHeight } of entries) expect(UNBONDING_BY_HEIGHT, operator, [delegator], creationHeight)
  }
  for (const { delegator, source, destination, entries } of allRedelegations(native)) {
    const others = [delegator, destination]
    for (const { creationHeight } of entries) expect(REDELEGATIONS_BY_HEIGHT, source, others, creationHeight)
  }
  for (const prefix of [UNBONDING_BY_HEIGHT, REDELEGATIONS_BY_HEIGHT]) {
    for (const key of indexedHeights(native, prefix)) {
      if (!expected.delete(key)) yield `a height is indexed at which nothing left: ${bytesToHex(keyBytes(key))}`
    }
  }
  if (expected.size > 0) yield `${expected.size} heights at which something left a validator are not indexed`
}

/**
 * Checks that the sums of stake that left, which slashes take the validators' part from, are those
 * of all entries.
 */
function* departures({ world: { native } }: ReadContext): Iterable<string> {
  const expected = new Map<string, { readonly operator: Address; readonly byHeight: Map<number, bigint> }>()
  const add = (operator: Address, entries: readonly { creationHeight: number; initialBalance: bigint }[]) => {
    const key = bytesKey(operator)
    const of = expected.get(key) ?? { operator, byHeight: new Map<number, bigint>() }
    expected.set(key, of)
    for (const { creationHeight, initialBalance } of entries) {
      if (initialBalance === 0n) continue
      of.byHeight.set(creationHeight, (of.byHeight.get(creationHeight) ?? 0n) + initialBalance)
    }
  }
  for (const { operator } of validators(native)) add(operator, [])
  for (const { operator, entries } of allUnbondings(native)) add(operator, entries)
  for (const { source, entries } of allRedelegations(native)) add(source, entries)
  for (const { operator, byHeight } of expected.values()) {
    const byBranch = new Map<number, bigint>()
    for (const [height, sum] of byHeight) {
      byBranch.set(branchOf(height), (byBranch.get(branchOf(height)) ?? 0n) + sum)
    }
    const found = departedSums(native, operator)
    if (!equalSums(found.byHeight, byHeight) || !equalSums(found.byBranch, byBranch)) {
      yield `${operatorText(operator)} has other sums of stake that left than its entries`
    }
  }
}

function equalSums(a: ReadonlyMap<number, bigint>, b: ReadonlyMap<number, bigint>): boolean {
  return a.size === b.size && [...a].every(([key, sum]) => b.get(key) === sum)
}

/** Checks that pending slashes are in order, and no record is further than the last ID. */
function* slashes({ world: { native } }: ReadContext): Iterable<string> {
  let last = 0n
  for (const { id, operator } of pendingSlashes(native)) {
    if (id <= last) yield `the slash ${id} of ${operatorText(operator)} is not in order`
    last = id
  }
}

/** Checks that a validator is in the queue exactly while it is unbonding. */
function* queues({ world: { native } }: ReadContext, all: readonly Validator[]): Iterable<string> {
  let waiting = 0
  for (const { kind, timeMs, addresses } of queued(native)) {
    if (kind === undefined) yield `an entry of the queue at ${timeMs} has no kind`
    if (kind !== 'validator') continue
    waiting++
    const validator = getValidator(native, addresses[0]!)
    if (validator?.status !== 'unbonding' || validator.unbondingTimeMs !== timeMs) {
      yield `${operatorText(addresses[0]!)} waits to be unbonded and is ${validator?.status}`
    }
  }
  const unbonding = all.filter(({ status }) => status === 'unbonding').length
  if (unbonding !== waiting) yield `${unbonding} validators are unbonding, ${waiting} wait for it`
}

/** Checks that locks, pending rotations, and the queue entries for their ends belong together. */
function* rotations({ world: { native } }: ReadContext): Iterable<string> {
  const locked = lockedKeys(native)
  const expected = new Set<string>()
  for (const { operator, publicKey } of pendingRotations(native)) {
    expected.add(bytesKey(consensusAddressOf({ publicKey })))
    if (getValidator(native, operator) === undefined)
      yield `${operatorText(operator)} rotates its key and does not exist`
  }
  const former = new Set<string>()
  for (const { consensusAddress, isToCome } of locked) {
    if (!isToCome) former.add(bytesKey(consensusAddress))
    else if (!expected.delete(bytesKey(consensusAddress)))
      yield `${bytesToHex(consensusAddress)} is to come from no rotation`
  }
  if (expected.size > 0) yield `${expected.size} keys that are to come are not locked`
  for (const { kind, addresses } of queued(native)) {
    if (kind === 'formerKey' && !former.delete(bytesKey(addresses[0]!)))
      yield `${bytesToHex(addresses[0]!)} is not locked`
  }
  if (former.size > 0) yield `${former.size} former keys wait for no end`
}

function dueKey({ kind, timeMs, addresses }: Omit<QueuedDue, 'key'>): string {
  return `${kind} ${timeMs} ${addresses.map(bytesKey).join()}`
}

function pair(delegator: Address, operator: Address): string {
  return `${toBech32(delegator)} at ${operatorText(operator)}`
}
