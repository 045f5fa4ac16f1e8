import { UNIT } from './exactNumbers.ts'
import {
  issue,
  type ModelParams,
  type ModelState,
  type ModelUnbonding,
  type ModuleNames,
  move,
  type Name,
  Refused,
  refuseIf,
  validatorOf,
} from './modelState.ts'
import * as rewards from './rewardsModel.ts'
import { countMissed, punishTwice } from './slashingModel.ts'
import * as stake from './stakeModel.ts'

const DAY_MS = 24 * 3600 * 1000

interface ModelGenesis {
  readonly modules: ModuleNames
  readonly params: ModelParams
  readonly timeMs: number
  readonly balances: readonly (readonly [Name, bigint])[]
  readonly validators: readonly { operator: Name; key: Name; stake: bigint; rate: bigint }[]
}

interface ModelBlock {
  readonly timeMs: number
  /** consensus addresses that are not in the last commit */
  readonly absent: ReadonlySet<Name>
  readonly evidence: readonly { readonly key: Name; readonly height: number }[]
}

interface Amount {
  readonly delegator: Name
  readonly operator: Name
  readonly amount: bigint
}

/**
 * Stake, rewards and slashing as docs/native-layer.md describes them, and nothing else: exact whole numbers, plain maps, and a search
 * over everything for each look-up. It shares no code with src/.
 */
export class StakingModel {
  state: ModelState
  readonly #modules: ModuleNames

  constructor({ modules, params, timeMs, balances, validators }: ModelGenesis) {
    this.#modules = modules
    this.state = {
      params: { ...params },
      height: 0,
      timeMs,
      supply: 0n,
      balances: new Map(),
      validators: new Map(),
      delegations: new Map(),
      unbondings: [],
      redelegations: [],
      withdrawAddresses: new Map(),
      communityPool: 0n,
      accumulator: 0n,
      rewardShares: new Map(),
      signing: new Map(),
      evidence: new Set(),
      inflation: 0n,
      sets: new Map(),
    }
    for (const [account, amount] of balances) issue(this.state, account, amount)
    for (const { operator, key, stake: amount, rate } of validators) {
      issue(this.state, operator, amount)
      const rates = { rate, maxRate: UNIT, maxChangeRate: UNIT, minSelfDelegation: 1n }
      stake.addValidator(this.state, modules, { operator, key, amount, ...rates }, 0)
      const validator = validatorOf(this.state, operator)
      validator.status = 'bonded'
      move(this.state, modules.notBonded, modules.bonded, amount)
      this.state.signing.set(key, stake.newSigning(0))
    }
    const genesis = new Map(validators.map(({ key, stake: amount }) => [key, amount / UNIT]))
    for (const height of [0, 1, 2]) this.state.sets.set(height, genesis)
  }

  /** Runs a message. @returns why it was refused; then nothing has changed */
  attempt(message: (model: this) => void): string | undefined {
    const before = this.copy()
    try {
      message(this)
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      this.state = before
      return error.message
    }
    return undefined
  }

  /** A copy of the state, to try something and go back. Messages do not change sets. */
  copy(): ModelState {
    const { sets, ...rest } = this.state
    return { ...structuredClone(rest), sets }
  }

