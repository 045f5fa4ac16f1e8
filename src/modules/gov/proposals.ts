import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { isBlockedAddress } from '../bank/send.ts'
import { acoinOf, BASE_DENOM, type Coin, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { DISTRIBUTION, GOVERNANCE } from '../moduleAccounts.ts'
import { type NestedMessage, nestedSigners, readAllNested, readNested, validateNested } from '../nestedMessages.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { addDeposit, checkInitialAmount, cleanUp, proposalNotFound, wrongDenomination } from './deposits.ts'
import { govError } from './errors.ts'
import { checkMetadata, checkMetadataForm, checkSummary } from './metadata.ts'
import { GOV_PARAMS, minInitialDepositAcoin, periodMs, ratio } from './params.ts'
import { recoverPanic } from './recoverPanic.ts'
import {
  activeQueueKey,
  deleteProposal,
  getProposal,
  getTally,
  inactiveQueueKey,
  nanosOf,
  nextProposalId,
  proposalTimeMs,
  putProposal,
  setNextProposalId,
  totalDeposits,
} from './state.ts'
import { DEPOSIT_PERIOD, MsgExecLegacyContent, type Proposal, VOTING_PERIOD } from './types.ts'

/** Most bytes of all messages of a proposal: every deposit reads and writes them. The SDK has no such bound. */
const MAX_MESSAGE_BYTES = 65_536

interface ProposalSubmission {
  readonly proposer: Address
  /** executed when it passes */
  readonly messages: readonly AnyValue[]
  readonly initialDeposit: readonly Coin[]
  readonly metadata: string
  readonly title: string
  readonly summary: string
  readonly expedited: boolean
}

/**
 * Creates a proposal with its first deposit (SubmitProposal of x/gov/keeper/{msg_server,proposal}.go).
 * @param messages the table of all messages
 * @returns its id
 */
export function submitProposal(
  context: ModuleContext,
  messages: MessageTable,
  submission: ProposalSubmission,
): Outcome<bigint> {
  const refused = checkForm(submission) ?? checkInitialDeposit(context, submission)
  if (refused !== undefined) return refused
  const proposed = readAllNested(submission.messages, messages)
  if (isSdkError(proposed)) return proposed
  for (const message of proposed) {
    const error = checkMessage(context, message)
    if (error !== undefined) return error
  }
  return createProposal(context, submission)
}

/** What is wrong with a proposal's texts and size, whatever the state is. */
export function checkForm(
  submission: Pick<ProposalSubmission, 'title' | 'summary' | 'metadata' | 'messages'>,
): SdkError | undefined {
  const { title, summary, metadata, messages } = submission
  if (title === '') return sdkError('invalidRequest', 'proposal title cannot be empty')
  if (summary === '') return sdkError('invalidRequest', 'proposal summary cannot be empty')
  if (messages.length === 0 && metadata === '') {
    return govError('noMessages', 'either metadata or Msgs length must be non-nil')
  }
  if (messages.reduce((sum, { typeUrl, value }) => sum + typeUrl.length + value.length, 0) > MAX_MESSAGE_BYTES) {
    return sdkError('invalidRequest', `the messages have more than ${MAX_MESSAGE_BYTES} bytes`)
  }
  return (
    checkMetadata(metadata) ??
    checkMetadataForm(metadata, title, summary) ??
    checkSummary(summary) ??
    checkMetadata(title)
  )
}

function checkInitialDeposit(
  { world }: ModuleContext,
  { initialDeposit, expedited }: Pick<ProposalSubmission, 'initialDeposit' | 'expedited'>,
): SdkError | undefined {
  const invalid = checkInitialAmount(initialDeposit)
  if (invalid !== undefined) return invalid
  const least = minInitialDepositAcoin(GOV_PARAMS.get(world.native), expedited)
  const acoin = initialDeposit.find(({ denom }) => denom === BASE_DENOM)?.amount ?? 0n
  if (acoin < least) {
    return govError('depositTooSmall', `was (${coinsText(initialDeposit)}), need (${least}${BASE_DENOM})`)
  }
  return acoinOf(initialDeposit) === undefined ? wrongDenomination(initialDeposit) : undefined
}

/** A proposal's message must be valid, and its only signer must be governance. */
function checkMessage(context: ModuleContext, message: NestedMessage): SdkError | undefined {
  const invalid = validateNested(message)
  if (invalid !== undefined) return govError('invalidMessage', invalid.message)
  const signers = nestedSigners(message)
  if (isSdkError(signers)) return signers
  if (signers.length !== 1) return govError('invalidSigner')
  if (!equalBytes(signers[0]!, GOVERNANCE)) return govError('invalidSigner', toBech32(signers[0]!))
  return message.handler.type.typeUrl === MsgExecLegacyContent.typeUrl ? tryContent(context, message) : undefined
}

/** The content of a v1beta1 proposal must succeed if it ran now. Other messages need not: the state may change before they run. */
function tryContent(context: ModuleContext, { handler, value }: NestedMessage): SdkError | undefined {
  context.world.checkpoint()
  let result: ReturnType<typeof handler.run>
  try {
    result = handler.run(context, value)
  } finally {
    context.world.revert()
  }
  if (!isSdkError(result) || result.codespace === 'gov') return isSdkError(result) ? result : undefined
  return govError('invalidContent', result.message)
}

function createProposal(context: ModuleContext, submission: ProposalSubmission): Outcome<bigint> {
  const { world, block } = context
  const { native } = world
  const { proposer, messages, initialDeposit, metadata, title, summary, expedited } = submission
  const id = nextProposalId(native)
  const depositEndMs = block.timeMs + periodMs(GOV_PARAMS.get(native).maxDepositPeriod)
  setNextProposalId(native, id + 1n)
  putProposal(native, {
    id,
    messages,
    status: DEPOSIT_PERIOD,
    finalTallyResult: { yesCount: '0', abstainCount: '0', noCount: '0', noWithVetoCount: '0' },
    submitTime: nanosOf(block.timeMs),
    depositEndTime: nanosOf(depositEndMs),
    totalDeposit: [],
    votingStartTime: undefined,
    votingEndTime: undefined,
    metadata,
    title,
    summary,
    proposer: toBech32(proposer),
    expedited,
    failedReason: '',
  })
  native.set(inactiveQueueKey(depositEndMs, id), Uint8Array.of(0))
  world.emitEvent(
    event('submit_proposal', {
      proposal_id: id.toString(),
      proposal_proposer: toBech32(proposer),
      // each URL after a comma, the first one too
      proposal_messages: messages.map(({ typeUrl }) => `,${typeUrl}`).join(''),
    }),
  )
  const started = addDeposit(context, { proposalId: id, depositor: proposer, amount: initialDeposit })
  if (isSdkError(started)) return started
  if (started) world.emitEvent(event('submit_proposal', { voting_period_start: id.toString() }))
  return id
}

/** Deposits and votes that the message itself handles; its gas pays for them. The end of blocks handles the rest. */
const CANCEL_BUDGET = 20

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
  const refused = checkCancel(context, proposal, proposer)
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
  cleanUp(context, proposalId, { charge: ratio(proposalCancelRatio), destination }, { left: CANCEL_BUDGET })
  const { proposer: sender } = proposal
  world.emitEvent(event('cancel_proposal', { sender, proposal_id: proposalId.toString() }))
  return undefined
}

