import { defineEvent } from '../abi/event.ts'
import { address, uint8, uint64 } from '../abi/types.ts'
import { Coins } from '../coinTypes.ts'
import { WeightedVoteOptions } from './types.ts'

export const SUBMIT_PROPOSAL = defineEvent('SubmitProposal', {
  indexed: { proposer: address },
  data: { proposalId: uint64 },
})
export const CANCEL_PROPOSAL = defineEvent('CancelProposal', {
  indexed: { proposer: address },
  data: { proposalId: uint64 },
})
export const DEPOSIT = defineEvent('Deposit', {
  indexed: { depositor: address },
  data: { proposalId: uint64, amount: Coins },
})
export const VOTE = defineEvent('Vote', { indexed: { voter: address }, data: { proposalId: uint64, option: uint8 } })
export const VOTE_WEIGHTED = defineEvent('VoteWeighted', {
  indexed: { voter: address },
  data: { proposalId: uint64, options: WeightedVoteOptions },
})