  begin({ timeMs, absent, evidence }: ModelBlock): void {
    const { state } = this
    state.height++
    state.timeMs = timeMs
    rewards.mintCoins(state, this.#modules)
    if (state.height === 1) return
    const lastCommit = state.sets.get(state.height - 1)!
    rewards.divideFees(state, this.#modules, lastCommit)
    countMissed(state, this.#modules, lastCommit, absent)
    for (const { key, height } of evidence) punishTwice(state, this.#modules, key, height)
  }

  end(): void {
    this.state.sets.delete(this.state.height - 20)
    stake.endStakeBlock(this.state, this.#modules)
  }

  send(from: Name, to: Name, amount: bigint): void {
    move(this.state, from, to, amount)
  }

  delegate({ delegator, operator, amount }: Amount): void {
    const validator = validatorOf(this.state, operator)
    stake.addStake(this.state, this.#modules, { delegator, validator, amount, from: delegator })
  }

  /** @returns acoin that come back, in the pool of validators that are not bonded */
  undelegate({ delegator, operator, amount }: Amount): void {
    const { state } = this
    const modules = this.#modules
    const validator = validatorOf(state, operator)
    const shares = stake.sharesToGiveBack(validator, this.#delegation(delegator, operator), amount)
    const entries = this.unbondings(delegator, operator)
    refuseIf(entries.length >= state.params.maxEntries, 'too many entries')
    const pool = stake.poolOf(modules, validator.status)
    const paid = stake.giveUp(state, modules, validator, this.#delegation(delegator, operator), shares)
    move(state, pool, modules.notBonded, paid)
    const { height } = state
    const timeMs = state.timeMs + state.params.unbondingMs
    const same = entries.find((entry) => entry.height === height && entry.timeMs === timeMs)
    if (same === undefined) {
      state.unbondings.push({ delegator, operator, height, timeMs, initial: paid, balance: paid })
    } else {
      same.initial += paid
      same.balance += paid
    }
  }

  cancelUnbonding({ delegator, operator, amount, height }: Amount & { readonly height: number }): void {
    const { state } = this
    const validator = validatorOf(state, operator)
    refuseIf(validator.jailed, 'jailed')
    const entries = this.unbondings(delegator, operator)
    const entry = entries.find((each) => each.height === height && each.timeMs > state.timeMs)
    if (entry === undefined) throw new Refused('no such entry')
    refuseIf(entry.balance < amount, 'more than the balance')
    const from = this.#modules.notBonded
    stake.addStake(state, this.#modules, { delegator, validator, amount, from })
    entry.initial -= amount
    entry.balance -= amount
    if (entry.balance === 0n) state.unbondings = state.unbondings.filter((each) => each !== entry)
  }

  redelegate({
    delegator,
    operator: source,
    destination,
    amount,
  }: Amount & {
    readonly destination: Name
  }): void {
    const { state } = this
    const modules = this.#modules
    refuseIf(source === destination, 'to itself')
    const to = validatorOf(state, destination)
    const from = validatorOf(state, source)
    const delegation = this.#delegation(delegator, source)
    const shares = stake.sharesToGiveBack(from, delegation, amount)
    const own = state.redelegations.filter((entry) => entry.delegator === delegator)
    refuseIf(
      own.some((entry) => entry.destination === source),
      'it came by a redelegation',
    )
    const same = own.filter((entry) => entry.source === source && entry.destination === destination)
    refuseIf(same.length >= state.params.maxEntries, 'too many entries')
    const { status } = from
    const paid = stake.giveUp(state, modules, from, delegation, shares)
    refuseIf(paid === 0n, 'tiny amount')
    const pool = stake.poolOf(modules, status)
    const issued = stake.addStake(state, modules, { delegator, validator: to, amount: paid, from: pool })
    if (status === 'unbonded') return
    const isBonded = status === 'bonded'
    state.redelegations.push({
      delegator,
      source,
      destination,
      height: isBonded ? state.height : from.unbondingHeight,
      timeMs: isBonded ? state.timeMs + state.params.unbondingMs : from.unbondingTimeMs,
      initial: paid,
      shares: issued,
    })
  }

  createValidator(added: stake.NewModelValidator): void {
    stake.addValidator(this.state, this.#modules, added, this.state.timeMs)
  }

  changeRate(operator: Name, rate: bigint): void {
    const validator = validatorOf(this.state, operator)
    refuseIf(this.state.timeMs - validator.rateTimeMs < DAY_MS, 'changed on this day')
    refuseIf(rate > validator.maxRate || rate - validator.rate > validator.maxChangeRate, 'too much')
    rewards.accrue(this.state, validator)
    validator.rate = rate
    validator.rateTimeMs = this.state.timeMs
  }

  raiseMinimum(operator: Name, minimum: bigint): void {
    const validator = validatorOf(this.state, operator)
    refuseIf(minimum <= validator.minSelfDelegation || minimum > validator.tokens, 'not a minimum')
    validator.minSelfDelegation = minimum
  }

  unjail(operator: Name): void {
    const validator = validatorOf(this.state, operator)
    const own = this.#delegation(operator, operator)
    refuseIf(stake.worth(validator, own.shares) < validator.minSelfDelegation, 'too little of its own')
    refuseIf(!validator.jailed, 'not jailed')
    const signing = this.state.signing.get(validator.key)
    refuseIf(signing?.tombstoned === true, 'tombstoned')
    refuseIf(BigInt(this.state.timeMs) * 1_000_000n < (signing?.jailedUntilNs ?? 0n), 'too early')
    validator.jailed = false
  }

  withdraw(delegator: Name, operator: Name): void {
    const validator = validatorOf(this.state, operator)
    const delegation = this.#delegation(delegator, operator)
    rewards.payDelegation(this.state, this.#modules, validator, delegation)
    rewards.makeRecord(validator, delegation)
  }

  withdrawCommission(operator: Name): void {
    const validator = validatorOf(this.state, operator)
    rewards.accrue(this.state, validator)
    refuseIf(validator.commission === 0n, 'no commission')
    rewards.payCommission(this.state, this.#modules, validator)
  }

  setWithdrawAddress(account: Name, address: Name): void {
    this.state.withdrawAddresses.set(account, address)
  }

  deposit(from: Name, operator: Name, amount: bigint): void {
    const validator = validatorOf(this.state, operator)
    move(this.state, from, this.#modules.distribution, amount)
    rewards.income(validator, amount * UNIT)
  }

  fundCommunity(from: Name, amount: bigint): void {
    move(this.state, from, this.#modules.distribution, amount)
    this.state.communityPool += amount * UNIT
  }

  spendCommunity(to: Name, amount: bigint): void {
    refuseIf(this.state.communityPool < amount * UNIT, 'not that much')
    this.state.communityPool -= amount * UNIT
    move(this.state, this.#modules.distribution, to, amount)
  }

  setMaxValidators(count: number): void {
    this.state.params.maxValidators = count
  }

  setWindow(window: number): void {
    if (window === this.state.params.window) return
    this.state.params.window = window
    for (const { missed } of this.state.signing.values()) missed.clear()
  }

  unbondings(delegator: Name, operator: Name): ModelUnbonding[] {
    return this.state.unbondings.filter((entry) => entry.delegator === delegator && entry.operator === operator)
  }

  #delegation(delegator: Name, operator: Name) {
    const delegation = rewards.findDelegation(this.state, delegator, operator)
    if (delegation === undefined) throw new Refused('no delegation')
    return delegation
  }
}
