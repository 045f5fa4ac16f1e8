/** Addresses in hexadecimal: their order is that of the bytes. */
export type Name = string

export type Status = 'unbonded' | 'unbonding' | 'bonded'

export interface ModelValidator {
  readonly operator: Name
  /** consensus address */
  readonly key: Name
  status: Status
  jailed: boolean
  tokens: bigint
  shares: bigint
  unbondingHeight: number
  unbondingTimeMs: number
  rate: bigint
  readonly maxRate: bigint
  readonly maxChangeRate: bigint
  rateTimeMs: number
  minSelfDelegation: bigint
  outstanding: bigint
  commission: bigint
  current: bigint
  period: number
  /** ratio by ended period, 54 places */
  readonly ratios: bigint[]
  readonly slashes: { height: number; period: number; fraction: bigint }[]
}

export interface ModelDelegation {
  readonly delegator: Name
  readonly operator: Name
  shares: bigint
  /** the period that had ended last when it got its shares */
  since: number
}

export interface ModelUnbonding {
  readonly delegator: Name
  readonly operator: Name
  readonly height: number
  readonly timeMs: number
  initial: bigint
  balance: bigint
}

export interface ModelRedelegation {
  readonly delegator: Name
  readonly source: Name
  readonly destination: Name
  readonly height: number
  readonly timeMs: number
  readonly initial: bigint
  readonly shares: bigint
}

interface Signing {
  startHeight: number
  readonly missed: Set<number>
  jailedUntilNs: bigint
  tombstoned: boolean
}

export interface ModelParams {
  unbondingMs: number
  maxValidators: number
  maxEntries: number
  communityTax: bigint
  window: number
  minSigned: bigint
  jailNs: bigint
  doubleSign: bigint
  downtime: bigint
  rateChange: bigint
  inflationMax: bigint
  inflationMin: bigint
  goalBonded: bigint
  blocksPerYear: bigint
}

/** Everything that the model knows; plain data, so that a refused message is undone by a copy. */
export interface ModelState {
  readonly params: ModelParams
  height: number
  timeMs: number
  supply: bigint
  readonly balances: Map<Name, bigint>
  readonly validators: Map<Name, ModelValidator>
  readonly delegations: Map<string, ModelDelegation>
  unbondings: ModelUnbonding[]
  redelegations: ModelRedelegation[]
  readonly withdrawAddresses: Map<Name, Name>
  communityPool: bigint
  /** acoin per unit of power since the genesis, 36 places */
  accumulator: bigint
  /** reward shares by consensus address */
  readonly rewardShares: Map<Name, { power: bigint; from: bigint }>
  readonly signing: Map<Name, Signing>
  readonly evidence: Set<string>
  inflation: bigint
  /** powers by consensus address, by height */
  readonly sets: Map<number, ReadonlyMap<Name, bigint>>
}

/** Names of accounts that belong to modules. */
export interface ModuleNames {
  readonly feeCollector: Name
  readonly bonded: Name
  readonly notBonded: Name
  readonly distribution: Name
}

/** A message that is refused. */
export class Refused extends Error {}

export function refuseIf(wrong: boolean, reason: string): void {
  if (wrong) throw new Refused(reason)
}

export function validatorOf(state: ModelState, operator: Name): ModelValidator {
  const validator = state.validators.get(operator)
  if (validator === undefined) throw new Refused('no such validator')
  return validator
}

export function validatorOfKey(state: ModelState, key: Name): ModelValidator | undefined {
  return [...state.validators.values()].find((validator) => validator.key === key)
}

export function delegationKey(delegator: Name, operator: Name): string {
  return `${delegator}/${operator}`
}

export function move(state: ModelState, from: Name, to: Name, amount: bigint): void {
  const balance = state.balances.get(from) ?? 0n
  refuseIf(balance < amount, 'too little money')
  state.balances.set(from, balance - amount)
  state.balances.set(to, (state.balances.get(to) ?? 0n) + amount)
}

/** Makes coins, or burns them when the amount is negative. */
export function issue(state: ModelState, account: Name, amount: bigint): void {
  const balance = (state.balances.get(account) ?? 0n) + amount
  if (balance < 0n) throw new Error(`${account} cannot burn ${-amount}`)
  state.balances.set(account, balance)
  state.supply += amount
}
