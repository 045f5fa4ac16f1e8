import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type Decimal, decimalOf, multiply, truncate } from '../../primitives/decimal.ts'
import { bytes, decimal, defineMessage, uint32 } from '../../primitives/protoSchema.ts'
import { WORK_GAS } from '../../state/workMeter.ts'
import type { NativeStore } from '../../state/world.ts'
import { burnCoins, sendCoins } from '../bank/send.ts'
import { type Budget, isSpent } from '../budget.ts'
import { acoinOf, areValidCoins, BASE_DENOM, type Coin, coinsOf, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import { fundCommunityPool } from '../distribution/feePool.ts'
import { DISTRIBUTION, GOV_DEPOSITS } from '../moduleAccounts.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { govError } from './errors.ts'
import { GOV_PARAMS, minDepositAcoin, minSingleDepositAcoin, periodMs } from './params.ts'
import {
  activeQueueKey,
  type CopiedShares,
  copiedShares,
  deleteCopiedShares,
  deleteDeposit,
  deleteVote,
  depositsOf,
  getDeposit,
  getProposalRecord,
  inactiveQueueKey,
  nanosOf,
  type ProposalRecord,
  proposalTimeMs,
  putDeposit,
  putProposalRecord,
  totalOf,
  votesOf,
} from './state.ts'
import { isVotedOn } from './tally.ts'
import { DEPOSIT_PERIOD, VOTING_PERIOD } from './types.ts'

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
 * Adds a deposit whose coins were checked (AddDeposit of x/gov/keeper/deposit.go), also for a new
 * proposal.
 * @returns whether the voting period started; the caller emits that event
 */
export function addDeposit(context: ModuleContext, { proposalId, depositor, amount }: DepositInput): Outcome<boolean> {
  const { world, block } = context
  const { native } = world
  const proposal = getProposalRecord(native, proposalId)
  if (proposal === undefined) return proposalNotFound(proposalId)
  const isOpen = proposal.status === DEPOSIT_PERIOD || isVotedOn(native, proposal, block.timeMs)
  if (!isOpen) return govError('inactiveProposal', proposalId.toString())
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
  const sent = sendCoins(context, depositor, GOV_DEPOSITS, acoin)
  if (sent !== undefined) return sent
  const total = totalOf(proposal.totalDeposit) + acoin
  const updated: ProposalRecord = { ...proposal, totalDeposit: coinsOf(total) }
  const isEnough = proposal.status === DEPOSIT_PERIOD && total >= minDepositAcoin(params, proposal.expedited)
  if (isEnough) startVotingPeriod(context, updated)
  else putProposalRecord(native, updated)
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

/** Returns the error of a deposit with invalid coins. */
export function checkAmount(amount: readonly Coin[]): SdkError | undefined {
  return amount.length === 0 ? sdkError('invalidCoins') : checkInitialAmount(amount)
}

/** Returns the error of a new proposal's deposit with invalid coins; the deposit may be empty. */
export function checkInitialAmount(amount: readonly Coin[]): SdkError | undefined {
  return areValidCoins(amount) ? undefined : sdkError('invalidCoins', coinsText(amount))
}

/** Returns the error of a deposit in a denomination that governance does not take. */
export function wrongDenomination(amount: readonly Coin[]): SdkError {
  return govError(
    'invalidDepositDenom',
    `deposited ${coinsText(amount)}, but gov accepts only the following denom(s): [${BASE_DENOM}]`,
  )
}

export function proposalNotFound(id: bigint): SdkError {
  return sdkError('notFound', `proposal ${id} doesn't exist`)
}

/** Executes ActivateVotingPeriod of x/gov/keeper/proposal.go. */
function startVotingPeriod({ world: { native }, block }: ModuleContext, proposal: ProposalRecord): void {
  const params = GOV_PARAMS.get(native)
  const endMs = block.timeMs + periodMs(proposal.expedited ? params.expeditedVotingPeriod : params.votingPeriod)
  putProposalRecord(native, {
    ...proposal,
    status: VOTING_PERIOD,
    votingStartTime: nanosOf(block.timeMs),
    votingEndTime: nanosOf(endMs),
  })
  native.delete(inactiveQueueKey(proposalTimeMs(proposal.depositEndTime), proposal.id))
  native.set(activeQueueKey(endMs, proposal.id), Uint8Array.of(1))
}

/** Rule for the deposits of a proposal that ended: a part is charged, the rest is refunded. */
export interface DepositRule {
  /** part of each deposit that is charged: 0 refunds everything, 1 charges everything */
  readonly charge: Decimal
  /** receives the charged coins; undefined burns them */
  readonly destination: Address | undefined
}

/** Kinds of work left to do for a proposal that ended, as an entry of the queue. */
const CLEANUPS = { DEPOSITS_AND_VOTES: 1, COPIED_SHARES: 2 } as const

/** A rule as it is stored in the queue while deposits, votes or copied shares are left. */
const Cleanup = defineMessage('coind.gov.Cleanup', {
  /** one of {@link CLEANUPS} */
  kind: uint32(1),
  charge: decimal(2),
  destination: bytes(3),
})

const NO_RULE = { charge: 0n, destination: new Uint8Array(0) } as const

/** Gas of a deposit's return besides its entry: two accounts change, and there are four events with addresses. */
const RETURN_GAS = 10_000
/** Gas of work outside the native store: to decode a vote and its voter's address. */
const VOTE_GAS = 1_000

/**
 * Charges and refunds the deposits of a proposal that ended, then removes votes that were not
 * counted. Work beyond the budget waits in the queue of inactive proposals for later blocks, so
 * that a proposal with many depositors does not slow any block down. At least one deposit or vote
 * is handled, so that this ends.
 */
export function cleanUp(context: ModuleContext, id: bigint, rule: DepositRule, budget: Budget): void {
  const { native } = context.world
  const queued = inactiveQueueKey(0, id)
  if (closeDeposits(context, id, rule, budget) && removeVotes(native, id, budget)) {
    if (native.get(queued) !== undefined) native.delete(queued)
    return
  }
  const { charge, destination } = rule
  native.set(
    queued,
    Cleanup.encode({ kind: CLEANUPS.DEPOSITS_AND_VOTES, charge, destination: destination ?? new Uint8Array(0) }),
  )
}

/** Puts a tally that was left alone into the queue: the shares that were copied for it are removed there, in later blocks. */
export function abandonTally(native: Pick<NativeStore, 'set'>, id: bigint): void {
  const { charge, destination } = NO_RULE
  native.set(inactiveQueueKey(0, id), Cleanup.encode({ kind: CLEANUPS.COPIED_SHARES, charge, destination }))
}

/**
 * Continues the work that `cleanUp` or `abandonTally` left.
 * @param value of the queue's entry
 */
export function continueCleanUp(context: ModuleContext, id: bigint, value: Uint8Array, budget: Budget): void {
  const { kind, charge, destination } = Cleanup.decode(value)
  if (kind === CLEANUPS.COPIED_SHARES) {
    const { native } = context.world
    if (removeCopiedShares(native, id, budget)) native.delete(inactiveQueueKey(0, id))
    return
  }
  cleanUp(context, id, { charge, destination: destination.length === 0 ? undefined : destination }, budget)
}

/**
 * DeleteAndBurnDeposits, RefundAndDeleteDeposits and ChargeDeposit of x/gov/keeper/deposit.go.
 * @returns whether there are no deposits left
 */
function closeDeposits(
  context: ModuleContext,
  id: bigint,
  { charge, destination }: DepositRule,
  budget: Budget,
): boolean {
  const { native } = context.world
  const closed: { readonly depositor: Address; readonly amount: bigint }[] = []
  let isComplete = true
  for (const { depositor, amount } of depositsOf(native, id)) {
    if (closed.length > 0 && isSpent(native, budget, closed.length * WORK_GAS.write)) {
      isComplete = false
      break
    }
    native.work.add(RETURN_GAS)
    closed.push({ depositor: parseAddress(depositor), amount: totalOf(amount) })
  }
  let charged = 0n
  for (const { depositor, amount } of closed) {
    const part = truncate(multiply(decimalOf(amount), charge))
    charged += part
    deleteDeposit(native, id, depositor)
    if (amount > part)
      move(context, id, amount - part, () => sendCoins(context, GOV_DEPOSITS, depositor, amount - part))
  }
  if (charged > 0n) move(context, id, charged, () => takeCharge(context, destination, charged))
  return isComplete
}

function takeCharge(context: ModuleContext, destination: Address | undefined, charged: bigint): SdkError | undefined {
  if (destination === undefined) return burnCoins(context, GOV_DEPOSITS, charged)
  if (equalBytes(destination, DISTRIBUTION)) return fundCommunityPool(context, GOV_DEPOSITS, charged)
  return sendCoins(context, GOV_DEPOSITS, destination, charged)
}

/**
 * Moves coins of deposits. The account holds all of them, since no message can spend them. If it held less, the end of a block could not
 * fail: the coins stay where they are, and an event says so.
 */
function move({ world }: ModuleContext, id: bigint, acoin: bigint, transfer: () => SdkError | undefined): void {
  const failure = transfer()
  if (failure === undefined) return
  const attributes = { proposal_id: id.toString(), amount: coinsText(coinsOf(acoin)), reason: failure.message }
  world.emitEvent(event('deposit_not_moved', attributes))
}

/** @returns whether there are no votes left */
function removeVotes(native: ModuleContext['world']['native'], id: bigint, budget: Budget): boolean {
  const voters: Address[] = []
  let isComplete = true
  for (const { voter } of votesOf(native, id)) {
    if (voters.length > 0 && isSpent(native, budget, voters.length * WORK_GAS.write)) {
      isComplete = false
      break
    }
    native.work.add(VOTE_GAS)
    voters.push(parseAddress(voter))
  }
  for (const voter of voters) deleteVote(native, id, voter)
  return isComplete
}

/** @returns whether there are no copied shares left */
function removeCopiedShares(native: ModuleContext['world']['native'], id: bigint, budget: Budget): boolean {
  const copies: CopiedShares[] = []
  let isComplete = true
  for (const copy of copiedShares(native, id)) {
    if (copies.length > 0 && isSpent(native, budget, copies.length * WORK_GAS.write)) {
      isComplete = false
      break
    }
    copies.push(copy)
  }
  for (const copy of copies) deleteCopiedShares(native, id, copy)
  return isComplete
}
