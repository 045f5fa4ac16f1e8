import { floorAt, half18, UNIT } from './exactNumbers.ts'
import {
  delegationKey,
  issue,
  type ModelDelegation,
  type ModelState,
  type ModelValidator,
  type ModuleNames,
  move,
  type Name,
  refuseIf,
  type Status,
} from './modelState.ts'
import { endPeriod, findDelegation, leaveRewards, makeRecord, payDelegation } from './rewardsModel.ts'

/** "Stake, exactly" of docs/native-layer.md. */

function powerOf(validator: ModelValidator): bigint {
  return validator.tokens / UNIT
}

export function poolOf(modules: ModuleNames, status: Status): Name {
  return status === 'bonded' ? modules.bonded : modules.notBonded
}

/** acoin that `shares` are worth */
export function worth(validator: ModelValidator, shares: bigint): bigint {
  return half18(shares * validator.tokens, validator.shares) / UNIT
}

/** Delegates acoin that the account `from` has. */
export function addStake(
  state: ModelState,
  modules: ModuleNames,
  { delegator, validator, amount, from }: { delegator: Name; validator: ModelValidator; amount: bigint; from: Name },
): bigint {
  refuseIf(validator.shares > 0n && validator.tokens === 0n, 'shares without tokens')
  let delegation = findDelegation(state, delegator, validator.operator)
  if (delegation === undefined) {
    endPeriod(state, validator)
    delegation = { delegator, operator: validator.operator, shares: 0n, since: 0 }
    state.delegations.set(delegationKey(delegator, validator.operator), delegation)
  } else {
    payDelegation(state, modules, validator, delegation)
  }
  move(state, from, poolOf(modules, validator.status), amount)
  const issued =
    validator.shares === 0n ? amount * UNIT : floorAt(18n, validator.shares * amount, validator.tokens * UNIT)
  refuseIf(validator.shares + issued >= 2n ** 256n, 'too many shares')
  validator.tokens += amount
  validator.shares += issued
  delegation.shares += issued
  makeRecord(validator, delegation)
  return issued
}

export function sharesToGiveBack(validator: ModelValidator, delegation: ModelDelegation, amount: bigint): bigint {
  refuseIf(validator.tokens === 0n, 'no tokens')
  const shares = floorAt(18n, validator.shares * amount, validator.tokens * UNIT)
  refuseIf(shares > delegation.shares, 'too few shares')
  return shares
}

/** @returns acoin that the shares pay, which are still in the validator's pool */
export function giveUp(
  state: ModelState,
  modules: ModuleNames,
  validator: ModelValidator,
  delegation: ModelDelegation,
  shares: bigint,
): bigint {
  payDelegation(state, modules, validator, delegation)
  const left = delegation.shares - shares
  if (delegation.delegator === validator.operator && worth(validator, left) < validator.minSelfDelegation) {
    validator.jailed = true
  }
  const paid = shares === validator.shares ? validator.tokens : worth(validator, shares)
  delegation.shares = left
  validator.tokens -= paid
  validator.shares -= shares
  if (left === 0n) state.delegations.delete(delegationKey(delegation.delegator, delegation.operator))
  else makeRecord(validator, delegation)
  removeIfEmpty(state, modules, validator)
  return paid
}

function removeIfEmpty(state: ModelState, modules: ModuleNames, validator: ModelValidator): void {
  if (validator.status !== 'unbonded' || validator.shares > 0n) return
  leaveRewards(state, modules, validator)
  state.validators.delete(validator.operator)
}

/** The validator set, and what is due: the end of a block. */
export function endStakeBlock(state: ModelState, modules: ModuleNames): void {
  updateSet(state, modules)
  const { timeMs } = state
  for (const validator of [...state.validators.values()]) {
    if (validator.status === 'unbonding' && validator.unbondingTimeMs <= timeMs) {
      validator.status = 'unbonded'
      state.signing.get(validator.key)?.missed.clear()
      removeIfEmpty(state, modules, validator)
    }
  }
  for (const entry of state.unbondings) {
    if (entry.timeMs <= timeMs) move(state, modules.notBonded, entry.delegator, entry.balance)
  }
  state.unbondings = state.unbondings.filter((entry) => entry.timeMs > timeMs)
  state.redelegations = state.redelegations.filter((entry) => entry.timeMs > timeMs)
}

function updateSet(state: ModelState, modules: ModuleNames): void {
  const chosen = [...state.validators.values()]
    .filter((validator) => !validator.jailed && powerOf(validator) > 0n)
    .sort((a, b) => Number(powerOf(b) - powerOf(a)) || (a.operator < b.operator ? -1 : 1))
    .slice(0, state.params.maxValidators)
  if (chosen.length === 0) {
    state.sets.set(state.height + 2, state.sets.get(state.height + 1)!)
    return
  }
  for (const validator of state.validators.values()) {
    const isChosen = chosen.includes(validator)
    if (isChosen && validator.status !== 'bonded') {
      move(state, modules.notBonded, modules.bonded, validator.tokens)
      validator.status = 'bonded'
      const known = state.signing.get(validator.key)
      if (known !== undefined) known.startHeight = state.height
      else state.signing.set(validator.key, newSigning(state.height))
    }
    if (!isChosen && validator.status === 'bonded') {
      move(state, modules.bonded, modules.notBonded, validator.tokens)
      validator.status = 'unbonding'
      validator.unbondingHeight = state.height
      validator.unbondingTimeMs = state.timeMs + state.params.unbondingMs
    }
  }
  state.sets.set(state.height + 2, new Map(chosen.map((validator) => [validator.key, powerOf(validator)])))
}

export function newSigning(startHeight: number) {
  return { startHeight, missed: new Set<number>(), jailedUntilNs: 0n, tombstoned: false }
}

export interface NewModelValidator {
  readonly operator: Name
  readonly key: Name
  readonly amount: bigint
  readonly rate: bigint
  readonly maxRate: bigint
  readonly maxChangeRate: bigint
  readonly minSelfDelegation: bigint
}

export function addValidator(
  state: ModelState,
  modules: ModuleNames,
  added: NewModelValidator,
  rateTimeMs: number,
): void {
  refuseIf(state.validators.has(added.operator), 'operator has a validator')
  refuseIf(
    [...state.validators.values()].some(({ key }) => key === added.key),
    'key has a validator',
  )
  refuseIf(state.signing.get(added.key)?.tombstoned === true, 'key signed twice')
  refuseIf(added.amount < added.minSelfDelegation, 'too little stake')
  const { amount, ...rest } = added
  const validator: ModelValidator = {
    ...rest,
    status: 'unbonded',
    jailed: false,
    tokens: 0n,
    shares: 0n,
    unbondingHeight: 0,
    unbondingTimeMs: 0,
    rateTimeMs,
    outstanding: 0n,
    commission: 0n,
    current: 0n,
    period: 1,
    ratios: [0n],
    slashes: [],
  }
  state.validators.set(added.operator, validator)
  addStake(state, modules, { delegator: added.operator, validator, amount, from: added.operator })
}

export function burnTokens(state: ModelState, modules: ModuleNames, validator: ModelValidator, amount: bigint): void {
  issue(state, poolOf(modules, validator.status), -amount)
}
