import { type Address, parseAddress, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { insufficientFunds, isBlockedAddress } from '../bank/send.ts'
import { budgetOf } from '../budget.ts'
import { acoinOf, BASE_DENOM, type Coin, coinsText } from '../coin.ts'
import { event, type ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { DISTRIBUTION, GOVERNANCE } from '../moduleAccounts.ts'
import { type NestedMessage, nestedSigners, readAllNested, readNested, validateNested } from '../nestedMessages.ts'
import { recoverPanic } from '../recoverPanic.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { addDeposit, checkInitialAmount, cleanUp, proposalNotFound, wrongDenomination } from './deposits.ts'
import { govError } from './errors.ts'
import { checkMetadata, checkMetadataForm, checkSummary } from './metadata.ts'
import { GOV_PARAMS, minInitialDepositAcoin, periodMs, ratio } from './params.ts'
import {
  activeQueueKey,
  addProposal,
  deleteProposal,
  getProposalRecord,
  inactiveQueueKey,
  nanosOf,
  nextProposalId,
  type ProposalRecord,
  proposalTimeMs,
  runningTally,
  setNextProposalId,
} from './state.ts'
import { DEPOSIT_PERIOD, MsgExecLegacyContent, VOTING_PERIOD } from './types.ts'

/** Most bytes of all messages of a proposal. The SDK has no such bound. */
const MAX_MESSAGE_BYTES = 65_536

/** Most gas that the messages of a proposal use together, as EIP-7825 limits a transaction: they run at the end of one block. */
export const MAX_EXECUTION_GAS = 16_777_216n

/** Why a proposal fails whose messages need more. */
export const OUT_OF_GAS: SdkError = sdkError(
  'outOfGas',
  `out of gas in location: proposal; gasWanted: ${MAX_EXECUTION_GAS}, gasUsed: ${MAX_EXECUTION_GAS + 1n}`,
)

/** Gas of a byte of a message, which is decoded and validated: 5 bytes can be a coin. */
const MESSAGE_BYTE_GAS = 30

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
 * Creates a proposal with its first deposit (SubmitProposal of x/gov/keeper/{msg_server,proposal}.go). The deposit, which is cheap to
 * check, is checked before the messages.
 * @param messages the table of all messages
 * @returns its id
 */
export function submitProposal(
  context: ModuleContext,
  messages: MessageTable,
  submission: ProposalSubmission,
): Outcome<bigint> {
  const refused = checkInitialDeposit(context, submission) ?? checkForm(submission)
  if (refused !== undefined) return refused
  context.world.native.work.add(messageBytes(submission.messages) * MESSAGE_BYTE_GAS)
  const proposed = readAllNested(submission.messages, messages)
  if (isSdkError(proposed)) return proposed
  for (const message of proposed) {
    const error = checkMessage(context, message)
    if (error !== undefined) return error
  }
  const gas = proposed.reduce((sum, { handler, value }) => sum + handler.gas(value), 0n)
  if (gas > MAX_EXECUTION_GAS) {
    return sdkError('invalidRequest', `the messages need ${gas} gas, and at most ${MAX_EXECUTION_GAS} is allowed`)
  }
  return createProposal(context, submission)
}

/** Returns the error of a proposal whose texts or size are invalid in any state. */
export function checkForm(
  submission: Pick<ProposalSubmission, 'title' | 'summary' | 'metadata' | 'messages'>,
): SdkError | undefined {
  const { title, summary, metadata, messages } = submission
  if (title === '') return sdkError('invalidRequest', 'proposal title cannot be empty')
  if (summary === '') return sdkError('invalidRequest', 'proposal summary cannot be empty')
  if (messages.length === 0 && metadata === '') {
    return govError('noMessages', 'either metadata or Msgs length must be non-nil')
  }
  if (messageBytes(messages) > MAX_MESSAGE_BYTES) {
    return sdkError('invalidRequest', `the messages have more than ${MAX_MESSAGE_BYTES} bytes`)
  }
  return (
    checkMetadata(metadata) ??
    checkMetadataForm(metadata, title, summary) ??
    checkSummary(summary) ??
    checkMetadata(title)
  )
}

function messageBytes(messages: readonly AnyValue[]): number {
  return messages.reduce((sum, { typeUrl, value }) => sum + typeUrl.length + value.length, 0)
}

function checkInitialDeposit(
  { world }: ModuleContext,
  { proposer, initialDeposit, expedited }: Pick<ProposalSubmission, 'proposer' | 'initialDeposit' | 'expedited'>,
): SdkError | undefined {
  const invalid = checkInitialAmount(initialDeposit)
  if (invalid !== undefined) return invalid
  const least = minInitialDepositAcoin(GOV_PARAMS.get(world.native), expedited)
  const acoin = initialDeposit.find(({ denom }) => denom === BASE_DENOM)?.amount ?? 0n
  if (acoin < least) {
    return govError('depositTooSmall', `was (${coinsText(initialDeposit)}), need (${least}${BASE_DENOM})`)
  }
  if (acoinOf(initialDeposit) === undefined) return wrongDenomination(initialDeposit)
  const spendable = world.getSpendable(proposer)
  return spendable < acoin ? insufficientFunds(spendable, acoin) : undefined
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
  addProposal(native, {
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

/** Gas of work on deposits and votes that the message itself does. The end of blocks does the rest. */
const CANCEL_BUDGET = 40_000

/**
 * Withdraws a proposal before voting ends (CancelProposal of x/gov/keeper/proposal.go); a part of
 * its deposits is burnt or paid to the account that the parameters name.
 */
export function cancelProposal(
  context: ModuleContext,
  { proposalId, proposer }: { readonly proposalId: bigint; readonly proposer: Address },
): SdkError | undefined {
  const { world } = context
  const { native } = world
  const proposal = getProposalRecord(native, proposalId)
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
  const rule = { charge: ratio(proposalCancelRatio), destination }
  cleanUp(context, proposalId, rule, budgetOf(native, CANCEL_BUDGET))
  const { proposer: sender } = proposal
  world.emitEvent(event('cancel_proposal', { sender, proposal_id: proposalId.toString() }))
  return undefined
}

function checkCancel(
  { world: { native }, block }: ModuleContext,
  proposal: ProposalRecord,
  by: Address,
): SdkError | undefined {
  if (!equalBytes(parseAddress(proposal.proposer), by)) {
    return govError('invalidProposer', `invalid proposer ${toBech32(by)}`)
  }
  if (proposal.status !== DEPOSIT_PERIOD && proposal.status !== VOTING_PERIOD) {
    return govError('invalidProposal', 'proposal should be in the deposit or voting period')
  }
  const isOver = proposal.votingEndTime !== undefined && proposalTimeMs(proposal.votingEndTime) < block.timeMs
  if (isOver || runningTally(native)?.proposalId === proposal.id) {
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
 * 1. A checkpoint is opened first: it can undo the messages before one that fails.
 * 2. Each message is read and validated again, then run. A message that panics fails like one that returns an error.
 * 3. Only when all have succeeded, their effects stay. An error that is thrown, such as the end of the gas, undoes them too.
 *
 * Deposits are in an account of their own, so that messages cannot spend them.
 */
export function executeProposal(
  context: ModuleContext,
  messages: MessageTable,
  proposed: readonly AnyValue[],
): ExecutionFailure | undefined {
  const { world } = context
  world.checkpoint() // 1
  let succeeded = false
  try {
    for (const [index, message] of proposed.entries()) {
      const error = recoverPanic(() => executeMessage(context, messages, message)) // 2
      if (error !== undefined) return { index, typeUrl: message.typeUrl, error }
    }
    succeeded = true
    return undefined
  } finally {
    if (succeeded) world.commit()
    else world.revert() // 3
  }
}

/** Counts the larger of the message's fixed gas and the work that it does, as in a transaction. */
function executeMessage(context: ModuleContext, messages: MessageTable, message: AnyValue): SdkError | undefined {
  const { work } = context.world.native
  work.add(messageBytes([message]) * MESSAGE_BYTE_GAS)
  if (!messages.has(message.typeUrl)) return govError('unroutableMessage', message.typeUrl)
  // It was valid when it was proposed, but a newer version of the software may have other rules.
  const nested = readNested(message, messages)
  if (isSdkError(nested)) return nested
  const invalid = validateNested(nested)
  if (invalid !== undefined) return invalid
  const { handler, value } = nested
  const end = work.done + Number(handler.gas(value))
  const result = handler.run(context, value)
  if (work.done < end) work.add(end - work.done)
  return isSdkError(result) ? result : undefined
}
