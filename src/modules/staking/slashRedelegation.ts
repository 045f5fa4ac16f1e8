import { type Decimal, multiply, truncate } from '../../primitives/decimal.ts'
import type { ModuleContext } from '../context.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { isSdkError } from '../sdkError.ts'
import { getDelegation } from './delegations.ts'
import { burnFromPool } from './pools.ts'
import type { Redelegation } from './redelegations.ts'
import { removeDelegation } from './removeDelegation.ts'
import { getUnbonding, putUnbonding } from './unbonding.ts'
import { getValidator } from './validators.ts'

/** Whether stake that left a validator in this entry was there at the fault, and has not got away. */
export function isSlashable(
  entry: { readonly creationHeight: number; readonly completionTimeMs: number },
  infractionHeight: number,
  { block }: Pick<ModuleContext, 'block'>,
): boolean {
  return entry.creationHeight >= infractionHeight && entry.completionTimeMs > block.timeMs
}

/**
 * Burns `fraction` of stake that moved on to another validator (x/staking/keeper/slash.go, SlashRedelegation, with its fix for stake
 * that was undelegated there): first of what the delegator is taking out of the destination, then of its delegation there.
 * Where unbonding coins paid a part, the SDK takes the delegation's whole share all the same and so burns more than the
 * fraction; here the delegation gives only the part that is left.
 * @returns acoin that were to be slashed, also where there was less
 */
export function slashRedelegation(
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
    // Asked for before, since the last shares of an unbonded validator take its record with them.
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
