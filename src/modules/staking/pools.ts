import type { Address } from '../../primitives/address.ts'
import { burnCoins, emitCoinReceived, emitCoinSpent, sendCoins, transferError } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import { delegateCoins, undelegateCoins } from '../vesting/delegatedCoins.ts'
import type { BondStatus } from './validators.ts'

/**
 * Returns the account that holds the coins of validators with this status; those of unbonding
 * delegations are in the not bonded one.
 */
export function poolOf(status: BondStatus): Address {
  return status === 'bonded' ? BONDED_POOL : NOT_BONDED_POOL
}

/** Moves staked coins to the pool of the new status. @throws Error (a bug) when the pool holds too little */
export function moveBetweenPools(context: ModuleContext, from: Address, to: Address, amount: bigint): void {
  if (amount === 0n || from === to) return
  mustSucceed(sendCoins(context, from, to, amount))
}

/** Changing an account, with its events: work that is not in the native store, in gas. */
const ACCOUNT_GAS = 2_500

/** Destroys slashed coins. @throws Error (a bug) when the pool holds too little */
export function burnFromPool(context: ModuleContext, pool: Address, amount: bigint): void {
  if (amount === 0n) return
  context.world.native.work.add(ACCOUNT_GAS)
  mustSucceed(burnCoins(context, pool, amount))
}

/**
 * Moves coins from an account to a pool, locked ones too. Emits the events of DelegateCoins
 * (x/bank/keeper/keeper.go), and no transfer.
 */
export function stakeCoins(
  context: ModuleContext,
  delegator: Address,
  pool: Address,
  amount: bigint,
): SdkError | undefined {
  const moved = delegateCoins(context, delegator, pool, amount)
  if (!moved.ok) return transferError(moved, amount)
  emitMove(context, delegator, pool, amount)
  return undefined
}

/** Pays coins of a pool back to their account, with the events of UndelegateCoins. @throws Error (a bug) when the pool holds too little */
export function payStakedCoins(context: ModuleContext, pool: Address, delegator: Address, amount: bigint): void {
  context.world.native.work.add(2 * ACCOUNT_GAS)
  const moved = undelegateCoins(context, pool, delegator, amount)
  mustSucceed(moved.ok ? undefined : transferError(moved, amount))
  emitMove(context, pool, delegator, amount)
}

function emitMove({ world }: ModuleContext, from: Address, to: Address, amount: bigint): void {
  emitCoinSpent(world, from, amount)
  emitCoinReceived(world, to, amount)
}

function mustSucceed(failure: SdkError | undefined): void {
  if (failure !== undefined) throw new Error(`a pool of staking holds too little: ${failure.message}`)
}
