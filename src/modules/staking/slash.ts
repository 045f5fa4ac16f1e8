import { type Decimal, decimalOf, divideRoundedUp, multiply, ONE, truncate } from '../../primitives/decimal.ts'
import type { ModuleContext } from '../context.ts'
import { beforeValidatorSlashed } from '../distribution/hooks.ts'
import { NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { burnFromPool, poolOf } from './pools.ts'
import { redelegationsSince } from './redelegations.ts'
import { isSlashable, slashRedelegation } from './slashRedelegation.ts'
import { putUnbonding, type UnbondingDelegation, unbondingsSince } from './unbonding.ts'
import { getValidatorByConsensus, POWER_REDUCTION_ACOIN, putValidator } from './validators.ts'

/** A fault that stake is burnt for. */
export interface Infraction {
  readonly consensusAddress: Uint8Array
  /** of the fault, or before it: what left the validator from then on is slashed too */
  readonly height: number
  /** voting power that the validator had */
  readonly power: bigint
  /** at most 1 */
  readonly fraction: Decimal
}

/**
 * Burns `fraction` of the stake that a validator had at its fault (x/staking/keeper/slash.go, Slash): first of what has left it since
 * by unbonding and redelegation, each entry by `fraction` of what it began with, and the rest of the validator itself, as far
 * as it has it. A validator that is unknown (removed since) or unbonded has no such stake any more.
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
    for (const unbonding of unbondingsSince(native, operator, height)) {
      owed -= slashUnbonding(context, unbonding, height, fraction)
    }
    for (const redelegation of redelegationsSince(native, operator, height)) {
      owed -= slashRedelegation(context, redelegation, height, fraction)
    }
  }

  const burnt = owed < validator.tokens ? owed : validator.tokens
  if (burnt <= 0n) return 0n
  beforeValidatorSlashed(context, operator, divideRoundedUp(decimalOf(burnt), decimalOf(validator.tokens)))
  putValidator(native, { ...validator, tokens: validator.tokens - burnt })
  burnFromPool(context, poolOf(validator.status), burnt)
  return burnt
}

/** @returns acoin that were to be slashed, also where the entries held less (SlashUnbondingDelegation) */
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
