import { AddressError, parseAddress } from '../../primitives/address.ts'
import {
  type Decimal,
  decimalOf,
  formatDecimal,
  multiply,
  ONE,
  parseDecimal,
  round,
  truncate,
} from '../../primitives/decimal.ts'
import { acoinOf, areValidCoins, BASE_DENOM, type Coin, coinsText } from '../coin.ts'
import { defineParams, type ParamsStore } from '../params.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { Params } from './types.ts'

/** The shortest period: blocks of 400 ms must be able to take a vote before its end. */
const MIN_PERIOD_NS = 1_000_000_000n
/** The longest period, a year: a longer one would be a chain without governance. */
const MAX_PERIOD_NS = 366n * 86_400n * 1_000_000_000n
/** The largest deposit, 10^15 COIN: products with ratios stay small numbers. */
const MAX_DEPOSIT_ACOIN = 10n ** 33n
/** A share that is compared as "more than": nothing can be more than 1. */
const BELOW_ONE: Decimal = ONE - 1n
/** The largest quorum: roundings and validators that are jailed must not make it unreachable. */
const MAX_QUORUM: Decimal = (9n * ONE) / 10n
/** The smallest veto threshold: less would let every voter stop all proposals. */
const MIN_VETO: Decimal = ONE / 100n

/** Under the SDK's ParamsKey 0x30 (x/gov/types/keys.go). */
export const GOV_PARAMS: ParamsStore<Params> = defineParams('gov', Uint8Array.of(0x30), Params)

/** Milliseconds of a period of validated parameters. */
export function periodMs(duration: bigint | undefined): number {
  if (duration === undefined) throw new Error('a period of governance is missing')
  return Number(duration / 1_000_000n)
}

/** Returns a ratio of validated parameters; '' is 0, as the SDK's zero value. */
export function ratio(text: string): Decimal {
  const value = text === '' ? 0n : parseDecimal(text)
  if (value === undefined) throw new Error(`a ratio of governance is not a number: ${text}`)
  return value
}

/** Returns the deposit that starts the vote, acoin. */
export function minDepositAcoin(params: Params, isExpedited: boolean): bigint {
  const amount = acoinOf(isExpedited ? params.expeditedMinDeposit : params.minDeposit)
  if (amount === undefined) throw new Error('deposits of governance are in another denomination')
  return amount
}

/** Returns the least that the proposer must deposit, acoin. */
export function minInitialDepositAcoin(params: Params, isExpedited: boolean): bigint {
  return round(multiply(decimalOf(minDepositAcoin(params, isExpedited)), ratio(params.minInitialDepositRatio)))
}

/** Returns the least that one deposit must be, acoin; 0 when there is no minimum. */
export function minSingleDepositAcoin(params: Params, isExpedited: boolean): bigint {
  return truncate(multiply(decimalOf(minDepositAcoin(params, isExpedited)), ratio(params.minDepositRatio)))
}

/**
 * Returns the error of invalid parameters (Params.ValidateBasic of x/gov/types/v1/params.go).
 * Besides the SDK's rules, deposits are in the base denomination, since there is no other, and
 * periods have whole milliseconds, like block times. Bounds ensure that governance can still
 * decide, and change these parameters again.
 */
export function validateGovParams(params: Params): SdkError | undefined {
  const problem =
    depositProblem('minimum deposit', params.minDeposit) ??
    depositProblem('expedited minimum deposit', params.expeditedMinDeposit) ??
    orderProblem(params) ??
    periodProblem('maximum deposit period', params.maxDepositPeriod) ??
    ratioProblem('quorum', params.quorum, { least: 0n, most: MAX_QUORUM }) ??
    ratioProblem('vote threshold', params.threshold, { most: BELOW_ONE }) ??
    ratioProblem('expedited vote threshold', params.expeditedThreshold, { most: BELOW_ONE }) ??
    (ratio(params.expeditedThreshold) <= ratio(params.threshold)
      ? `expedited governance vote threshold ${params.expeditedThreshold}, must be greater than the regular threshold ${params.threshold}`
      : undefined) ??
    ratioProblem('veto threshold', params.vetoThreshold, { least: MIN_VETO }) ??
    periodProblem('voting period', params.votingPeriod) ??
    periodProblem('expedited voting period', params.expeditedVotingPeriod) ??
    (params.expeditedVotingPeriod! >= params.votingPeriod!
      ? 'expedited voting period must be less than the regular voting period'
      : undefined) ??
    ratioProblem('minimum initial deposit ratio of proposal', params.minInitialDepositRatio, { least: 0n }) ??
    ratioProblem('minimum deposit ratio of proposal', params.minDepositRatio, { least: 0n }) ??
    ratioProblem('burn rate of cancel proposal', params.proposalCancelRatio, { least: 0n }) ??
    destinationProblem(params.proposalCancelDest)
  return problem === undefined ? undefined : sdkError('invalidRequest', problem)
}

function depositProblem(name: string, coins: readonly Coin[]): string | undefined {
  if (coins.length === 0 || !areValidCoins(coins)) return `invalid ${name}: ${coinsText(coins)}`
  const acoin = acoinOf(coins)
  if (acoin === undefined) return `${name} must be in ${BASE_DENOM}: ${coinsText(coins)}`
  return acoin > MAX_DEPOSIT_ACOIN
    ? `${name} must be at most ${MAX_DEPOSIT_ACOIN}${BASE_DENOM}: ${coinsText(coins)}`
    : undefined
}

function orderProblem(params: Params): string | undefined {
  if (minDepositAcoin(params, true) > minDepositAcoin(params, false)) return undefined
  return `expedited minimum deposit must be greater than minimum deposit: ${coinsText(params.expeditedMinDeposit)}`
}

function periodProblem(name: string, duration: bigint | undefined): string | undefined {
  if (duration === undefined) return `${name} must not be nil`
  if (duration <= 0n) return `${name} must be positive: ${duration}ns`
  if (duration < MIN_PERIOD_NS) return `${name} is shorter than a second: ${duration}ns`
  if (duration > MAX_PERIOD_NS) return `${name} is longer than 366 days: ${duration}ns`
  if (duration % 1_000_000n !== 0n) return `${name} must be whole milliseconds: ${duration}ns`
  return undefined
}

function ratioProblem(
  name: string,
  text: string,
  { least = 1n, most = ONE }: { readonly least?: Decimal; readonly most?: Decimal } = {},
): string | undefined {
  const value = parseDecimal(text)
  if (value === undefined) return `invalid ${name} string: ${text}`
  if (value < least) return `${name} must be ${least > 1n ? `at least ${formatDecimal(least)}` : 'positive'}: ${text}`
  return value > most ? `${name} too large, it must be at most ${formatDecimal(most)}: ${text}` : undefined
}

function destinationProblem(text: string): string | undefined {
  if (text === '') return undefined
  try {
    parseAddress(text)
    return undefined
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    return `deposits destination address is invalid: ${text}`
  }
}
