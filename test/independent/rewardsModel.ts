import { ceilAt, floorAt, half18, half18Product, minimum, UNIT } from './exactNumbers.ts'
import {
  delegationKey,
  issue,
  type ModelDelegation,
  type ModelState,
  type ModelValidator,
  type ModuleNames,
  move,
  type Name,
  validatorOfKey,
} from './modelState.ts'

/** "Rewards, exactly" of docs/native-layer.md. */

function shareEarnings(state: ModelState, key: Name): bigint {
  const share = state.rewardShares.get(key)
  return share === undefined ? 0n : floorAt(18n, (state.accumulator - share.from) * share.power, 10n ** 36n)
}

export function income(validator: ModelValidator, amount: bigint): void {
  const commission = half18Product(amount, validator.rate)
  validator.outstanding += amount
  validator.commission += commission
  validator.current += amount - commission
}

export function accrue(state: ModelState, validator: ModelValidator): void {
  income(validator, shareEarnings(state, validator.key))
  const share = state.rewardShares.get(validator.key)
  if (share !== undefined) share.from = state.accumulator
}

/** @returns the number of the period that ended */
export function endPeriod(state: ModelState, validator: ModelValidator): number {
  accrue(state, validator)
  let ratio = validator.ratios[validator.period - 1]!
  if (validator.shares > 0n) {
    ratio += floorAt(54n, validator.current, validator.shares)
  } else {
    state.communityPool += validator.current
    validator.outstanding -= validator.current
  }
  validator.ratios[validator.period] = ratio
  validator.current = 0n
  return validator.period++
}

export function makeRecord(validator: ModelValidator, delegation: ModelDelegation): void {
  delegation.since = validator.period - 1
}

function withdrawAddress(state: ModelState, account: Name): Name {
  return state.withdrawAddresses.get(account) ?? account
}

/** What a delegation could be paid when its validator's period ended now; ends it. */
export function endAndEarn(state: ModelState, validator: ModelValidator, delegation: ModelDelegation): bigint {
  const ended = endPeriod(state, validator)
  const ratio = validator.ratios[ended]! - validator.ratios[delegation.since]!
  const earned = floorAt(18n, delegation.shares * ratio, UNIT * 10n ** 54n)
  return minimum(earned, validator.outstanding)
}

export function payDelegation(
  state: ModelState,
  modules: ModuleNames,
  validator: ModelValidator,
  delegation: ModelDelegation,
): void {
  const amount = endAndEarn(state, validator, delegation)
  const whole = amount / UNIT
  move(state, modules.distribution, withdrawAddress(state, delegation.delegator), whole)
  state.communityPool += amount - whole * UNIT
  validator.outstanding -= amount
}

export function payCommission(state: ModelState, modules: ModuleNames, validator: ModelValidator): void {
  const whole = validator.commission / UNIT
  move(state, modules.distribution, withdrawAddress(state, validator.operator), whole)
  validator.commission -= whole * UNIT
  validator.outstanding -= whole * UNIT
}

/** What a validator that is removed leaves. */
export function leaveRewards(state: ModelState, modules: ModuleNames, validator: ModelValidator): void {
  payCommission(state, modules, validator)
  state.communityPool += validator.outstanding + shareEarnings(state, validator.key)
  const share = state.rewardShares.get(validator.key)
  if (share !== undefined) share.from = state.accumulator
}

/** Steps 2 and 3 of a block's beginning. */
export function divideFees(state: ModelState, modules: ModuleNames, lastCommit: ReadonlyMap<Name, bigint>): void {
  for (const key of new Set([...state.rewardShares.keys(), ...lastCommit.keys()])) {
    const power = lastCommit.get(key)
    if (power === state.rewardShares.get(key)?.power) continue
    const validator = validatorOfKey(state, key)
    if (validator === undefined) state.communityPool += shareEarnings(state, key)
    else accrue(state, validator)
    if (power === undefined) state.rewardShares.delete(key)
    else state.rewardShares.set(key, { power, from: state.accumulator })
  }
  const fees = state.balances.get(modules.feeCollector) ?? 0n
  if (fees === 0n) return
  move(state, modules.feeCollector, modules.distribution, fees)
  const total = [...lastCommit.values()].reduce((sum, power) => sum + power, 0n)
  const divided = floorAt(18n, fees * (UNIT - state.params.communityTax), UNIT)
  const perPower = floorAt(36n, divided, UNIT * total)
  state.accumulator += perPower
  state.communityPool += fees * UNIT - ceilAt(18n, perPower * total, 10n ** 36n)
}

export function mintCoins(state: ModelState, modules: ModuleNames): void {
  const { rateChange, inflationMax, inflationMin, goalBonded, blocksPerYear } = state.params
  if (state.inflation === 0n && inflationMax === 0n) return
  const bonded = floorAt(18n, state.balances.get(modules.bonded) ?? 0n, state.supply)
  const distance = UNIT - half18(bonded, goalBonded)
  const sign = distance < 0n ? -1n : 1n
  const yearly = half18Product(sign * distance, rateChange)
  state.inflation += sign * half18(yearly, blocksPerYear * UNIT)
  if (state.inflation > inflationMax) state.inflation = inflationMax
  if (state.inflation < inflationMin) state.inflation = inflationMin
  issue(state, modules.feeCollector, floorAt(18n, state.inflation * state.supply, UNIT * blocksPerYear) / UNIT)
}

export function findDelegation(state: ModelState, delegator: Name, operator: Name): ModelDelegation | undefined {
  return state.delegations.get(delegationKey(delegator, operator))
}
