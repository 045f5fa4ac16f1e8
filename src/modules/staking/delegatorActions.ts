import { type Address, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, formatDecimal } from '../../primitives/decimal.ts'
import { coinText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { addDelegation, removeDelegation, sharesToGiveBack } from './changeDelegation.ts'
import { stakingError } from './errors.ts'
import { STAKING_PARAMS, unbondingTimeMs } from './params.ts'
import { moveBetweenPools, poolOf } from './pools.ts'
import { addRedelegationEntry, getRedelegation, hasReceivingRedelegation } from './redelegations.ts'
import { operatorText, timeText } from './sdkForms.ts'
import { settleStake } from './settle.ts'
import { hasInvalidPrice } from './shares.ts'
import { addUnbondingEntry, getUnbonding, putUnbonding } from './unbonding.ts'
import { getValidator, type Validator } from './validators.ts'

// Actions of a delegator: delegate, undelegate, cancel that, redelegate. Messages and precompiles
// call these.

/** A delegator's request for an amount of acoin at a validator. */
export interface StakeAmount {
  readonly delegator: Address
  readonly operator: Address
  /** acoin */
  readonly amount: bigint
}

/** Executes MsgDelegate (x/staking/keeper/msg_server.go). */
export function delegate(context: ModuleContext, stake: StakeAmount): Outcome<{ readonly newShares: Decimal }> {
  const { delegator, operator, amount } = stake
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid delegation amount')
  settleStake(context, delegator, operator)
  const newShares = addDelegation(context, { ...stake, from: 'delegator' })
  if (isSdkError(newShares)) return newShares
  context.world.emitEvent(
    event('delegate', {
      validator: operatorText(operator),
      delegator: toBech32(delegator),
      amount: coinText(amount),
      new_shares: formatDecimal(newShares),
    }),
  )
  return { newShares }
}

/** Coins that are unbonding. */
interface Undelegated {
  readonly completionTimeMs: number
  readonly creationHeight: number
  /** acoin that will be paid unless they are slashed; rounding may make it less than was asked for */
  readonly amount: bigint
}

/** Executes MsgUndelegate (x/staking/keeper/msg_server.go and delegation.go, Undelegate). */
export function undelegate(context: ModuleContext, { delegator, operator, amount }: StakeAmount): Outcome<Undelegated> {
  const { world, block } = context
  const { native } = world
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid shares amount')
  settleStake(context, delegator, operator)
  const shares = sharesToGiveBack(native, delegator, operator, amount)
  if (isSdkError(shares)) return shares
  const entries = getUnbonding(native, delegator, operator)?.entries.length ?? 0
  if (entries >= STAKING_PARAMS.get(native).maxEntries) return stakingError('maxUnbondingDelegationEntries')

  const { status } = getValidator(native, operator)!
  const paid = removeDelegation(context, delegator, operator, shares)
  if (isSdkError(paid)) return paid
  moveBetweenPools(context, poolOf(status), NOT_BONDED_POOL, paid)

  const completionTimeMs = block.timeMs + unbondingTimeMs(native)
  const creationHeight = block.height
  addUnbondingEntry(native, delegator, operator, { creationHeight, completionTimeMs, balance: paid })
  world.emitEvent(
    event('unbond', {
      validator: operatorText(operator),
      delegator: toBech32(delegator),
      amount: coinText(paid),
      completion_time: timeText(completionTimeMs),
    }),
  )
  return { completionTimeMs, creationHeight, amount: paid }
}

/**
 * Executes MsgCancelUnbondingDelegation (x/staking/keeper/msg_server.go): delegates coins that are
 * unbonding to the same validator again.
 */
export function cancelUnbonding(
  context: ModuleContext,
  { delegator, operator, amount, creationHeight }: StakeAmount & { readonly creationHeight: number },
): SdkError | undefined {
  const { world, block } = context
  const { native } = world
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid amount')
  if (creationHeight <= 0) return sdkError('invalidRequest', 'invalid height')
  settleStake(context, delegator, operator)
  const validator = getValidator(native, operator)
  if (validator === undefined) return stakingError('noValidatorFound')
  if (hasInvalidPrice(validator)) return stakingError('delegatorShareExRateInvalid')
  if (validator.jailed) return stakingError('validatorJailed')
  const unbonding = getUnbonding(native, delegator, operator)
  if (unbonding === undefined) {
    const where = `delegator ${toBech32(delegator)} not found for validator ${operatorText(operator)}`
    return sdkError('notFound', `unbonding delegation with ${where}`)
  }
  const { entries, settledTo } = unbonding
  const found = entries.find((entry) => entry.creationHeight === creationHeight)
  if (found === undefined) {
    return sdkError('notFound', `unbonding delegation entry is not found at block height ${creationHeight}`)
  }
  if (found.balance < amount) {
    return sdkError('invalidRequest', 'amount is greater than the unbonding delegation entry balance')
  }
  // It is paid out at the end of this block.
  if (found.completionTimeMs < block.timeMs) {
    return sdkError('invalidRequest', 'unbonding delegation is already processed')
  }

  const added = addDelegation(context, { delegator, operator, amount, from: 'unbonding' })
  if (isSdkError(added)) return added
  const left = { ...found, balance: found.balance - amount, initialBalance: found.initialBalance - amount }
  const rest = entries.flatMap((entry) => (entry !== found ? [entry] : left.balance === 0n ? [] : [left]))
  putUnbonding(native, { delegator, operator, entries: rest, settledTo })
  world.emitEvent(
    event('cancel_unbonding_delegation', {
      amount: coinText(amount),
      validator: operatorText(operator),
      delegator: toBech32(delegator),
      creation_height: creationHeight.toString(),
    }),
  )
  return undefined
}

interface RedelegateAmount {
  readonly delegator: Address
  readonly source: Address
  readonly destination: Address
  /** acoin */
  readonly amount: bigint
}

/** The value of Go's time.Time before it is set, 0001-01-01T00:00:00Z: the answer when the stake is not slashable from the start. */
export const NO_TIME_MS = -62_135_596_800_000

/**
 * Executes MsgBeginRedelegate (x/staking/keeper/msg_server.go and delegation.go,
 * BeginRedelegation). Stake moves at once.
 * @returns until when it can be slashed for faults of the source; {@link NO_TIME_MS} when the source was unbonded
 */
export function beginRedelegate(
  context: ModuleContext,
  { delegator, source, destination, amount }: RedelegateAmount,
): Outcome<{ readonly completionTimeMs: number }> {
  const { native } = context.world
  if (amount <= 0n) return sdkError('invalidRequest', 'invalid shares amount')
  settleStake(context, delegator, source)
  settleStake(context, delegator, destination)
  const shares = sharesToGiveBack(native, delegator, source, amount)
  if (isSdkError(shares)) return shares
  if (equalBytes(source, destination)) return stakingError('selfRedelegation')
  if (getValidator(native, destination) === undefined) return stakingError('badRedelegationDst')
  if (hasReceivingRedelegation(native, delegator, source)) return stakingError('transitiveRedelegation')
  const entries = getRedelegation(native, delegator, source, destination)?.entries.length ?? 0
  if (entries >= STAKING_PARAMS.get(native).maxEntries) return stakingError('maxRedelegationEntries')

  const from = getValidator(native, source)!
  const paid = removeDelegation(context, delegator, source, shares)
  if (isSdkError(paid)) return paid
  if (paid === 0n) return stakingError('tinyRedelegationAmount')
  const sharesDestination = addDelegation(context, {
    delegator,
    operator: destination,
    amount: paid,
    from: from.status,
  })
  if (isSdkError(sharesDestination)) return sharesDestination

  const end = slashableUntil(context, from)
  if (end !== undefined) {
    const entry = { ...end, initialBalance: paid, sharesDestination }
    addRedelegationEntry(native, { delegator, source, destination }, entry)
  }
  const completionTimeMs = end?.completionTimeMs ?? NO_TIME_MS
  context.world.emitEvent(
    event('redelegate', {
      source_validator: operatorText(source),
      destination_validator: operatorText(destination),
      amount: coinText(amount),
      completion_time: timeText(completionTimeMs),
    }),
  )
  return { completionTimeMs }
}

/**
 * Returns from when and until when stake is slashable for faults of the validator that it left;
 * undefined if it is not.
 */
function slashableUntil(
  { world: { native }, block }: ModuleContext,
  { status, unbondingHeight, unbondingTimeMs: unbondedAtMs }: Validator,
): { readonly creationHeight: number; readonly completionTimeMs: number } | undefined {
  if (status === 'unbonded') return undefined
  if (status === 'unbonding') return { creationHeight: unbondingHeight, completionTimeMs: unbondedAtMs }
  return { creationHeight: block.height, completionTimeMs: block.timeMs + unbondingTimeMs(native) }
}
