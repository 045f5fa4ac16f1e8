import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, multiply, truncate } from '../../primitives/decimal.ts'
import { bytes, decimal, defineMessage, uint32 } from '../../primitives/protoSchema.ts'
import { burnCoins, sendCoins } from '../bank/send.ts'
import { acoinOf, areValidCoins, BASE_DENOM, type Coin, coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { fundCommunityPool } from '../distribution/feePool.ts'
import { DISTRIBUTION, GOVERNANCE } from '../moduleAccounts.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { govError } from './errors.ts'
import { GOV_PARAMS, minDepositAcoin, minSingleDepositAcoin, periodMs } from './params.ts'
import {
  activeQueueKey,
  changeTotalDeposits,
  deleteDeposit,
  deleteVote,
  depositsOf,
  getDeposit,
  getProposal,
  getTally,
  inactiveQueueKey,
  nanosOf,
  proposalTimeMs,
  putDeposit,
  putProposal,
  totalOf,
  votesOf,
} from './state.ts'
import { DEPOSIT_PERIOD, type Proposal, VOTING_PERIOD } from './types.ts'
import type { Budget } from './votes.ts'

interface DepositInput {
  readonly proposalId: bigint
  readonly depositor: Address
  readonly amount: readonly Coin[]
}

/** Adds to a proposal's deposit (MsgDeposit); its voting period starts when the deposit is large enough. */
export function deposit(context: ModuleContext, { proposalId, depositor, amount }: DepositInput): SdkError | undefined {
  const invalid = checkAmount(amount)
  if (invalid !== undefined) return invalid
  const started = addDeposit(context, { proposalId, depositor, amount })
  if (isSdkError(started)) return started
  if (started) context.world.emitEvent(event('proposal_deposit', { voting_period_start: proposalId.toString() }))
  return undefined
}

/**
 * Adds a deposit whose coins were checked (AddDeposit of x/gov/keeper/deposit.go), also that of a new proposal.
 * @returns whether the voting period started; the caller emits the event of that
 */
export function addDeposit(context: ModuleContext, { proposalId, depositor, amount }: DepositInput): Outcome<boolean> {
  const { world } = context
  const { native } = world
  const proposal = getProposal(native, proposalId)
  if (proposal === undefined) return proposalNotFound(proposalId)
  const isOpen = proposal.status === DEPOSIT_PERIOD || proposal.status === VOTING_PERIOD
  if (!isOpen || getTally(native, proposalId) !== undefined) return govError('inactiveProposal', proposalId.toString())
  const params = GOV_PARAMS.get(native)
  const acoin = acoinOf(amount)
  if (acoin === undefined) return wrongDenomination(amount)
  const least = minSingleDepositAcoin(params, proposal.expedited)
  if (acoin < least) {
    return govError(
      'depositTooSmall',
      `received ${coinsText(amount)} but need at least one of the following: ${least}${BASE_DENOM}`,
    )
  }
  const sent = sendCoins(context, depositor, GOVERNANCE, acoin)
  if (sent !== undefined) return sent
  changeTotalDeposits(native, acoin)
  const total = totalOf(proposal.totalDeposit) + acoin
  const updated: Proposal = { ...proposal, totalDeposit: coinsOf(total) }
  const isEnough = proposal.status === DEPOSIT_PERIOD && total >= minDepositAcoin(params, proposal.expedited)
  if (isEnough) startVotingPeriod(context, updated)
  else putProposal(native, updated)
  const before = getDeposit(native, proposalId, depositor)
  putDeposit(native, {
    proposalId,
    depositor: toBech32(depositor),
    amount: coinsOf(totalOf(before?.amount ?? []) + acoin),
  })
  world.emitEvent(
    event('proposal_deposit', {
      depositor: toBech32(depositor),
      amount: coinsText(amount),
      proposal_id: proposalId.toString(),
    }),
  )
  return isEnough
}

/** What is wrong with a deposit's coins. */
export function checkAmount(amount: readonly Coin[]): SdkError | undefined {
  return amount.length === 0 ? sdkError('invalidCoins') : checkInitialAmount(amount)
}

/** What is wrong with the coins of a new proposal's deposit, which may be none. */
export function checkInitialAmount(amount: readonly Coin[]): SdkError | undefined {
  return areValidCoins(amount) ? undefined : sdkError('invalidCoins', coinsText(amount))
}

/** The error of a deposit in a denomination that governance does not take. */
export function wrongDenomination(amount: readonly Coin[]): SdkError {
  return govError(
    'invalidDepositDenom',
    `deposited ${coinsText(amount)}, but gov accepts only the following denom(s): [${BASE_DENOM}]`,
  )
}

export function proposalNotFound(id: bigint): SdkError {
  return sdkError('notFound', `proposal ${id} doesn't exist`)
}

/** ActivateVotingPeriod of x/gov/keeper/proposal.go. */
function startVotingPeriod({ world: { native }, block }: ModuleContext, proposal: Proposal): void {
  const params = GOV_PARAMS.get(native)
  const endMs = block.timeMs + periodMs(proposal.expedited ? params.expeditedVotingPeriod : params.votingPeriod)
  putProposal(native, {
    ...proposal,
    status: VOTING_PERIOD,
    votingStartTime: nanosOf(block.timeMs),
    votingEndTime: nanosOf(endMs),
  })
  native.delete(inactiveQueueKey(proposalTimeMs(proposal.depositEndTime), proposal.id))
  native.set(activeQueueKey(endMs, proposal.id), Uint8Array.of(1))
}

/** What happens to the deposits of a proposal that ended: a part is charged, the rest goes back. */
export interface DepositRule {
  /** part of each deposit that is charged: 0 refunds everything, 1 charges everything */
  readonly charge: Decimal
  /** receives what is charged; undefined burns it */
  readonly destination: Address | undefined
}

/** A rule as it is stored in the queue while deposits or votes are left. */
const Cleanup = defineMessage('coind.gov.Cleanup', {
  /** 1, so that an entry is never empty */
  version: uint32(1),
  charge: decimal(2),
  destination: bytes(3),
})

/**
 * Charges and refunds the deposits of a proposal that ended, then removes votes that were not counted. What the budget
 * does not allow waits in the queue of inactive proposals for later blocks, so that a proposal with many depositors makes
 * no block slow.
 */
export function cleanUp(context: ModuleContext, id: bigint, rule: DepositRule, budget: Budget): void {
  const { native } = context.world
  closeDeposits(context, id, rule, budget)
  const voters: Address[] = []
  if (budget.left > 0) {
    for (const { voter } of votesOf(native, id)) {
      if (budget.left-- <= 0) break
      voters.push(parseAddress(voter))
    }
  }
  for (const voter of voters) deleteVote(native, id, voter)
  const queued = inactiveQueueKey(0, id)
  if (isClean(context, id)) {
    if (native.get(queued) !== undefined) native.delete(queued)
  } else {
    const { charge, destination } = rule
    native.set(queued, Cleanup.encode({ version: 1, charge, destination: destination ?? new Uint8Array(0) }))
  }
}

/**
 * Continues the work that `cleanUp` left.
 * @param value of the queue's entry
 */
export function continueCleanUp(context: ModuleContext, id: bigint, value: Uint8Array, budget: Budget): void {
  const { charge, destination } = Cleanup.decode(value)
  cleanUp(context, id, { charge, destination: destination.length === 0 ? undefined : destination }, budget)
}

/** DeleteAndBurnDeposits, RefundAndDeleteDeposits and ChargeDeposit of x/gov/keeper/deposit.go. */
function closeDeposits(context: ModuleContext, id: bigint, { charge, destination }: DepositRule, budget: Budget): void {
  const { native } = context.world
  const closed: { readonly depositor: Address; readonly amount: bigint }[] = []
  for (const { depositor, amount } of depositsOf(native, id)) {
    if (budget.left-- <= 0) break
    closed.push({ depositor: parseAddress(depositor), amount: totalOf(amount) })
  }
  changeTotalDeposits(native, -closed.reduce((sum, { amount }) => sum + amount, 0n))
  let charged = 0n
  for (const { depositor, amount } of closed) {
    const part = truncate(multiply(decimalOf(amount), charge))
    charged += part
    if (amount > part) mustMove(sendCoins(context, GOVERNANCE, depositor, amount - part))
    deleteDeposit(native, id, depositor)
  }
  if (charged === 0n) return
  if (destination === undefined) mustMove(burnCoins(context, GOVERNANCE, charged))
  else if (equalBytes(destination, DISTRIBUTION)) mustMove(fundCommunityPool(context, GOVERNANCE, charged))
  else mustMove(sendCoins(context, GOVERNANCE, destination, charged))
}

function isClean({ world: { native } }: ModuleContext, id: bigint): boolean {
  for (const _ of depositsOf(native, id)) return false
  for (const _ of votesOf(native, id)) return false
  return true
}

/** @throws Error for a failed transfer, which is a bug: the governance account holds all deposits */
function mustMove(error: SdkError | undefined): void {
  if (error !== undefined) throw new Error(`a deposit could not be moved: ${error.message}`)
}
