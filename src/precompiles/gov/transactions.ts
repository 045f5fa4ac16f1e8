import * as messages from '../../modules/gov/types.ts'
import { ANY_TYPES, MESSAGES } from '../../modules/messages.ts'
import { isSdkError } from '../../modules/sdkError.ts'
import { type Address, toBech32 } from '../../primitives/address.ts'
import { address, bool, bytes, string, uint8, uint64 } from '../abi/types.ts'
import { GOVERNANCE_ADDRESS } from '../addresses.ts'
import { Coins, sortedCoins } from '../coinTypes.ts'
import {
  defineFunction,
  type FunctionContext,
  isFailure,
  OUT_OF_GAS,
  type PrecompileFunction,
  type Revert,
  revertWith,
} from '../dispatch.ts'
import { refuseZero, requireCaller, runMessage, WRITE_GAS } from '../nativeCall.ts'
import * as events from './events.ts'
import { isShallowJson, readProposalJson } from './proposalJson.ts'
import { WeightedVoteOptions } from './types.ts'

const SUCCESS = { success: true } as const
/** Gas of a byte of a proposal, which is parsed and stays in the state. */
const PROPOSAL_BYTE_GAS = 20n

/** The functions of IGov that change something. */
export const GOV_TRANSACTIONS: readonly PrecompileFunction[] = [
  defineFunction({
    name: 'submitProposal',
    inputs: { proposer: address, jsonProposal: bytes, deposit: Coins },
    outputs: { proposalId: uint64 },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { proposer, jsonProposal, deposit }) => {
      const refusal = refuse(context, proposer, 'invalid proposer')
      if (refusal !== undefined) return refusal
      if (jsonProposal.length === 0) return revertWith('invalid proposal json jsonBlob arg ')
      if (!context.charge(BigInt(jsonProposal.length) * PROPOSAL_BYTE_GAS)) return OUT_OF_GAS
      const text = new TextDecoder().decode(jsonProposal)
      if (!isShallowJson(text)) return revertWith('invalid proposal json: nested too deeply')
      const proposal = readProposalJson(text, {
        typeOf: (typeUrl) => MESSAGES.get(typeUrl)?.type ?? ANY_TYPES.get(typeUrl)?.type,
      })
      if (isSdkError(proposal)) return proposal
      const { deposit: _unused, ...submission } = proposal
      const outcome = runMessage(context, messages.MsgSubmitProposal, messages.MsgSubmitProposalResponse, {
        ...submission,
        initialDeposit: sortedCoins(deposit),
        proposer: toBech32(proposer),
      })
      if (isFailure(outcome)) return outcome
      const { proposalId } = outcome
      context.world.emitLog(events.SUBMIT_PROPOSAL.log(GOVERNANCE_ADDRESS, { proposer, proposalId }))
      return { proposalId }
    },
  }),
  defineFunction({
    name: 'cancelProposal',
    inputs: { proposer: address, proposalId: uint64 },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { proposer, proposalId }) => {
      const refusal = refuse(context, proposer, 'invalid proposer')
      if (refusal !== undefined) return refusal
      const outcome = runMessage(context, messages.MsgCancelProposal, messages.MsgCancelProposalResponse, {
        proposalId,
        proposer: toBech32(proposer),
      })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(events.CANCEL_PROPOSAL.log(GOVERNANCE_ADDRESS, { proposer, proposalId }))
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'deposit',
    inputs: { depositor: address, proposalId: uint64, amount: Coins },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { depositor, proposalId, amount }) => {
      const refusal = refuse(context, depositor, 'invalid depositor address:')
      if (refusal !== undefined) return refusal
      const coins = sortedCoins(amount)
      const outcome = runMessage(context, messages.MsgDeposit, messages.MsgDepositResponse, {
        proposalId,
        depositor: toBech32(depositor),
        amount: coins,
      })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(events.DEPOSIT.log(GOVERNANCE_ADDRESS, { depositor, proposalId, amount: coins }))
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'vote',
    inputs: { voter: address, proposalId: uint64, option: uint8, metadata: string },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { voter, proposalId, option, metadata }) => {
      const refusal = refuse(context, voter, 'invalid voter address:')
      if (refusal !== undefined) return refusal
      const outcome = runMessage(context, messages.MsgVote, messages.MsgVoteResponse, {
        proposalId,
        voter: toBech32(voter),
        option: Number(option),
        metadata,
      })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(events.VOTE.log(GOVERNANCE_ADDRESS, { voter, proposalId, option }))
      return SUCCESS
    },
  }),
  defineFunction({
    name: 'voteWeighted',
    inputs: { voter: address, proposalId: uint64, options: WeightedVoteOptions, metadata: string },
    outputs: { success: bool },
    gas: WRITE_GAS,
    mutability: 'nonpayable',
    run: (context, { voter, proposalId, options, metadata }) => {
      const refusal = refuse(context, voter, 'invalid voter address:')
      if (refusal !== undefined) return refusal
      const outcome = runMessage(context, messages.MsgVoteWeighted, messages.MsgVoteWeightedResponse, {
        proposalId,
        voter: toBech32(voter),
        options: options.map(({ option, weight }) => ({ option: Number(option), weight })),
        metadata,
      })
      if (isFailure(outcome)) return outcome
      context.world.emitLog(events.VOTE_WEIGHTED.log(GOVERNANCE_ADDRESS, { voter, proposalId, options }))
      return SUCCESS
    },
  }),
]

/** A failure when the address is nobody's or not the caller's. */
function refuse(context: FunctionContext, subject: Address, invalid: string): Revert | undefined {
  return refuseZero(subject, invalid) ?? requireCaller(context, subject)
}
