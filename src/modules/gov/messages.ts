import { parseAddress } from '../../primitives/address.ts'
import { formatDecimal } from '../../primitives/decimal.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { checkNesting } from '../authz/nesting.ts'
import type { Coin } from '../coin.ts'
import type { ModuleContext } from '../context.ts'
import { defineHandler, EMPTY_RESPONSE, type MessageHandler, type MessageTable } from '../message.ts'
import { nestedGas, readAllNested } from '../nestedMessages.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { GOV_AUTHORITY, requireAuthority } from './authority.ts'
import { checkAmount, checkInitialAmount, deposit } from './deposits.ts'
import { checkContent, readContent } from './legacyContent.ts'
import { GOV_PARAMS, validateGovParams } from './params.ts'
import { cancelProposal, checkForm, executeProposal, submitProposal } from './proposals.ts'
import { nanosOf } from './state.ts'
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
  type WeightedVoteOption,
} from './types.ts'
import {
  MsgDepositResponseV1beta1,
  MsgDepositV1beta1,
  MsgSubmitProposalResponseV1beta1,
  MsgSubmitProposalV1beta1,
  MsgVoteResponseV1beta1,
  MsgVoteV1beta1,
  MsgVoteWeightedResponseV1beta1,
  MsgVoteWeightedV1beta1,
} from './typesV1beta1.ts'
import { checkVoteOption, checkWeightedOptions, vote, voteWeighted } from './votes.ts'

/**
 * Gas of governance messages: about 20 ns of work or a tenth of a byte written for one gas. A vote also pays for the part of the tally
 * that reads and removes it, a deposit for its refund. The voter's delegations are counted within the budget of blocks.
 */
export const GOV_GAS = {
  /** besides the fixed gas of the proposal's own messages, which run later */
  submitProposal: 150_000n,
  deposit: 60_000n,
  vote: 40_000n,
  cancelProposal: 80_000n,
  updateParams: 20_000n,
  execLegacyContent: 30_000n,
} as const

/**
 * Returns the messages of governance, v1 and v1beta1 (x/gov/keeper/msg_server.go).
 * @param messages the table of all modules' messages, these included: a proposal can hold any of them
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
        // The size of the messages is checked first, before they are read.
        const malformed =
          checkInitialAmount(message.initialDeposit) ?? checkForm(message) ?? checkNesting(message.messages)
        if (malformed !== undefined) return malformed
        const read = readAllNested(message.messages, messages())
        return isSdkError(read) ? read : undefined
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
        requireAuthority(authority) ?? execContent(context, messages(), content) ?? EMPTY_RESPONSE,
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
        deposit(context, { ...message, depositor: parseAddress(message.depositor) }) ?? EMPTY_RESPONSE,
    }),
    defineHandler({
      type: MsgCancelProposal,
      response: MsgCancelProposalResponse,
      // The SDK has no amino name for it and falls back to the type URL.
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
        return EMPTY_RESPONSE
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
    run: (context, message) => vote(context, { ...message, voter: parseAddress(message.voter) }) ?? EMPTY_RESPONSE,
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
      voteWeighted(context, { ...message, voter: parseAddress(message.voter) }) ?? EMPTY_RESPONSE,
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

/** Executes the messages that are equivalent to the content of a v1beta1 proposal. */
function execContent(
  context: ModuleContext,
  messages: MessageTable,
  content: AnyValue | undefined,
): SdkError | undefined {
  const read = readContent(content)
  if (isSdkError(read)) return read
  const equivalent = read.messages(context.world.native, messages)
  return isSdkError(equivalent) ? equivalent : executeProposal(context, messages, equivalent)?.error
}

/**
 * Returns handlers for the messages of older wallets, which act as those of v1 (legacyMsgServer of
 * x/gov/keeper/msg_server.go).
 */
function govMessagesV1beta1(messages: () => MessageTable): readonly MessageHandler[] {
  return [
    defineHandler({
      type: MsgSubmitProposalV1beta1,
      response: MsgSubmitProposalResponseV1beta1,
      aminoName: 'cosmos-sdk/MsgSubmitProposal',
      module: 'gov',
      signers: ({ proposer }) => [parseAddress(proposer)],
      validate: ({ content, initialDeposit }) => checkContent(content) ?? checkInitialAmount(initialDeposit),
      gas: ({ content }) =>
        GOV_GAS.submitProposal + (content === undefined ? 0n : nestedGas([legacyMessage(content)], messages())),
      run: (context, message) => submitContent(context, messages(), message),
    }),
    defineHandler({
      type: MsgVoteV1beta1,
      response: MsgVoteResponseV1beta1,
      aminoName: 'cosmos-sdk/MsgVote',
      module: 'gov',
      signers: ({ voter }) => [parseAddress(voter)],
      validate: ({ option }) => checkVoteOption(option),
      gas: () => GOV_GAS.vote,
      run: (context, { proposalId, voter, option }) =>
        vote(context, { proposalId, voter: parseAddress(voter), option, metadata: '' }) ?? EMPTY_RESPONSE,
    }),
    defineHandler({
      type: MsgVoteWeightedV1beta1,
      response: MsgVoteWeightedResponseV1beta1,
      aminoName: 'cosmos-sdk/MsgVoteWeighted',
      module: 'gov',
      signers: ({ voter }) => [parseAddress(voter)],
      validate: ({ options }) => checkWeightedOptions(options.map(optionOf)),
      gas: () => GOV_GAS.vote,
      run: (context, { proposalId, voter, options }) => {
        const input = { proposalId, voter: parseAddress(voter), options: options.map(optionOf), metadata: '' }
        return voteWeighted(context, input) ?? EMPTY_RESPONSE
      },
    }),
    defineHandler({
      type: MsgDepositV1beta1,
      response: MsgDepositResponseV1beta1,
      aminoName: 'cosmos-sdk/MsgDeposit',
      module: 'gov',
      signers: ({ depositor }) => [parseAddress(depositor)],
      validate: ({ amount }) => checkAmount(amount),
      gas: () => GOV_GAS.deposit,
      run: (context, { proposalId, depositor, amount }) =>
        deposit(context, { proposalId, depositor: parseAddress(depositor), amount }) ?? EMPTY_RESPONSE,
    }),
  ]
}

function submitContent(
  context: ModuleContext,
  messages: MessageTable,
  message: {
    readonly content: AnyValue | undefined
    readonly proposer: string
    readonly initialDeposit: readonly Coin[]
  },
): Outcome<Uint8Array> {
  const read = readContent(message.content)
  if (isSdkError(read)) return read
  const proposalId = submitProposal(context, messages, {
    proposer: parseAddress(message.proposer),
    messages: [legacyMessage(message.content!)],
    initialDeposit: message.initialDeposit,
    metadata: '',
    title: read.title,
    summary: read.description,
    expedited: false,
  })
  return isSdkError(proposalId) ? proposalId : MsgSubmitProposalResponseV1beta1.encode({ proposalId })
}

/** Returns the message by which a v1 proposal carries the content of a v1beta1 one. */
function legacyMessage(content: AnyValue): AnyValue {
  return {
    typeUrl: MsgExecLegacyContent.typeUrl,
    value: MsgExecLegacyContent.encode({ content, authority: GOV_AUTHORITY }),
  }
}

function optionOf({ option, weight }: { readonly option: number; readonly weight: bigint }): WeightedVoteOption {
  return { option, weight: formatDecimal(weight) }
}
