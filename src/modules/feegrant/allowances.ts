import { ProtobufError } from '../../primitives/protobuf.ts'
import { type AnyValue, decodeContent, type MessageType } from '../../primitives/protoSchema.ts'
import { areValidCoins, type Coin, coinsText, subtractCoins } from '../coin.ts'
import { defineErrors, isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { AllowedMsgAllowance, BasicAllowance, PeriodicAllowance } from './types.ts'

/** Makes an error of the codespace `feegrant` (x/feegrant/errors.go). */
const feegrantError = defineErrors('feegrant', {
  limitExceeded: [2, 'fee limit exceeded'],
  expired: [3, 'fee allowance expired'],
  invalidDuration: [4, 'invalid duration'],
  noAllowance: [5, 'no allowance'],
  noMessages: [6, 'allowed messages are empty'],
  messageNotAllowed: [7, 'message not allowed'],
})

/** A fee that an allowance is asked to pay. */
interface FeeUse {
  readonly fee: readonly Coin[]
  /** of the transaction's messages */
  readonly typeUrls: readonly string[]
  /** of the block, nanoseconds */
  readonly now: bigint
}

/** A granter's allowance for the fees of a grantee, read from its protobuf form. */
interface Allowance {
  /** nanoseconds; undefined: it never expires */
  readonly expiration: bigint | undefined
  /** number of entries in its lists and those of the allowance inside; every use reads them */
  readonly entries: number
  /** Returns the error of an allowance that is invalid in any state (ValidateBasic). */
  validate(): SdkError | undefined
  /**
   * Returns the allowance after it has paid, undefined when it is used up; an error when it does
   * not pay.
   */
  accept(use: FeeUse): Outcome<AnyValue | undefined>
}

/** The last time with a year of four digits, nanoseconds. */
const LAST_TIME = 253_402_300_799n * 1_000_000_000n
/** The most allowances nested in one another. */
const MAX_DEPTH = 4

/** The most bytes of an allowance: every transaction that it pays for reads and writes it. The SDK has no such bound. */
const MAX_ALLOWANCE_BYTES = 4_096

/**
 * The most coins and allowed messages of an allowance in all: every use reads them. The SDK has no
 * such bound.
 */
const MAX_ENTRIES = 64

/** Returns the error of an allowance that is invalid in any state, before it is granted. */
export function checkAllowance(granted: AnyValue | undefined): SdkError | undefined {
  if (granted !== undefined && granted.value.length > MAX_ALLOWANCE_BYTES) {
    return sdkError('invalidRequest', `the allowance has more than ${MAX_ALLOWANCE_BYTES} bytes`)
  }
  const allowance = readAllowance(granted)
  if (isSdkError(allowance)) return allowance
  if (allowance.entries > MAX_ENTRIES) {
    return sdkError('invalidRequest', `the lists of the allowance have more than ${MAX_ENTRIES} entries`)
  }
  return allowance.validate()
}

/** Reads a granted allowance. */
export function readAllowance(granted: AnyValue | undefined, depth = 0): Outcome<Allowance> {
  if (granted === undefined) return feegrantError('noAllowance', 'allowance should not be empty')
  const { typeUrl } = granted
  try {
    if (typeUrl === BasicAllowance.typeUrl) return basic(decodeContent(BasicAllowance, granted))
    if (typeUrl === PeriodicAllowance.typeUrl) return periodic(decodeContent(PeriodicAllowance, granted))
    if (typeUrl === AllowedMsgAllowance.typeUrl && depth < MAX_DEPTH) {
      return allowedMessages(decodeContent(AllowedMsgAllowance, granted), depth)
    }
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', `${typeUrl}: ${error.message}`)
  }
  return sdkError('txDecode', `unable to resolve type URL ${typeUrl}`)
}

/** x/feegrant/basic_fee.go */
function basic(allowance: BasicAllowance): Allowance {
  return {
    expiration: allowance.expiration,
    entries: allowance.spendLimit.length,
    validate: () => checkBasic(allowance),
    accept: ({ fee, now }) => {
      if (isOver(allowance, now)) return feegrantError('expired', 'basic allowance')
      if (allowance.spendLimit.length === 0) return pack(BasicAllowance, allowance)
      const spendLimit = subtractCoins(allowance.spendLimit, fee)
      if (spendLimit === undefined) return feegrantError('limitExceeded', 'basic allowance')
      return spendLimit.length === 0 ? undefined : pack(BasicAllowance, { ...allowance, spendLimit })
    },
  }
}

/** x/feegrant/periodic_fee.go */
function periodic(allowance: PeriodicAllowance): Allowance {
  return {
    expiration: allowance.basic.expiration,
    entries: allowance.basic.spendLimit.length + allowance.periodSpendLimit.length + allowance.periodCanSpend.length,
    validate: () => checkPeriodic(allowance),
    accept: ({ fee, now }) => {
      const { basic: limits } = allowance
      if (isOver(limits, now)) return feegrantError('expired', 'absolute limit')
      const current = inPeriod(allowance, now)
      const periodCanSpend = subtractCoins(current.periodCanSpend, fee)
      if (periodCanSpend === undefined) return feegrantError('limitExceeded', 'period limit')
      if (limits.spendLimit.length === 0) return pack(PeriodicAllowance, { ...current, periodCanSpend })
      const spendLimit = subtractCoins(limits.spendLimit, fee)
      if (spendLimit === undefined) return feegrantError('limitExceeded', 'absolute limit')
      if (spendLimit.length === 0) return undefined
      return pack(PeriodicAllowance, { ...current, periodCanSpend, basic: { ...limits, spendLimit } })
    },
  }
}

/** x/feegrant/filtered_fee.go */
function allowedMessages(
  { allowance, allowedMessages: allowed }: AllowedMsgAllowance,
  depth: number,
): Outcome<Allowance> {
  const inner = readAllowance(allowance, depth + 1)
  if (isSdkError(inner)) return inner
  return {
    expiration: inner.expiration,
    entries: allowed.length + inner.entries,
    validate: () =>
      allowed.length === 0 ? feegrantError('noMessages', "allowed messages shouldn't be empty") : inner.validate(),
    accept: (use) => {
      if (!use.typeUrls.every((typeUrl) => allowed.includes(typeUrl))) {
        return feegrantError('messageNotAllowed', 'message does not exist in allowed messages')
      }
      const left = inner.accept(use)
      if (left === undefined || isSdkError(left)) return left
      return pack(AllowedMsgAllowance, { allowance: left, allowedMessages: allowed })
    },
  }
}

function isOver({ expiration }: Pick<BasicAllowance, 'expiration'>, now: bigint): boolean {
  return expiration !== undefined && expiration < now
}

/**
 * Returns the allowance in the current period: when the last one is over, with the new one's coins
 * (tryResetPeriod).
 */
function inPeriod(allowance: PeriodicAllowance, now: bigint): PeriodicAllowance {
  const { basic: limits, period, periodSpendLimit, periodReset } = allowance
  if (now < periodReset) return allowance
  const isLess = limits.spendLimit.length > 0 && subtractCoins(limits.spendLimit, periodSpendLimit) === undefined
  const next = periodReset + period
  // If the new period ended now, the next use in this block would begin another one.
  const reset = now >= next ? now + period : next
  return {
    ...allowance,
    periodCanSpend: isLess ? limits.spendLimit : periodSpendLimit,
    periodReset: reset > LAST_TIME ? LAST_TIME : reset,
  }
}

function checkBasic({ spendLimit, expiration }: BasicAllowance): SdkError | undefined {
  if (!areValidCoins(spendLimit)) return sdkError('invalidCoins', `send amount is invalid: ${coinsText(spendLimit)}`)
  if (expiration === undefined || expiration >= 0n) return undefined
  return feegrantError('invalidDuration', 'expiration time cannot be negative')
}

function checkPeriodic(allowance: PeriodicAllowance): SdkError | undefined {
  const { basic: limits, period, periodSpendLimit, periodCanSpend } = allowance
  const problem = checkBasic(limits)
  if (problem !== undefined) return problem
  if (!areValidCoins(periodSpendLimit) || periodSpendLimit.length === 0) {
    return sdkError('invalidCoins', `spend amount is invalid: ${coinsText(periodSpendLimit)}`)
  }
  if (!areValidCoins(periodCanSpend)) {
    return sdkError('invalidCoins', `can spend amount is invalid: ${coinsText(periodCanSpend)}`)
  }
  const denoms = new Set(limits.spendLimit.map(({ denom }) => denom))
  if (denoms.size > 0 && !periodSpendLimit.every(({ denom }) => denoms.has(denom))) {
    return sdkError('invalidCoins', 'period spend limit has different currency than basic spend limit')
  }
  if (exceeds(periodCanSpend, periodSpendLimit)) {
    return sdkError('invalidCoins', "can spend amount exceeds the period's spend limit")
  }
  if (period < 0n) return feegrantError('invalidDuration', 'negative clock step')
  // It would be over at each use, and the limit would bound nothing.
  return period === 0n ? feegrantError('invalidDuration', 'the period must be longer than zero') : undefined
}

/** Whether `coins` are more than `limit` in any denom. */
function exceeds(coins: readonly Coin[], limit: readonly Coin[]): boolean {
  return coins.length > 0 && subtractCoins(limit, coins) === undefined
}

function pack<T>(type: MessageType<T>, value: T): AnyValue {
  return { typeUrl: type.typeUrl, value: type.encode(value) }
}
