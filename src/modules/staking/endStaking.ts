import { type Address, toBech32 } from '../../primitives/address.ts'
import { coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { removeValidator } from './changeDelegation.ts'
import { endRotation, releaseFormerKey } from './keyRotation.ts'
import { payStakedCoins } from './pools.ts'
import { type Due, takeDue } from './queue.ts'
import { getRedelegation, putRedelegation } from './redelegations.ts'
import { operatorText } from './sdkForms.ts'
import { getUnbonding, putUnbonding } from './unbonding.ts'
import { getValidator, putValidator } from './validators.ts'
import { type PowerUpdate, takeValidatorUpdates } from './validatorUpdates.ts'

/**
 * The end of a block (x/staking/keeper/val_state_change.go, BlockValidatorUpdates). When nothing changed and nothing is due, it costs
 * two look-ups. The order is the SDK's:
 * 1. The validator set changes: a validator that can be bonded again leaves the queue before step 2 would make it unbonded.
 * 2. Validators whose time has come are unbonded; those without delegations are removed.
 * 3. Unbonding coins whose time has come are paid.
 * 4. Redelegations whose time has come are deleted.
 * 5. Operators may rotate their keys again, and former keys are free, where the time for that has come.
 */
export function endStaking(context: ModuleContext): readonly PowerUpdate[] {
  const { world, block } = context
  const updates = takeValidatorUpdates(context) // 1
  const due = takeDue(world.native, block.timeMs)
  const of = (kind: Due['kind']) => due.filter((one) => one.kind === kind)
  for (const { addresses } of of('validator')) completeValidator(context, addresses) // 2
  for (const { addresses } of of('unbonding')) completeUnbonding(context, addresses) // 3
  for (const { addresses } of of('redelegation')) completeRedelegation(context, addresses) // 4
  for (const { addresses } of of('rotation')) endRotation(world.native, addresses[0]!) // 5
  for (const { addresses } of of('formerKey')) releaseFormerKey(context, addresses[0]!)
  return updates
}

function completeValidator(context: ModuleContext, [operator]: readonly Address[]): void {
  const { native } = context.world
  const validator = operator && getValidator(native, operator)
  if (validator?.status !== 'unbonding') throw new Error('a validator that is not unbonding is due to be unbonded')
  const unbonded = { ...validator, status: 'unbonded', unbondingIds: [] } as const
  putValidator(native, unbonded)
  if (unbonded.delegatorShares === 0n) removeValidator(context, unbonded)
}

/** Pays what is due (CompleteUnbonding); does nothing when it was cancelled. */
function completeUnbonding(context: ModuleContext, [delegator, operator]: readonly Address[]): void {
  const { world, block } = context
  const unbonding = getUnbonding(world.native, delegator!, operator!)
  if (unbonding === undefined) return
  const matured = unbonding.entries.filter(({ completionTimeMs }) => completionTimeMs <= block.timeMs)
  if (matured.length === 0) return
  let paid = 0n
  for (const { balance } of matured) {
    if (balance === 0n) continue
    payStakedCoins(context, NOT_BONDED_POOL, delegator!, balance)
    paid += balance
  }
  putUnbonding(world.native, { ...unbonding, entries: unbonding.entries.filter((entry) => !matured.includes(entry)) })
  world.emitEvent(
    event('complete_unbonding', {
      amount: coinsText(coinsOf(paid)),
      validator: operatorText(operator!),
      delegator: toBech32(delegator!),
    }),
  )
}

function completeRedelegation(context: ModuleContext, addresses: readonly Address[]): void {
  const { world, block } = context
  const [delegator, source, destination] = addresses
  const redelegation = getRedelegation(world.native, delegator!, source!, destination!)
  const matured = redelegation?.entries.filter(({ completionTimeMs }) => completionTimeMs <= block.timeMs) ?? []
  if (redelegation === undefined || matured.length === 0) return
  const entries = redelegation.entries.filter((entry) => !matured.includes(entry))
  putRedelegation(world.native, { ...redelegation, entries })
  world.emitEvent(
    event('complete_redelegation', {
      amount: coinsText(coinsOf(matured.reduce((sum, { initialBalance }) => sum + initialBalance, 0n))),
      delegator: toBech32(delegator!),
      source_validator: operatorText(source!),
      destination_validator: operatorText(destination!),
    }),
  )
}
