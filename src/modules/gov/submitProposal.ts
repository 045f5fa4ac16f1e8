import { type Address, toBech32 } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { acoinOf, BASE_DENOM, type Coin, coinsText } from '../coin.ts'
import type { ModuleContext } from '../context.ts'
import type { MessageTable } from '../message.ts'
import { GOVERNANCE } from '../moduleAccounts.ts'
import { type NestedMessage, nestedSigners, readAllNested, validateNested } from '../nestedMessages.ts'
import { recoverPanic } from '../recoverPanic.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { addDeposit, checkInitialAmount, wrongDenomination } from './deposits.ts'
import { govError } from './errors.ts'
import { emitSubmitted, emitVotingStarted } from './events.ts'
import { inactiveQueueKey } from './keys.ts'
import { checkMetadata, checkMetadataForm, checkSummary } from './metadata.ts'
import { GOV_PARAMS, minInitialDepositAcoin, periodMs } from './params.ts'
import { nanosOf, nextProposalId, putProposal, setNextProposalId } from './proposals.ts'
import { DEPOSIT_PERIOD, MsgExecLegacyContent } from './types.ts'

/** Bytes of all messages of a proposal: every deposit reads and writes the proposal. The SDK has no such bound. */
const MAX_MESSAGE_BYTES = 65_536

export interface ProposalSubmission {
  readonly proposer: Address
  /** what is executed when it passes */
  readonly messages: readonly AnyValue[]
  readonly initialDeposit: readonly Coin[]
  readonly metadata: string
  readonly title: string
  readonly summary: string
  readonly expedited: boolean
}

/**
 * A new proposal with its first deposit (SubmitProposal of x/gov/keeper/{msg_server,proposal}.go).
 * @param messages the table of all messages, which the proposal's are of
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
  return open(context, submission)
}

/** What can be said of a proposal's texts and size without the state. */
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

/** A proposal's message must be valid and need the authority of governance, and of nobody else. */
function checkMessage(context: ModuleContext, message: NestedMessage): SdkError | undefined {
  const invalid = validateNested(message)
  if (invalid !== undefined) return govError('invalidMessage', invalid.message)
  const signers = nestedSigners(message)
  if (isSdkError(signers)) return signers
  if (signers.length !== 1) return govError('invalidSigner')
  if (!equalBytes(signers[0]!, GOVERNANCE)) return govError('invalidSigner', toBech32(signers[0]!))
  return message.handler.type.typeUrl === MsgExecLegacyContent.typeUrl ? tryContent(context, message) : undefined
}

/** The content of a v1beta1 proposal must be able to succeed now; messages need not, things may change until they run. */
function tryContent(context: ModuleContext, { handler, value }: NestedMessage): SdkError | undefined {
  context.world.checkpoint()
  const result = recoverPanic(() => handler.run(context, value))
  context.world.revert()
  if (!isSdkError(result) || result.codespace === 'gov') return isSdkError(result) ? result : undefined
  return govError('invalidContent', result.message)
}

function open(context: ModuleContext, submission: ProposalSubmission): Outcome<bigint> {
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
  emitSubmitted(
    world,
    id,
    proposer,
    messages.map(({ typeUrl }) => typeUrl),
  )
  const started = addDeposit(context, { proposalId: id, depositor: proposer, amount: initialDeposit })
  if (isSdkError(started)) return started
  if (started) emitVotingStarted(world, 'submit_proposal', id)
  return id
}
