import { bytesToBigInt } from '../../primitives/bytes.ts'
import { ONE } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import type { ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { reasonWithCause } from '../recoverPanic.ts'
import { cleanUp, continueCleanUp, type DepositRule } from './cleanup.ts'
import { emitDropped, emitTallied } from './events.ts'
import { executeProposal } from './executeProposal.ts'
import { ACTIVE_QUEUE_PREFIX, activeQueueKey, INACTIVE_QUEUE_PREFIX } from './keys.ts'
import { GOV_PARAMS, periodMs } from './params.ts'
import { deleteProposal, getProposal, nanosOf, proposalTimeMs, putProposal } from './proposals.ts'
import { type Budget, beginTally, countVotes, judge, type TallyOutcome } from './tally.ts'
import { deleteTally, getTally, putTally } from './tallyState.ts'
import { FAILED, PASSED, type Proposal, REJECTED } from './types.ts'

/** Votes, delegations of voters and deposits that one block handles; some 50 microseconds each. */
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
 * The end of a block (EndBlocker of x/gov/abci.go): proposals whose deposit period is over are dropped, those whose voting
 * period is over are tallied and, if they pass, executed. A block in which nothing is due costs two look-ups. Unlike the
 * SDK's, a block counts no more than {@link BLOCK_BUDGET} votes; a longer tally goes on in the blocks after it, with the voting
 * powers it began with.
 */
export function endGov(context: ModuleContext, messages: MessageTable, limit: number = BLOCK_BUDGET): void {
  const { native } = context.world
  const budget: Budget = { left: limit }
  for (const { key, timeMs, id, value } of dueOf(native, INACTIVE_QUEUE_PREFIX, context.block.timeMs, budget)) {
    if (budget.left <= 0) return
    budget.left--
    if (timeMs === 0) continueCleanUp(context, id, value, budget)
    else drop(context, key, id, budget)
  }
  for (const { key, id } of dueOf(native, ACTIVE_QUEUE_PREFIX, context.block.timeMs, budget)) {
    if (budget.left <= 0) return
    // A proposal that passed a moment ago may have cancelled this one.
    if (native.get(key) === undefined) continue
    budget.left--
    tally(context, messages, key, id, budget)
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

/** A proposal that did not get its deposit in time. */
function drop(context: ModuleContext, queued: Uint8Array, id: bigint, budget: Budget): void {
  const { native } = context.world
  native.delete(queued)
  deleteProposal(native, id)
  cleanUp(context, id, GOV_PARAMS.get(native).burnProposalDepositPrevote ? BURN : REFUND, budget)
  emitDropped(context.world, id)
}

/** A proposal whose voting period is over. */
function tally(context: ModuleContext, messages: MessageTable, queued: Uint8Array, id: bigint, budget: Budget): void {
  const { native } = context.world
  const proposal = mustGet(native, id)
  const begun = getTally(native, id)
  const counted = countVotes(native, id, begun ?? beginTally(native), budget)
  if (!counted.isComplete) {
    putTally(native, id, counted.tally)
    return
  }
  if (begun !== undefined) deleteTally(native, id)
  native.delete(queued)
  const outcome = judge(counted.tally, GOV_PARAMS.get(native), proposal.expedited)
  if (!outcome.passes && proposal.expedited) {
    becomeRegular(context, proposal, outcome)
    return
  }
  cleanUp(context, id, outcome.burnsDeposits ? BURN : REFUND, budget)
  const { result, log, ...changes } = outcome.passes
    ? execute(context, messages, proposal)
    : {
        status: REJECTED,
        failedReason: 'proposal did not get enough votes to pass',
        result: 'proposal_rejected',
        log: 'rejected',
      }
  putProposal(native, { ...proposal, ...changes, finalTallyResult: outcome.result })
  emitTallied(context.world, id, result, log)
}

/** An expedited proposal that did not pass is voted on again until a regular vote would end. */
function becomeRegular(context: ModuleContext, proposal: Proposal, { result }: TallyOutcome): void {
  const { native } = context.world
  const endMs = proposalTimeMs(proposal.votingStartTime) + periodMs(GOV_PARAMS.get(native).votingPeriod)
  putProposal(native, { ...proposal, expedited: false, votingEndTime: nanosOf(endMs), finalTallyResult: result })
  native.set(activeQueueKey(endMs, proposal.id), Uint8Array.of(1))
  emitTallied(context.world, proposal.id, 'expedited_proposal_rejected', 'expedited proposal converted to regular')
}

function execute(
  context: ModuleContext,
  messages: MessageTable,
  proposal: Proposal,
): Pick<Proposal, 'status' | 'failedReason'> & { readonly result: string; readonly log: string } {
  // Its messages find it decided: they can add nothing to it.
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
