import { bytesToBigInt } from '../../primitives/bytes.ts'
import { ONE } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { event, type ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { cleanUp, continueCleanUp, type DepositRule } from './deposits.ts'
import { GOV_PARAMS, periodMs } from './params.ts'
import { executeProposal } from './proposals.ts'
import { reasonWithCause } from './recoverPanic.ts'
import {
  ACTIVE_QUEUE_PREFIX,
  activeQueueKey,
  deleteProposal,
  deleteTally,
  getProposal,
  getTally,
  INACTIVE_QUEUE_PREFIX,
  nanosOf,
  proposalTimeMs,
  putProposal,
  putTally,
} from './state.ts'
import { FAILED, PASSED, type Proposal, REJECTED } from './types.ts'
import { type Budget, beginTally, countVotes, type TallyOutcome, tallyOutcome } from './votes.ts'

/** Votes, delegations of voters and deposits that one block handles, about 50 microseconds each. */
const BLOCK_BUDGET = 2_000

const BURN: DepositRule = { charge: ONE, destination: undefined }
const REFUND: DepositRule = { charge: 0n, destination: undefined }

interface Due {
  readonly key: Uint8Array
  readonly timeMs: number
  readonly id: bigint
  readonly value: Uint8Array
}

/**
 * The end of a block (EndBlocker of x/gov/abci.go). A block in which nothing is due costs two look-ups.
 *
 * 1. Proposals that ended earlier, with deposits or votes left: these are refunded, charged or removed first (their entries
 *    have time 0 in the queue of inactive proposals), so that old work cannot pile up behind new work.
 * 2. Proposals whose deposit period is over are dropped.
 * 3. Proposals whose voting period is over are tallied and, if they pass, executed, in the order in which the periods ended:
 *    one that passes may change or cancel those after it.
 *
 * Unlike in the SDK, a block reads only about {@link BLOCK_BUDGET} votes, delegations and deposits. What is left waits for
 * the next block; a longer tally continues there with the voting powers that it began with.
 */
export function endGov(context: ModuleContext, messages: MessageTable, limit: number = BLOCK_BUDGET): void {
  const { native } = context.world
  const budget: Budget = { left: limit }
  for (const { key, timeMs, id, value } of dueOf(native, INACTIVE_QUEUE_PREFIX, context.block.timeMs, budget)) {
    if (budget.left <= 0) return
    budget.left--
    if (timeMs === 0)
      continueCleanUp(context, id, value, budget) // 1
    else drop(context, key, id, budget) // 2
  }
  for (const { key, id } of dueOf(native, ACTIVE_QUEUE_PREFIX, context.block.timeMs, budget)) {
    if (budget.left <= 0) return
    // A proposal executed before this one may have cancelled it.
    if (native.get(key) === undefined) continue
    budget.left--
    endVotingPeriod(context, messages, key, id, budget) // 3
  }
}

/** Entries of a queue up to a time, in order, no more than the budget has room for. */
function dueOf(native: Pick<NativeStore, 'range'>, prefix: Uint8Array, nowMs: number, budget: Budget): readonly Due[] {
  const due: Due[] = []
  for (const [key, value] of native.range(prefix)) {
    const timeMs = Number(bytesToBigInt(key.subarray(prefix.length, prefix.length + 8)))
    if (timeMs > nowMs || due.length >= budget.left) break
    due.push({ key, timeMs, id: bytesToBigInt(key.subarray(prefix.length + 8)), value })
  }
  return due
}

/** Removes a proposal that did not get its deposit in time. */
function drop(context: ModuleContext, queued: Uint8Array, id: bigint, budget: Budget): void {
  const { native } = context.world
  native.delete(queued)
  deleteProposal(native, id)
  cleanUp(context, id, GOV_PARAMS.get(native).burnProposalDepositPrevote ? BURN : REFUND, budget)
  const attributes = { proposal_id: id.toString(), proposal_result: 'proposal_dropped' }
  context.world.emitEvent(event('inactive_proposal', attributes))
}

/**
 * Decides a proposal whose voting period is over.
 *
 * 1. The votes are counted. When the budget is used up, the tally is stored and the next block continues here.
 * 2. The proposal leaves the queue before anything is executed, so that nothing can decide it twice.
 * 3. An expedited proposal that did not pass is voted on again as a regular one, so its deposits stay.
 * 4. Deposits are refunded or burnt before the messages run, as in the SDK: the messages work on the balances after that.
 * 5. The messages of a proposal that passed run.
 * 6. The result is stored last, since it depends on how they ended.
 */
function endVotingPeriod(
  context: ModuleContext,
  messages: MessageTable,
  queued: Uint8Array,
  id: bigint,
  budget: Budget,
): void {
  const { native } = context.world
  const proposal = mustGet(native, id)
  const begun = getTally(native, id)
  const counted = countVotes(native, id, begun ?? beginTally(native), budget) // 1
  if (!counted.isComplete) {
    putTally(native, id, counted.tally)
    return
  }
  if (begun !== undefined) deleteTally(native, id)
  native.delete(queued) // 2
  const outcome = tallyOutcome(counted.tally, GOV_PARAMS.get(native), proposal.expedited)
  if (!outcome.passes && proposal.expedited) {
    becomeRegular(context, proposal, outcome) // 3
    return
  }
  cleanUp(context, id, outcome.burnsDeposits ? BURN : REFUND, budget) // 4
  const { result, log, ...changes } = outcome.passes
    ? execute(context, messages, proposal) // 5
    : {
        status: REJECTED,
        failedReason: 'proposal did not get enough votes to pass',
        result: 'proposal_rejected',
        log: 'rejected',
      }
  putProposal(native, { ...proposal, ...changes, finalTallyResult: outcome.result }) // 6
  emitResult(context, id, result, log)
}

/** An expedited proposal that did not pass gets a regular voting period, counted from the start of its vote. */
function becomeRegular(context: ModuleContext, proposal: Proposal, { result }: TallyOutcome): void {
  const { native } = context.world
  const endMs = proposalTimeMs(proposal.votingStartTime) + periodMs(GOV_PARAMS.get(native).votingPeriod)
  putProposal(native, { ...proposal, expedited: false, votingEndTime: nanosOf(endMs), finalTallyResult: result })
  native.set(activeQueueKey(endMs, proposal.id), Uint8Array.of(1))
  emitResult(context, proposal.id, 'expedited_proposal_rejected', 'expedited proposal converted to regular')
}

function emitResult({ world }: ModuleContext, id: bigint, result: string, log: string): void {
  world.emitEvent(event('active_proposal', { proposal_id: id.toString(), proposal_result: result, proposal_log: log }))
}

function execute(
  context: ModuleContext,
  messages: MessageTable,
  proposal: Proposal,
): Pick<Proposal, 'status' | 'failedReason'> & { readonly result: string; readonly log: string } {
  // Stored as passed while its messages run: none of them can deposit to it, vote on it or cancel it.
  putProposal(context.world.native, { ...proposal, status: PASSED })
  const failure = executeProposal(context, messages, proposal.messages)
  if (failure === undefined) return { status: PASSED, failedReason: '', result: 'proposal_passed', log: 'passed' }
  const { index, typeUrl, error } = failure
  return {
    status: FAILED,
    failedReason: error.message,
    result: 'proposal_failed',
    log: `passed, but msg ${index} (${typeUrl}) failed on execution: ${reasonWithCause(error)}`,
  }
}

function mustGet(native: Pick<NativeStore, 'get'>, id: bigint): Proposal {
  const proposal = getProposal(native, id)
  if (proposal === undefined) throw new Error(`proposal ${id} is in the queue but not there`)
  return proposal
}
