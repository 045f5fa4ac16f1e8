import { ceilAt, half, half18Product, minimum, UNIT } from './exactNumbers.ts'
import type { ModelRedelegation, ModelState, ModelUnbonding, ModelValidator, ModuleNames, Name } from './modelState.ts'
import { issue, validatorOfKey } from './modelState.ts'
import { endPeriod, findDelegation } from './rewardsModel.ts'
import { burnTokens, giveUp, newSigning } from './stakeModel.ts'

/** "Slashing, exactly" of docs/native-layer.md. */

/** 9999-12-31T23:59:59Z */
const FOREVER_NS = 253_402_300_799n * 10n ** 9n

interface Fault {
  readonly fraction: bigint
  readonly power: bigint
  readonly height: number
}

/** Order of texts, for sorting. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function slash(state: ModelState, modules: ModuleNames, validator: ModelValidator, fault: Fault): void {
  const { fraction, power, height } = fault
  let owed = power * fraction
  const isSlashed = (entry: ModelUnbonding | ModelRedelegation) =>
    height < state.height && entry.height >= height && entry.timeMs > state.timeMs

  let left = 0n
  for (const entry of state.unbondings) {
    if (entry.operator !== validator.operator || !isSlashed(entry)) continue
    left += entry.initial
    const burnt = minimum((fraction * entry.initial) / UNIT, entry.balance)
    entry.balance -= burnt
    issue(state, modules.notBonded, -burnt)
  }
  const redelegations = state.redelegations.filter((entry) => entry.source === validator.operator && isSlashed(entry))
  const pairOf = ({ delegator, destination }: ModelRedelegation) => `${delegator} ${destination}`
  // Pairs in order of their first height, then of their addresses.
  const firsts = new Map<string, number>()
  for (const entry of redelegations) {
    const pair = pairOf(entry)
    firsts.set(pair, Math.min(entry.height, firsts.get(pair) ?? entry.height))
  }
  redelegations.sort((a, b) => {
    const [first, second] = [pairOf(a), pairOf(b)]
    return firsts.get(first)! - firsts.get(second)! || order(first, second)
  })
  for (const entry of redelegations) {
    left += entry.initial
    collect(state, modules, entry, { owes: (fraction * entry.initial) / UNIT, fraction, isSlashed })
  }
  owed -= (fraction * left) / UNIT
  const burnt = minimum(owed, validator.tokens)
  if (burnt <= 0n) return
  const period = endPeriod(state, validator)
  validator.slashes.push({ height: state.height, period, fraction: ceilAt(18n, burnt, validator.tokens) })
  validator.tokens -= burnt
  burnTokens(state, modules, validator, burnt)
}

interface Owed {
  readonly owes: bigint
  readonly fraction: bigint
  readonly isSlashed: (entry: ModelUnbonding) => boolean
}

/** The amount that a redelegation's entry owes is taken where its coins went to. */
function collect(
  state: ModelState,
  modules: ModuleNames,
  { delegator, destination, shares }: ModelRedelegation,
  { owes, fraction, isSlashed }: Owed,
): void {
  let taken = 0n
  for (const entry of state.unbondings) {
    if (entry.delegator !== delegator || entry.operator !== destination || !isSlashed(entry)) continue
    const burnt = minimum(entry.balance, owes - taken)
    entry.balance -= burnt
    issue(state, modules.notBonded, -burnt)
    taken += burnt
  }
  const delegation = findDelegation(state, delegator, destination)
  if (taken === owes || delegation === undefined) return
  const lost = minimum((half18Product(fraction, shares) * (owes - taken)) / owes, delegation.shares)
  if (lost === 0n) return
  const validator = state.validators.get(destination)!
  burnTokens(state, modules, validator, giveUp(state, modules, validator, delegation, lost))
}

/** Missed blocks at the beginning of a block. */
export function countMissed(
  state: ModelState,
  modules: ModuleNames,
  lastCommit: ReadonlyMap<Name, bigint>,
  absent: ReadonlySet<Name>,
): void {
  const { window, minSigned, downtime, jailNs } = state.params
  const votes = [...lastCommit].sort(([a, p], [b, q]) => Number(q - p) || order(a, b))
  for (const [key, power] of votes) {
    const validator = validatorOfKey(state, key)
    if (validator === undefined || validator.jailed || validator.status === 'unbonded') continue
    const signing = state.signing.get(key)!
    const place = (state.height - signing.startHeight) % window
    if (absent.has(key)) signing.missed.add(place)
    else signing.missed.delete(place)
    const allowed = BigInt(window) - half(minSigned * BigInt(window), UNIT)
    if (state.height <= signing.startHeight + window || BigInt(signing.missed.size) <= allowed) continue
    slash(state, modules, validator, { fraction: downtime, power, height: state.height - 2 })
    validator.jailed = true
    signing.jailedUntilNs = BigInt(state.timeMs) * 1_000_000n + jailNs
    signing.missed.clear()
  }
}

/** Evidence that a validator signed twice at a height. */
export function punishTwice(state: ModelState, modules: ModuleNames, key: Name, height: number): void {
  const name = `${key}/${height}`
  if (state.evidence.has(name)) return
  state.evidence.add(name)
  const validator = validatorOfKey(state, key)
  const signing = state.signing.get(key) ?? newSigning(0)
  if (validator === undefined || validator.status === 'unbonded' || signing.tombstoned) return
  const power = state.sets.get(height)!.get(key)!
  slash(state, modules, validator, { fraction: state.params.doubleSign, power, height: height - 1 })
  validator.jailed = true
  signing.jailedUntilNs = FOREVER_NS
  signing.tombstoned = true
}
