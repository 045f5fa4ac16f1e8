import { type Address, toBech32 } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { doItem } from '../blockItem.ts'
import { budgetOf, isSpent } from '../budget.ts'
import { coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { NOT_BONDED_POOL } from '../moduleAccounts.ts'
import { afterValidatorUnbonded } from '../slashing/signingInfo.ts'
import { removeValidator } from './changeDelegation.ts'
import { endRotation, releaseFormerKey } from './keyRotation.ts'
import { payStakedCoins } from './pools.ts'
import { dequeue, dueEntries, type QueuedDue } from './queue.ts'
import { getRedelegation, putRedelegation } from './redelegations.ts'
import { operatorText } from './sdkForms.ts'
import { settleStake } from './settle.ts'
import { getUnbonding, putUnbonding } from './unbonding.ts'
import { consensusAddressOf, getValidator, putValidator } from './validators.ts'
import { type PowerUpdate, takeValidatorUpdates } from './validatorUpdates.ts'

/** Work that due entries may do in a block, in gas: about 30 ms. */
export const DUE_BUDGET_GAS = 2_000_000
/** Entries of the queue that are read at once: entries cannot be written during a walk. */
const BATCH = 100

/** How each kind ends, in the SDK's order. */
const COMPLETIONS: readonly (readonly [
  QueuedDue['kind'],
  (context: ModuleContext, addresses: readonly Address[]) => void,
])[] = [
  ['validator', completeValidator],
  ['unbonding', completeUnbonding],
  ['redelegation', completeRedelegation],
  ['rotation', ({ world }, [operator]) => endRotation(world.native, operator!)],
  ['formerKey', (context, [consensusAddress]) => releaseFormerKey(context, consensusAddress!)],
  [
    undefined,
    () => {
      throw new Error('the queue has an entry of an unknown kind')
    },
  ],
]

/**
 * Ends a block (x/staking/keeper/val_state_change.go, BlockValidatorUpdates). When nothing changed
 * and nothing is due, it costs two look-ups. The order is the SDK's:
 * 1. The validator set changes: a validator that can be bonded again leaves the queue before step 2 would make it unbonded.
 * 2. Due entries end: validators whose time has come are unbonded, and those without delegations
 *    are removed; unbonding coins are paid; redelegations are deleted; operators may rotate their
 *    keys again, and old keys are free. The SDK has no bound for this work; here entries beyond the
 *    block's budget wait in the queue, in order of time, for the next blocks. An entry that cannot
 *    end leaves the queue, and its object stays as it is: coins stay locked.
 */
export function endStaking(context: ModuleContext, dueGas: number = DUE_BUDGET_GAS): readonly PowerUpdate[] {
  const updates = takeValidatorUpdates(context) // 1
  endDue(context, dueGas) // 2
  return updates
}

function endDue(context: ModuleContext, gas: number): void {
  const { world, block } = context
  const { native } = world
  const budget = budgetOf(native, gas)
  for (;;) {
    const batch = dueEntries(native, block.timeMs, BATCH)
    for (const [kind, complete] of COMPLETIONS) {
      for (const due of batch) {
        if (due.kind !== kind) continue
        if (isSpent(native, budget)) return
        dequeue(native, due)
        doItem(context, { module: 'staking', queued: bytesToHex(due.key) }, () => complete(context, due.addresses))
      }
    }
    if (batch.length < BATCH) return
  }
}

function completeValidator(context: ModuleContext, [operator]: readonly Address[]): void {
  const { native } = context.world
  const validator = operator && getValidator(native, operator)
  if (validator?.status !== 'unbonding') throw new Error('a validator that is not unbonding is due to be unbonded')
  const unbonded = { ...validator, status: 'unbonded', unbondingIds: [] } as const
  putValidator(native, unbonded)
  afterValidatorUnbonded(context, { address: consensusAddressOf(unbonded), operator: unbonded.operator })
  if (unbonded.delegatorShares === 0n) removeValidator(context, unbonded)
}

/** Pays due coins (CompleteUnbonding); does nothing when the unbonding was cancelled. */
function completeUnbonding(context: ModuleContext, [delegator, operator]: readonly Address[]): void {
  const { world, block } = context
  settleStake(context, delegator!, operator!)
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
  settleStake(context, delegator!, destination!)
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
