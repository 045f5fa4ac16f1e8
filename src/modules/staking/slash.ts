import type { Address } from '../../primitives/address.ts'
import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, divideRoundedUp, multiply, ONE, truncate } from '../../primitives/decimal.ts'
import { type Budget, budgetOf } from '../budget.ts'
import type { ModuleContext } from '../context.ts'
import { beforeValidatorSlashed } from '../distribution/hooks.ts'
import { departedSince } from './departures.ts'
import { burnFromPool, poolOf } from './pools.ts'
import { dueEntries } from './queue.ts'
import { getRedelegation } from './redelegations.ts'
import { addPendingSlash, SLASH_BUDGET_GAS, settleSlashes } from './settle.ts'
import { getUnbonding } from './unbonding.ts'
import { getValidatorByConsensus, POWER_REDUCTION_ACOIN, putValidator } from './validators.ts'

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
 * Burns `fraction` of the stake that a validator had at its fault (x/staking/keeper/slash.go,
 * Slash). A validator that is unknown (removed since) or unbonded no longer has such stake.
 * 1. Unbonding and redelegation entries that left it since the fault owe `fraction` of their
 *    initial balances. The sum of these is known; the entries pay one by one, in this block as far
 *    as `budget` allows, and before their coins can move.
 * 2. The validator owes the rest from its own tokens; it pays at most all of them. Distribution's
 *    hook comes before they are burnt, since it ends the period of the rewards.
 * @param budget entries beyond it are left to the next blocks
 * @returns acoin burnt from the validator's own tokens
 * @throws RangeError (a bug) for a negative fraction or one above 1, or a fault in the future
 */
export function slash(
  context: ModuleContext,
  { consensusAddress, height, power, fraction }: Infraction,
  budget: Budget = budgetOf(context.world.native, SLASH_BUDGET_GAS),
): bigint {
  const { world, block } = context
  const { native } = world
  if (fraction < 0n || fraction > ONE) throw new RangeError('a slash fraction is from 0 to 1')
  if (height > block.height) throw new RangeError(`a fault at height ${height} is not in the past of ${block.height}`)
  const known = getValidatorByConsensus(native, consensusAddress)
  if (known === undefined || known.status === 'unbonded') return 0n
  const { operator } = known
  let owed = truncate(multiply(decimalOf(power * POWER_REDUCTION_ACOIN), fraction))

  // 1
  const left = height < block.height ? slashableSince(context, operator, height) : 0n
  if (left > 0n && fraction > 0n) {
    owed -= truncate(fraction * left)
    addPendingSlash(context, operator, height, fraction)
    settleSlashes(context, budget)
  }

  // 2. Slashes that were pending may have taken stake that came to this validator.
  const validator = getValidatorByConsensus(native, consensusAddress)
  if (validator === undefined) return 0n
  const burnt = owed < validator.tokens ? owed : validator.tokens
  if (burnt <= 0n) return 0n
  beforeValidatorSlashed(context, operator, divideRoundedUp(decimalOf(burnt), decimalOf(validator.tokens)))
  putValidator(native, { ...validator, tokens: validator.tokens - burnt })
  burnFromPool(context, poolOf(validator.status), burnt)
  return burnt
}

/** Entries of the queue that a slash checks for already due ones. */
const DUE_LOOKED_AT = 500

/**
 * Returns the acoin that left a validator at a height or later, in initial balances of entries that
 * are not due yet. After many others that are due, the remaining due ones count, too: the validator
 * owes that much less.
 */
function slashableSince({ world: { native }, block }: ModuleContext, operator: Address, height: number): bigint {
  let sum = departedSince(native, operator, height)
  if (sum === 0n) return 0n
  const seen = new Set<string>()
  for (const { kind, addresses } of dueEntries(native, block.timeMs, DUE_LOOKED_AT)) {
    const [delegator, source, destination] = addresses
    if ((kind !== 'unbonding' && kind !== 'redelegation') || !equalBytes(source!, operator)) continue
    const name = `${kind} ${addresses.map(bytesKey).join()}`
    if (seen.has(name)) continue
    seen.add(name)
    const record =
      kind === 'unbonding'
        ? getUnbonding(native, delegator!, operator)
        : getRedelegation(native, delegator!, operator, destination!)
    for (const { creationHeight, completionTimeMs, initialBalance } of record?.entries ?? []) {
      if (creationHeight >= height && completionTimeMs <= block.timeMs) sum -= initialBalance
    }
  }
  return sum
}
