import { type Decimal, decimalOf, divideRoundedUp, multiply, ONE, truncate } from '../../primitives/decimal.ts'
import type { ModuleContext } from '../context.ts'
import { beforeValidatorSlashed } from '../distribution/hooks.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { isSdkError } from '../sdkError.ts'
import { removeDelegation } from './changeDelegation.ts'
import { getDelegation } from './delegations.ts'
import { burnFromPool, poolOf } from './pools.ts'
import { type Redelegation, redelegationsSince } from './redelegations.ts'
import { getUnbonding, putUnbonding, type UnbondingDelegation, unbondingsSince } from './unbonding.ts'
import { getValidator, getValidatorByConsensus, POWER_REDUCTION_ACOIN, putValidator } from './validators.ts'

/** A fault that stake is burnt for. */
export interface Infraction {
  readonly consensusAddress: Uint8Array
  /** of the fault, or before it: stake that left the validator since this height is slashed too */
  readonly height: number
  /** voting power that the validator had */
  readonly power: bigint
  /** at most 1 */
  readonly fraction: Decimal
}

/**
 * Burns `fraction` of the stake that a validator had at its fault (x/staking/keeper/slash.go, Slash). A validator that is unknown
 * (removed since) or unbonded has no such stake any more.
 * 1. Each unbonding entry that left it since the fault owes `fraction` of its initial balance.
 * 2. Each redelegation entry that left it since the fault owes `fraction` of its initial balance.
 * 3. The validator owes the rest of its own tokens, so it comes last; it pays at most what it has. Distribution's hook comes before
 *    they are burnt, since it ends the period of the rewards.
 * @returns acoin burnt of the validator itself
 * @throws RangeError (a bug) for a negative fraction or one above 1, or a fault in the future
 */
export function slash(context: ModuleContext, { consensusAddress, height, power, fraction }: Infraction): bigint {
  const { world, block } = context
  const { native } = world
  if (fraction < 0n || fraction > ONE) throw new RangeError('a slash fraction is from 0 to 1')
  if (height > block.height) throw new RangeError(`a fault at height ${height} is not in the past of ${block.height}`)
  const validator = getValidatorByConsensus(native, consensusAddress)
  if (validator === undefined || validator.status === 'unbonded') return 0n
  const { operator } = validator
  let owed = truncate(multiply(decimalOf(power * POWER_REDUCTION_ACOIN), fraction))

  if (height < block.height) {
    // 1
    for (const unbonding of unbondingsSince(native, operator, height)) {
      owed -= slashUnbonding(context, unbonding, height, fraction)
    }
    // 2
    for (const redelegation of redelegationsSince(native, operator, height)) {
      owed -= slashRedelegation(context, redelegation, height, fraction)
    }
  }

  const burnt = owed < validator.tokens ? owed : validator.tokens // 3
  if (burnt <= 0n) return 0n
  beforeValidatorSlashed(context, operator, divideRoundedUp(decimalOf(burnt), decimalOf(validator.tokens)))
  putValidator(native, { ...validator, tokens: validator.tokens - burnt })
  burnFromPool(context, poolOf(validator.status), burnt)
  return burnt
}

/**
 * Burns `fraction` of what is unbonding (SlashUnbondingDelegation).
 * @returns acoin that were to be slashed, also when the entries had less
 */
function slashUnbonding(
  context: ModuleContext,
  unbonding: UnbondingDelegation,
  infractionHeight: number,
  fraction: Decimal,
): bigint {
  let owed = 0n
  let burnt = 0n
  const entries = unbonding.entries.map((entry) => {
    if (!isSlashable(entry, infractionHeight, context)) return entry
    const amount = truncate(fraction * entry.initialBalance)
    owed += amount
    const taken = amount < entry.balance ? amount : entry.balance
    burnt += taken
    return { ...entry, balance: entry.balance - taken }
  })
  if (burnt === 0n) return owed
  putUnbonding(context.world.native, { ...unbonding, entries })
  burnFromPool(context, NOT_BONDED_POOL, burnt)
  return owed
}

/**
 * Burns `fraction` of stake that moved on to another validator (x/staking/keeper/slash.go, SlashRedelegation, with its fix for stake
 * that was undelegated there): first of what the delegator is taking out of the destination, then of its delegation there.
 * Where unbonding coins paid a part, the SDK takes the delegation's whole share all the same and so burns more than the
 * fraction; here the delegation gives only the part that is left.
 * @returns acoin that were to be slashed, also when there was less
 */
function slashRedelegation(
  context: ModuleContext,
  { delegator, destination, entries }: Redelegation,
  infractionHeight: number,
  fraction: Decimal,
): bigint {
  const { native } = context.world
  let owed = 0n
  let bondedBurnt = 0n
  let notBondedBurnt = 0n
  for (const entry of entries) {
    if (!isSlashable(entry, infractionHeight, context)) continue
    const amount = truncate(fraction * entry.initialBalance)
    owed += amount
    const taken = takeFromUnbonding(context, { delegator, destination, amount, infractionHeight })
    notBondedBurnt += taken
    if (taken === amount) continue

    const share = multiply(fraction, entry.sharesDestination)
    const wanted = (share * (amount - taken)) / amount
    const delegation = getDelegation(native, delegator, destination)
    if (wanted === 0n || delegation === undefined) continue
    // Read before the shares are removed: with its last shares an unbonded validator is removed, too.
    const { status } = getValidator(native, destination)!
    const shares = wanted < delegation.shares ? wanted : delegation.shares
    const paid = removeDelegation(context, delegator, destination, shares)
    if (isSdkError(paid)) throw new Error(`a redelegation cannot be slashed: ${paid.message}`)
    if (status === 'bonded') bondedBurnt += paid
    else notBondedBurnt += paid
  }
  burnFromPool(context, BONDED_POOL, bondedBurnt)
  burnFromPool(context, NOT_BONDED_POOL, notBondedBurnt)
  return owed
}

/** Takes up to `amount` acoin out of what a delegator is undelegating. @returns acoin taken, for the caller to burn */
function takeFromUnbonding(
  context: ModuleContext,
  {
    delegator,
    destination,
    amount,
    infractionHeight,
  }: Pick<Redelegation, 'delegator' | 'destination'> & { readonly amount: bigint; readonly infractionHeight: number },
): bigint {
  const unbonding = getUnbonding(context.world.native, delegator, destination)
  if (unbonding === undefined) return 0n
  let left = amount
  const entries = unbonding.entries.map((entry) => {
    if (!isSlashable(entry, infractionHeight, context)) return entry
    const taken = left < entry.balance ? left : entry.balance
    left -= taken
    return { ...entry, balance: entry.balance - taken }
  })
  if (left < amount) putUnbonding(context.world.native, { ...unbonding, entries })
  return amount - left
}

/** Whether the stake of an entry was with the validator at the fault, and is not free yet. */
function isSlashable(
  entry: { readonly creationHeight: number; readonly completionTimeMs: number },
  infractionHeight: number,
  { block }: Pick<ModuleContext, 'block'>,
): boolean {
  return entry.creationHeight >= infractionHeight && entry.completionTimeMs > block.timeMs
}
