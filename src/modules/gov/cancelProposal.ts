import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { isBlockedAddress } from '../bank/send.ts'
import type { ModuleContext } from '../context.ts'
import { DISTRIBUTION } from '../moduleAccounts.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { cleanUp } from './cleanup.ts'
import { proposalNotFound } from './deposits.ts'
import { govError } from './errors.ts'
import { emitCancelled } from './events.ts'
import { activeQueueKey, inactiveQueueKey } from './keys.ts'
import { GOV_PARAMS, ratio } from './params.ts'
import { deleteProposal, getProposal, proposalTimeMs } from './proposals.ts'
import { getTally } from './tallyState.ts'
import { DEPOSIT_PERIOD, type Proposal, VOTING_PERIOD } from './types.ts'

/** Deposits and votes that the message itself settles; its gas pays for them. The rest follows at the end of blocks. */
const MESSAGE_BUDGET = 20

/**
 * Withdraws a proposal before voting ends (CancelProposal of x/gov/keeper/proposal.go); a part of its deposits is burnt or goes
 * where the parameters say.
 */
export function cancelProposal(
  context: ModuleContext,
  { proposalId, proposer }: { readonly proposalId: bigint; readonly proposer: Address },
): SdkError | undefined {
  const { world } = context
  const { native } = world
  const proposal = getProposal(native, proposalId)
  if (proposal === undefined) return proposalNotFound(proposalId)
  const refused = whyNot(context, proposal, proposer)
  if (refused !== undefined) return refused
  const { proposalCancelRatio, proposalCancelDest } = GOV_PARAMS.get(native)
  const destination = proposalCancelDest === '' ? undefined : parseAddress(proposalCancelDest)
  if (destination !== undefined && !equalBytes(destination, DISTRIBUTION) && isBlockedAddress(destination)) {
    return sdkError('unauthorized', `${proposalCancelDest} is not allowed to receive funds`)
  }
  if (proposal.status === DEPOSIT_PERIOD) {
    native.delete(inactiveQueueKey(proposalTimeMs(proposal.depositEndTime), proposalId))
  } else {
    native.delete(activeQueueKey(proposalTimeMs(proposal.votingEndTime), proposalId))
  }
  deleteProposal(native, proposalId)
  cleanUp(context, proposalId, { charge: ratio(proposalCancelRatio), destination }, { left: MESSAGE_BUDGET })
  emitCancelled(world, proposalId, proposal.proposer)
  return undefined
}

function whyNot({ world: { native }, block }: ModuleContext, proposal: Proposal, by: Address): SdkError | undefined {
  if (!equalBytes(parseAddress(proposal.proposer), by)) {
    return govError('invalidProposer', `invalid proposer ${toBech32(by)}`)
  }
  if (proposal.status !== DEPOSIT_PERIOD && proposal.status !== VOTING_PERIOD) {
    return govError('invalidProposal', 'proposal should be in the deposit or voting period')
  }
  const isOver = proposal.votingEndTime !== undefined && proposalTimeMs(proposal.votingEndTime) < block.timeMs
  if (isOver || getTally(native, proposal.id) !== undefined) {
    return govError('votingPeriodEnded', `voting period is already ended for this proposal ${proposal.id}`)
  }
  return undefined
}
