import { type Address, toBech32 } from '../../../primitives/address.ts'
import { insufficientFunds } from '../../bank/send.ts'
import { acoinOf } from '../../coin.ts'
import { ANY_TYPES, MESSAGES } from '../../messageTable.ts'
import { defineEvents } from '../../precompileFunctions/abi/codec.ts'
import { address, bool, bytes, string, uint8, uint64 } from '../../precompileFunctions/abi/types.ts'
import {
  createPrecompile,
  type FunctionContext,
  type FunctionFailure,
  isFailure,
  lowAddress,
  OUT_OF_GAS,
  type PrecompileFunction,
  revertWith,
  type TabledPrecompile,
} from '../../precompileFunctions/dispatch.ts'
import { defineTransaction, requireActor, SUCCESS } from '../../precompileFunctions/nativeCall.ts'
import { Coins, sortedCoins } from '../../precompileFunctions/types.ts'
import * as messages from '../types.ts'
import { readProposalJson } from './proposalJson.ts'
import { GOV_QUERIES } from './queries.ts'
import { WeightedVoteOptions } from './types.ts'

const EVENTS = defineEvents({
  SubmitProposal: { indexed: { proposer: address }, data: { proposalId: uint64 } },
  CancelProposal: { indexed: { proposer: address }, data: { proposalId: uint64 } },
  Deposit: { indexed: { depositor: address }, data: { proposalId: uint64, amount: Coins } },
  Vote: { indexed: { voter: address }, data: { proposalId: uint64, option: uint8 } },
  VoteWeighted: { indexed: { voter: address }, data: { proposalId: uint64, options: WeightedVoteOptions } },
})

/** Gas of a byte of a proposal, which is parsed and stays in the state. */
const PROPOSAL_BYTE_GAS = 20n

/** Returns a failure when the proposer does not have the deposit. */
function checkFunds(
  { world }: Pick<FunctionContext, 'world'>,
  proposer: Address,
  deposit: readonly { readonly denom: string; readonly amount: bigint }[],
): FunctionFailure | undefined {
  const needed = acoinOf(deposit) ?? 0n
  const spendable = world.getSpendable(proposer)
  return spendable < needed ? insufficientFunds(spendable, needed) : undefined
}

/** The functions of IGov that change something. */
const TRANSACTIONS: readonly PrecompileFunction[] = [
  defineTransaction({
    name: 'submitProposal',
    inputs: { proposer: address, jsonProposal: bytes, deposit: Coins },
    outputs: { proposalId: uint64 },
    type: messages.MsgSubmitProposal,
    response: messages.MsgSubmitProposalResponse,
    prepare: (context, { proposer, jsonProposal, deposit }) => {
      const refusal = requireActor(context, proposer, 'invalid proposer')
      if (refusal !== undefined) return refusal
      if (jsonProposal.length === 0) return revertWith('invalid proposal json jsonBlob arg ')
      // Before the proposal is read, which is the larger part of the work.
      const unfunded = checkFunds(context, proposer, deposit)
      if (unfunded !== undefined) return unfunded
      if (!context.charge(BigInt(jsonProposal.length) * PROPOSAL_BYTE_GAS)) return OUT_OF_GAS
      const text = new TextDecoder().decode(jsonProposal)
      const types = { typeOf: (typeUrl: string) => MESSAGES.get(typeUrl)?.type ?? ANY_TYPES.get(typeUrl)?.type }
      const proposal = readProposalJson(text, types, context.charge)
      if (isFailure(proposal)) return proposal
      const { deposit: _unused, ...submission } = proposal
      return { message: { ...submission, initialDeposit: sortedCoins(deposit), proposer: toBech32(proposer) } }
    },
    finish: ({ emit }, { proposer }, { proposalId }) => {
      emit(EVENTS.SubmitProposal, { proposer, proposalId })
      return { proposalId }
    },
  }),
  defineTransaction({
    name: 'cancelProposal',
    inputs: { proposer: address, proposalId: uint64 },
    outputs: { success: bool },
    type: messages.MsgCancelProposal,
    response: messages.MsgCancelProposalResponse,
    prepare: (context, { proposer, proposalId }) =>
      requireActor(context, proposer, 'invalid proposer') ?? {
        message: { proposalId, proposer: toBech32(proposer) },
      },
    finish: ({ emit }, { proposer, proposalId }) => {
      emit(EVENTS.CancelProposal, { proposer, proposalId })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'deposit',
    inputs: { depositor: address, proposalId: uint64, amount: Coins },
    outputs: { success: bool },
    type: messages.MsgDeposit,
    response: messages.MsgDepositResponse,
    prepare: (context, { depositor, proposalId, amount }) =>
      requireActor(context, depositor, 'invalid depositor address:') ?? {
        message: { proposalId, depositor: toBech32(depositor), amount: sortedCoins(amount) },
      },
    finish: ({ emit }, { depositor, proposalId }, _response, { message: { amount } }) => {
      emit(EVENTS.Deposit, { depositor, proposalId, amount })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'vote',
    inputs: { voter: address, proposalId: uint64, option: uint8, metadata: string },
    outputs: { success: bool },
    type: messages.MsgVote,
    response: messages.MsgVoteResponse,
    prepare: (context, { voter, proposalId, option, metadata }) =>
      requireActor(context, voter, 'invalid voter address:') ?? {
        message: { proposalId, voter: toBech32(voter), option: Number(option), metadata },
      },
    finish: ({ emit }, { voter, proposalId, option }) => {
      emit(EVENTS.Vote, { voter, proposalId, option })
      return SUCCESS
    },
  }),
  defineTransaction({
    name: 'voteWeighted',
    inputs: { voter: address, proposalId: uint64, options: WeightedVoteOptions, metadata: string },
    outputs: { success: bool },
    type: messages.MsgVoteWeighted,
    response: messages.MsgVoteWeightedResponse,
    prepare: (context, { voter, proposalId, options, metadata }) =>
      requireActor(context, voter, 'invalid voter address:') ?? {
        message: {
          proposalId,
          voter: toBech32(voter),
          options: options.map(({ option, weight }) => ({ option: Number(option), weight })),
          metadata,
        },
      },
    finish: ({ emit }, { voter, proposalId, options }) => {
      emit(EVENTS.VoteWeighted, { voter, proposalId, options })
      return SUCCESS
    },
  }),
]

/** Proposals, deposits and votes: contracts/IGov.sol. */
export const governance: TabledPrecompile = createPrecompile(lowAddress(0x805), {
  events: EVENTS,
  functions: [...TRANSACTIONS, ...GOV_QUERIES],
})
