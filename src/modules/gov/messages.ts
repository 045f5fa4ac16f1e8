import { parseAddress } from '../../primitives/address.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { checkNesting } from '../authz/nesting.ts'
import type { ModuleContext } from '../context.ts'
import { defineHandler, type MessageHandler, type MessageTable } from '../message.ts'
import { nestedGas, readAllNested } from '../nestedMessages.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { requireAuthority } from './authority.ts'
import { cancelProposal } from './cancelProposal.ts'
import { checkAmount, checkInitialAmount, deposit } from './deposits.ts'
import { executeProposal } from './executeProposal.ts'
import { GOV_GAS } from './gas.ts'
import { checkContent, readContent } from './legacyContent.ts'
import { govMessagesV1beta1 } from './messagesV1beta1.ts'
import { GOV_PARAMS, validateGovParams } from './params.ts'
import { nanosOf } from './proposals.ts'
import { checkForm, submitProposal } from './submitProposal.ts'
import {
  MsgCancelProposal,
  MsgCancelProposalResponse,
  MsgDeposit,
  MsgDepositResponse,
  MsgExecLegacyContent,
  MsgExecLegacyContentResponse,
  MsgSubmitProposal,
  MsgSubmitProposalResponse,
  MsgUpdateParams,
  MsgUpdateParamsResponse,
  MsgVote,
  MsgVoteResponse,
  MsgVoteWeighted,
  MsgVoteWeightedResponse,
} from './types.ts'
import { checkVoteOption, checkWeightedOptions, vote, voteWeighted } from './votes.ts'

const EMPTY_ANSWER = new Uint8Array(0)

/**
 * The messages of governance, v1 and v1beta1 (x/gov/keeper/msg_server.go).
 * @param messages the table that these are part of: proposals hold messages of all modules
 */
export function govMessages(messages: () => MessageTable): readonly MessageHandler[] {
  return [
    defineHandler({
      type: MsgSubmitProposal,
      response: MsgSubmitProposalResponse,
      aminoName: 'cosmos-sdk/v1/MsgSubmitProposal',
      module: 'gov',
      signers: ({ proposer }) => [parseAddress(proposer)],
      validate: (message) => {
        const tooDeep = checkNesting(message.messages)
        if (tooDeep !== undefined) return tooDeep
        const read = readAllNested(message.messages, messages())
        return isSdkError(read) ? read : (checkForm(message) ?? checkInitialAmount(message.initialDeposit))
      },
      gas: ({ messages: proposed }) => GOV_GAS.submitProposal + nestedGas(proposed, messages()),
      run: (context, { proposer, ...submission }) => {
        const proposalId = submitProposal(context, messages(), { ...submission, proposer: parseAddress(proposer) })
        return isSdkError(proposalId) ? proposalId : MsgSubmitProposalResponse.encode({ proposalId })
      },
    }),
    defineHandler({
      type: MsgExecLegacyContent,
      response: MsgExecLegacyContentResponse,
      aminoName: 'cosmos-sdk/v1/MsgExecLegacyContent',
      module: 'gov',
      signers: ({ authority }) => [parseAddress(authority)],
      validate: ({ content }) => checkContent(content),
      gas: () => GOV_GAS.execLegacyContent,
      run: (context, { content, authority }) =>
        requireAuthority(authority) ?? execContent(context, messages(), content) ?? EMPTY_ANSWER,
    }),
    ...voteMessages,
    defineHandler({
      type: MsgDeposit,
      response: MsgDepositResponse,
      aminoName: 'cosmos-sdk/v1/MsgDeposit',
      module: 'gov',
      signers: ({ depositor }) => [parseAddress(depositor)],
      validate: ({ amount }) => checkAmount(amount),
      gas: () => GOV_GAS.deposit,
      run: (context, message) =>
        deposit(context, { ...message, depositor: parseAddress(message.depositor) }) ?? EMPTY_ANSWER,
    }),
    defineHandler({
      type: MsgCancelProposal,
      response: MsgCancelProposalResponse,
      // The SDK names it in no other way than by its type.
      aminoName: '/cosmos.gov.v1.MsgCancelProposal',
      module: 'gov',
      signers: ({ proposer }) => [parseAddress(proposer)],
      validate: () => undefined,
      gas: () => GOV_GAS.cancelProposal,
      run: cancel,
    }),
    defineHandler({
      type: MsgUpdateParams,
      response: MsgUpdateParamsResponse,
      aminoName: 'cosmos-sdk/x/gov/v1/MsgUpdateParams',
      module: 'gov',
      signers: ({ authority }) => [parseAddress(authority)],
      validate: ({ params }) =>
        params === undefined ? sdkError('invalidRequest', 'params cannot be nil') : validateGovParams(params),
      gas: () => GOV_GAS.updateParams,
      run: ({ world: { native } }, { authority, params }) => {
        if (params === undefined) return sdkError('invalidRequest', 'params cannot be nil')
        const refused = requireAuthority(authority) ?? validateGovParams(params)
        if (refused !== undefined) return refused
        GOV_PARAMS.set(native, params)
        return EMPTY_ANSWER
      },
    }),
    ...govMessagesV1beta1(messages),
  ]
}

const voteMessages: readonly MessageHandler[] = [
  defineHandler({
    type: MsgVote,
    response: MsgVoteResponse,
    aminoName: 'cosmos-sdk/v1/MsgVote',
    module: 'gov',
    signers: ({ voter }) => [parseAddress(voter)],
    validate: ({ option }) => checkVoteOption(option),
    gas: () => GOV_GAS.vote,
    run: (context, message) => vote(context, { ...message, voter: parseAddress(message.voter) }) ?? EMPTY_ANSWER,
  }),
  defineHandler({
    type: MsgVoteWeighted,
    response: MsgVoteWeightedResponse,
    aminoName: 'cosmos-sdk/v1/MsgVoteWeighted',
    module: 'gov',
    signers: ({ voter }) => [parseAddress(voter)],
    validate: ({ options }) => checkWeightedOptions(options),
    gas: () => GOV_GAS.vote,
    run: (context, message) =>
      voteWeighted(context, { ...message, voter: parseAddress(message.voter) }) ?? EMPTY_ANSWER,
  }),
]

function cancel(
  context: ModuleContext,
  { proposalId, proposer }: { readonly proposalId: bigint; readonly proposer: string },
): Outcome<Uint8Array> {
  const { height, timeMs } = context.block
  const refused = cancelProposal(context, { proposalId, proposer: parseAddress(proposer) })
  if (refused !== undefined) return refused
  return MsgCancelProposalResponse.encode({
    proposalId,
    canceledTime: nanosOf(timeMs),
    canceledHeight: BigInt(height),
  })
}

/** Does what the content of a v1beta1 proposal says. */
function execContent(
  context: ModuleContext,
  messages: MessageTable,
  content: AnyValue | undefined,
): SdkError | undefined {
  const read = readContent(content)
  if (isSdkError(read)) return read
  const todo = read.messages(context.world.native, messages)
  return isSdkError(todo) ? todo : executeProposal(context, messages, todo)?.error
}