function checkCancel(
  { world: { native }, block }: ModuleContext,
  proposal: Proposal,
  by: Address,
): SdkError | undefined {
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

/** Why a passed proposal had no effect. */
interface ExecutionFailure {
  readonly index: number
  readonly typeUrl: string
  readonly error: SdkError
}

/**
 * Executes the messages of a passed proposal under the authority of governance, all of them or, when one fails, none
 * (EndBlocker of x/gov/abci.go).
 *
 * 1. A checkpoint is opened first: it is what undoes the messages before one that fails.
 * 2. Each message is read and validated again, then run. A message that panics fails like one that returns an error.
 * 3. After each message the account must still hold all deposits: they are in governance's account, but belong to others.
 * 4. Only when all have succeeded, their effects stay.
 */
export function executeProposal(
  context: ModuleContext,
  messages: MessageTable,
  proposed: readonly AnyValue[],
): ExecutionFailure | undefined {
  context.world.checkpoint() // 1
  for (const [index, message] of proposed.entries()) {
    const error = recoverPanic(() => executeMessage(context, messages, message)) ?? checkDeposits(context) // 2, 3
    if (error === undefined) continue
    context.world.revert()
    return { index, typeUrl: message.typeUrl, error }
  }
  context.world.commit() // 4
  return undefined
}

function executeMessage(context: ModuleContext, messages: MessageTable, message: AnyValue): SdkError | undefined {
  if (!messages.has(message.typeUrl)) return govError('unroutableMessage', message.typeUrl)
  // It was valid when it was proposed, but a newer version of the software may have other rules.
  const nested = readNested(message, messages)
  if (isSdkError(nested)) return nested
  const invalid = validateNested(nested)
  if (invalid !== undefined) return invalid
  const result = nested.handler.run(context, nested.value)
  return isSdkError(result) ? result : undefined
}

/** Governance may send coins of its account, but not those that are deposits. */
function checkDeposits({ world }: ModuleContext): SdkError | undefined {
  const deposits = totalDeposits(world.native)
  if (world.getBalance(GOVERNANCE) >= deposits) return undefined
  return sdkError('insufficientFunds', `${deposits}${BASE_DENOM} of the governance account are deposits`)
}
