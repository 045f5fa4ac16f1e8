import { parseAddress } from '../../primitives/address.ts'
import { formatDecimal } from '../../primitives/decimal.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import type { Coin } from '../coin.ts'
import type { ModuleContext } from '../context.ts'
import { defineHandler, type MessageHandler, type MessageTable } from '../message.ts'
import { nestedGas } from '../nestedMessages.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { GOV_AUTHORITY } from './authority.ts'
import { checkAmount, checkInitialAmount, deposit } from './deposits.ts'
import { GOV_GAS } from './gas.ts'
import { checkContent, readContent } from './legacyContent.ts'
import { submitProposal } from './submitProposal.ts'
import { MsgExecLegacyContent, type WeightedVoteOption } from './types.ts'
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

const EMPTY_ANSWER = new Uint8Array(0)

/** The messages of older wallets; they do what those of v1 do (legacyMsgServer of x/gov/keeper/msg_server.go). */
export function govMessagesV1beta1(messages: () => MessageTable): readonly MessageHandler[] {
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
      run: (context, message) => submit(context, messages(), message),
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
        vote(context, { proposalId, voter: parseAddress(voter), option, metadata: '' }) ?? EMPTY_ANSWER,
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
        return voteWeighted(context, input) ?? EMPTY_ANSWER
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
        deposit(context, { proposalId, depositor: parseAddress(depositor), amount }) ?? EMPTY_ANSWER,
    }),
  ]
}

function submit(
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

/** How a proposal of v1 holds the content of one of v1beta1. */
function legacyMessage(content: AnyValue): AnyValue {
  return {
    typeUrl: MsgExecLegacyContent.typeUrl,
    value: MsgExecLegacyContent.encode({ content, authority: GOV_AUTHORITY }),
  }
}

function optionOf({ option, weight }: { readonly option: number; readonly weight: bigint }): WeightedVoteOption {
  return { option, weight: formatDecimal(weight) }
}
