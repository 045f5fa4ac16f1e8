import type { Address } from '../../primitives/address.ts'
import { type DelegatedCoins, getDelegated, getVesting, hasSchedule, putDelegated } from '../../state/vesting.ts'
import { type TransferResult, transfer } from '../bank/ledger.ts'
import type { ModuleContext } from '../context.ts'

/*
 * Delegated coins of a vesting account. It delegates its locked coins first, so that its spendable
 * coins stay; coins that come back first count as those that were free
 * (x/auth/vesting/types/vesting_account.go, x/bank/keeper/keeper.go). A slash burns staked coins
 * and changes nothing here, as in the SDK: locked coins that are burnt count as delegated
 * permanently.
 */

/** Moves coins of an account, locked or not, into a pool of staking. @param amount acoin, above 0 */
export function delegateCoins(
  context: ModuleContext,
  delegator: Address,
  pool: Address,
  amount: bigint,
): TransferResult {
  const { world } = context
  const balance = world.getBalance(delegator)
  if (balance < amount) return { ok: false, reason: 'insufficientFunds', balance }
  trackDelegation(context, delegator, amount)
  world.subDelegated(delegator, amount)
  world.addBalance(pool, amount)
  return { ok: true }
}

/** Moves coins from a pool of staking back to their account. @param amount acoin, above 0 */
export function undelegateCoins(
  { world }: ModuleContext,
  pool: Address,
  delegator: Address,
  amount: bigint,
): TransferResult {
  const moved = transfer(world, pool, delegator, amount)
  if (moved.ok && world.hasVesting() && hasSchedule(world.native, delegator)) {
    const { vesting, free } = getDelegated(world.native, delegator)
    const ofFree = smaller(free, amount)
    const ofVesting = smaller(vesting, amount - ofFree)
    putDelegated(world.native, delegator, { vesting: vesting - ofVesting, free: free - ofFree })
  }
  return moved
}

/**
 * TrackDelegation: the part of `amount` that still vests and is not delegated counts as vesting,
 * the rest as free.
 */
function trackDelegation({ world, block }: ModuleContext, delegator: Address, amount: bigint): void {
  if (!world.hasVesting()) return
  const vesting = getVesting(world.native, delegator, BigInt(Math.floor(block.timeMs / 1000)))
  if (vesting === undefined) return
  putDelegated(world.native, delegator, delegatedParts(vesting, getDelegated(world.native, delegator), amount))
}

/**
 * Returns the delegated coins after `amount` acoin more are delegated.
 * @param vesting acoin that still vest, delegated or not
 */
export function delegatedParts(vesting: bigint, delegated: DelegatedCoins, amount: bigint): DelegatedCoins {
  const undelegated = vesting - delegated.vesting
  const ofVesting = undelegated > 0n ? smaller(undelegated, amount) : 0n
  return { vesting: delegated.vesting + ofVesting, free: delegated.free + amount - ofVesting }
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
