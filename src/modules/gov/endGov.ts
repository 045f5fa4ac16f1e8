import { bytesToBigInt, concatBytes } from '../../primitives/bytes.ts'
import { ONE } from '../../primitives/decimal.ts'
import type { NativeStore } from '../../state/world.ts'
import { doItem } from '../blockItem.ts'
import { type Budget, budgetOf, isSpent } from '../budget.ts'
import { event, type ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { reasonWithCause } from '../recoverPanic.ts'
import { abandonTally, cleanUp, continueCleanUp, type DepositRule } from './deposits.ts'
import { GOV_PARAMS, periodMs } from './params.ts'
import { executeProposal, MAX_EXECUTION_GAS, OUT_OF_GAS } from './proposals.ts'
import {
  ACTIVE_QUEUE_PREFIX,
  activeQueueKey,
  deleteProposal,
  deleteRunningTally,
  getProposalRecord,
  INACTIVE_QUEUE_PREFIX,
  nanosOf,
  type ProposalRecord,
  proposalTimeMs,
  putProposalRecord,
  putRunningTally,
  runningTally,
  withContent,
} from './state.ts'
import { countVotes, type TallyOutcome, tallyOf, tallyOutcome } from './tally.ts'
import { FAILED, PASSED, REJECTED } from './types.ts'

/** Gas of work that one block does for governance, some 30 ms, besides the messages of a proposal that passed. */
const BLOCK_GAS = 2_000_000

/** Most bytes of the reason why a proposal failed: errors can repeat texts of its messages. */
const MAX_FAILED_REASON = 1_024

const BURN: DepositRule = { charge: ONE, destination: undefined }
const REFUND: DepositRule = { charge: 0n, destination: undefined }

interface Due {
  readonly key: Uint8Array
  readonly timeMs: number
  readonly id: bigint
  readonly value: Uint8Array
}

/**
 * Ends a block (EndBlocker of x/gov/abci.go). A block in which nothing is due costs three look-ups.
 *
 * 1. Proposals that ended earlier, with deposits or votes left: these are refunded, charged or removed first (their entries
 *    have time 0 in the queue of inactive proposals), so that old work cannot pile up behind new work.
 * 2. Proposals whose deposit period is over are dropped. These two steps have half of the budget, so that proposals that only
 *    wait for deposits cannot delay those that are voted on.
 * 3. Proposals whose voting period is over are tallied and, if they pass, executed, in the order in which the periods ended:
 *    one that passes may change or cancel those after it. A tally that is under way comes first.
 *
 * Unlike in the SDK, a block does about {@link BLOCK_GAS} of work, and the messages of the proposal
 * that it executes last. The rest waits for the next block; a longer tally continues there with the
 * voting powers from its start. Each of the two queues advances by at least one step. A proposal
 * that cannot be handled leaves its queue, and everything else stays as it is, its deposits too;
 * the copied shares of its tally are removed as in step 1.
 */
export function endGov(context: ModuleContext, messages: MessageTable, limit: number = BLOCK_GAS): void {
  const { native } = context.world
  const nowMs = context.block.timeMs
  const whole = budgetOf(native, limit)
  const half = budgetOf(native, limit / 2)
  handleDue(native, INACTIVE_QUEUE_PREFIX, nowMs, half, ({ key, timeMs, id, value }) => {
    const isDone = orLeave(context, id, () => {
      if (timeMs === 0)
        continueCleanUp(context, id, value, half) // 1
      else drop(context, key, id, half) // 2
    })
    if (!isDone) native.delete(key)
  })
  // 3
  const running = runningTally(native)
  if (running !== undefined) {
    const { proposalId } = running
    if (!orLeave(context, proposalId, () => endVotingPeriod(context, messages, proposalId, whole))) {
      deleteRunningTally(native)
      abandonTally(native, proposalId)
      orLeave(context, proposalId, () => {
        const proposal = getProposalRecord(native, proposalId)
        if (proposal !== undefined) native.delete(activeQueueKey(proposalTimeMs(proposal.votingEndTime), proposalId))
      })
    }
    if (isSpent(native, whole)) return
  }
  handleDue(native, ACTIVE_QUEUE_PREFIX, nowMs, whole, ({ key, id }) => {
    if (!orLeave(context, id, () => endVotingPeriod(context, messages, id, whole))) native.delete(key)
  })
}

/** @returns false when the proposal is left alone */
function orLeave(context: ModuleContext, id: bigint, run: () => void): boolean {
  const item = { module: 'gov', proposal_id: id.toString() }
  const isDone = doItem(context, item, () => {
    run()
    return true
  })
  return isDone === true
}

/** Entries of a queue that one range reads. */
const DUE_AT_ONCE = 16

/** Handles the entries of a queue up to a time, in order, until the budget is spent; the first one in any case. */
function handleDue(
  native: Pick<NativeStore, 'get' | 'range' | 'work'>,
  prefix: Uint8Array,
  nowMs: number,
  budget: Budget,
  handle: (due: Due) => void,
): void {
  let handled = 0
  let start: Uint8Array | undefined
  for (;;) {
    const due = nextDue(native, prefix, nowMs, start)
    for (const entry of due) {
      if (handled > 0 && isSpent(native, budget)) return
      // A proposal executed before this one may have cancelled it.
      if (native.get(entry.key) === undefined) continue
      handle(entry)
      handled++
    }
    if (due.length < DUE_AT_ONCE) return
    start = concatBytes(due.at(-1)!.key, Uint8Array.of(0))
  }
}

/** Returns the next entries of a queue up to a time, a few of them. */
function nextDue(
  native: Pick<NativeStore, 'range'>,
  prefix: Uint8Array,
  nowMs: number,
  start: Uint8Array | undefined,
): readonly Due[] {
  const due: Due[] = []
  for (const [key, value] of native.range(prefix, start && { start })) {
    const timeMs = Number(bytesToBigInt(key.subarray(prefix.length, prefix.length + 8)))
    if (timeMs > nowMs || due.length >= DUE_AT_ONCE) break
    due.push({ key, timeMs, id: bytesToBigInt(key.subarray(prefix.length + 8)), value })
  }
  return due
}

/** Removes a proposal that did not get its deposit in time. @param queued its key in the queue */
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
 * 1. The votes are counted. When the budget is spent, the tally is stored and the next block continues here.
 * 2. The proposal leaves the queue before anything is executed, so that nothing can decide it twice.
 * 3. An expedited proposal that did not pass is voted on again as a regular one, so its deposits stay.
 * 4. Deposits are refunded or burnt before the messages run, as in the SDK: the messages work on the balances after that.
 * 5. The messages of a proposal that passed run.
 * 6. The result is stored last, since it depends on how they ended.
 */
function endVotingPeriod(context: ModuleContext, messages: MessageTable, id: bigint, budget: Budget): void {
  const { native } = context.world
  const proposal = mustGet(native, id)
  const counted = countVotes(native, tallyOf(native, id), budget) // 1
  if (!counted.isComplete) {
    putRunningTally(native, counted.position, counted.tally)
    return
  }
  if (runningTally(native) !== undefined) deleteRunningTally(native)
  native.delete(activeQueueKey(proposalTimeMs(proposal.votingEndTime), id)) // 2
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
  putProposalRecord(native, { ...proposal, ...changes, finalTallyResult: outcome.result }) // 6
  emitResult(context, id, result, log)
}

/**
 * Gives an expedited proposal that did not pass a regular voting period, counted from the start of
 * its vote.
 */
function becomeRegular(context: ModuleContext, proposal: ProposalRecord, { result }: TallyOutcome): void {
  const { native } = context.world
  const endMs = proposalTimeMs(proposal.votingStartTime) + periodMs(GOV_PARAMS.get(native).votingPeriod)
  putProposalRecord(native, { ...proposal, expedited: false, votingEndTime: nanosOf(endMs), finalTallyResult: result })
  native.set(activeQueueKey(endMs, proposal.id), Uint8Array.of(1))
  emitResult(context, proposal.id, 'expedited_proposal_rejected', 'expedited proposal converted to regular')
}

function emitResult({ world }: ModuleContext, id: bigint, result: string, log: string): void {
  world.emitEvent(event('active_proposal', { proposal_id: id.toString(), proposal_result: result, proposal_log: log }))
}

function execute(
  context: ModuleContext,
  messages: MessageTable,
  proposal: ProposalRecord,
): Pick<ProposalRecord, 'status' | 'failedReason'> & { readonly result: string; readonly log: string } {
  const { native } = context.world
  // Stored as passed while its messages run: none of them can deposit to it, vote on it or cancel it.
  putProposalRecord(native, { ...proposal, status: PASSED })
  const ran = native.work.limited(MAX_EXECUTION_GAS, () =>
    executeProposal(context, messages, withContent(native, proposal).messages),
  )
  if (ran.kind === 'exceeded') {
    const log = `passed, but its messages need more than ${MAX_EXECUTION_GAS} gas`
    return { status: FAILED, failedReason: OUT_OF_GAS.message, result: 'proposal_failed', log }
  }
  const failure = ran.value
  if (failure === undefined) return { status: PASSED, failedReason: '', result: 'proposal_passed', log: 'passed' }
  const { index, typeUrl, error } = failure
  return {
    status: FAILED,
    failedReason: error.message.slice(0, MAX_FAILED_REASON),
    result: 'proposal_failed',
    log: `passed, but msg ${index} (${typeUrl}) failed on execution: ${reasonWithCause(error)}`,
  }
}

function mustGet(native: Pick<NativeStore, 'get'>, id: bigint): ProposalRecord {
  const proposal = getProposalRecord(native, id)
  if (proposal === undefined) throw new Error(`proposal ${id} is in the queue but not there`)
  return proposal
}
