import { type Address, parseAddress } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, multiply, truncate } from '../../primitives/decimal.ts'
import { bytes, decimal, defineMessage, uint32 } from '../../primitives/protoSchema.ts'
import { burnCoins, sendCoins } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { fundCommunityPool } from '../distribution/communityPool.ts'
import { DISTRIBUTION, GOVERNANCE } from '../moduleAccounts.ts'
import type { SdkError } from '../sdkError.ts'
import { changeDepositsHeld, depositsOf, totalOf } from './deposits.ts'
import { depositKey, inactiveQueueKey, voteKey } from './keys.ts'
import type { Budget } from './tally.ts'
import { votesOf } from './votes.ts'

/** What becomes of the deposits of a proposal that ended: a part is charged, the rest goes back. */
export interface DepositRule {
  /** part of each deposit that is kept back: 0 refunds, 1 burns everything */
  readonly charge: Decimal
  /** who gets what is kept back; undefined burns it */
  readonly destination: Address | undefined
}

/** The rule as it waits in the queue. */
const Cleanup = defineMessage('coind.gov.Cleanup', {
  /** 1, so that an entry is never empty */
  version: uint32(1),
  charge: decimal(2),
  destination: bytes(3),
})

/**
 * Settles deposits of a proposal that ended, then removes votes that nobody counts. What the budget does not allow waits in
 * the queue of inactive proposals, so that no block has more to do than others because a proposal had many depositors.
 */
export function cleanUp(context: ModuleContext, id: bigint, rule: DepositRule, budget: Budget): void {
  const { native } = context.world
  settleDeposits(context, id, rule, budget)
  const voters: Address[] = []
  if (budget.left > 0) {
    for (const { voter } of votesOf(native, id)) {
      if (budget.left-- <= 0) break
      voters.push(parseAddress(voter))
    }
  }
  for (const voter of voters) native.delete(voteKey(id, voter))
  const queued = inactiveQueueKey(0, id)
  if (isClean(context, id)) {
    if (native.get(queued) !== undefined) native.delete(queued)
  } else {
    const { charge, destination } = rule
    native.set(queued, Cleanup.encode({ version: 1, charge, destination: destination ?? new Uint8Array(0) }))
  }
}

/** Goes on with what `cleanUp` left. @param value of the queue's entry */
export function continueCleanUp(context: ModuleContext, id: bigint, value: Uint8Array, budget: Budget): void {
  const { charge, destination } = Cleanup.decode(value)
  cleanUp(context, id, { charge, destination: destination.length === 0 ? undefined : destination }, budget)
}

/** DeleteAndBurnDeposits, RefundAndDeleteDeposits and ChargeDeposit of x/gov/keeper/deposit.go. */
function settleDeposits(
  context: ModuleContext,
  id: bigint,
  { charge, destination }: DepositRule,
  budget: Budget,
): void {
  const { native } = context.world
  const settled: { readonly depositor: Address; readonly amount: bigint }[] = []
  for (const { depositor, amount } of depositsOf(native, id)) {
    if (budget.left-- <= 0) break
    settled.push({ depositor: parseAddress(depositor), amount: totalOf(amount) })
  }
  changeDepositsHeld(native, -settled.reduce((sum, { amount }) => sum + amount, 0n))
  let kept = 0n
  for (const { depositor, amount } of settled) {
    const part = truncate(multiply(decimalOf(amount), charge))
    kept += part
    if (amount > part) mustMove(sendCoins(context, GOVERNANCE, depositor, amount - part))
    native.delete(depositKey(id, depositor))
  }
  if (kept === 0n) return
  if (destination === undefined) mustMove(burnCoins(context, GOVERNANCE, kept))
  else if (equalBytes(destination, DISTRIBUTION)) mustMove(fundCommunityPool(context, GOVERNANCE, kept))
  else mustMove(sendCoins(context, GOVERNANCE, destination, kept))
}

function isClean({ world: { native } }: ModuleContext, id: bigint): boolean {
  for (const _ of depositsOf(native, id)) return false
  for (const _ of votesOf(native, id)) return false
  return true
}

/** @throws Error (a bug) the governance account holds all deposits */
function mustMove(error: SdkError | undefined): void {
  if (error !== undefined) throw new Error(`a deposit could not be moved: ${error.message}`)
}
