import type { Address } from '../../primitives/address.ts'
import { transfer } from '../bank/ledger.ts'
import { burnCoins, emitCoinReceived, emitCoinSpent, sendCoins, transferError } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import type { BondStatus } from './validators.ts'

/** The account that holds the coins of validators with this status; those of unbonding delegations are in the not bonded one. */
export function poolOf(status: BondStatus): Address {
  return status === 'bonded' ? BONDED_POOL : NOT_BONDED_POOL
}

/** Moves staked coins to the pool of the new status. @throws Error (a bug) when the pool holds too little */
export function moveBetweenPools(context: ModuleContext, from: Address, to: Address, amount: bigint): void {
  if (amount === 0n || from === to) return
  mustSucceed(sendCoins(context, from, to, amount))
}

/** Destroys slashed coins. @throws Error (a bug) when the pool holds too little */
export function burnFromPool(context: ModuleContext, pool: Address, amount: bigint): void {
  if (amount === 0n) return
  mustSucceed(burnCoins(context, pool, amount))
}

/**
 * Moves coins between an account and a pool, with the events of DelegateCoins and UndelegateCoins (x/bank/keeper/keeper.go), which are no
 * transfer.
 */
export function moveStakedCoins(
  { world }: ModuleContext,
  from: Address,
  to: Address,
  amount: bigint,
): SdkError | undefined {
  const moved = transfer(world, from, to, amount)
  if (!moved.ok) return transferError(moved, amount)
  emitCoinSpent(world, from, amount)
  emitCoinReceived(world, to, amount)
  return undefined
}

function mustSucceed(failure: SdkError | undefined): void {
  if (failure !== undefined) throw new Error(`a pool of staking holds too little: ${failure.message}`)
}
