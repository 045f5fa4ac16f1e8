import { parseAddress } from '../../../primitives/address.ts'
import type { Coin as SdkCoin } from '../../coin.ts'
import {
  type AbiValue,
  address,
  array,
  bool,
  int64,
  string,
  tuple,
  uint8,
  uint32,
  uint64,
} from '../../precompileFunctions/abi/types.ts'
import { Coins } from '../../precompileFunctions/types.ts'
import type { Deposit, Params as GovParams, Proposal, TallyResult, Vote } from '../types.ts'

/** Structs of contracts/IGov.sol. Times of proposals are seconds, periods of parameters nanoseconds, ratios decimals in text. */

export const WeightedVoteOptions = array(tuple({ option: uint8, weight: string }))

export const WeightedVote = tuple({
  proposalId: uint64,
  voter: address,
  options: WeightedVoteOptions,
  metadata: string,
})

export const DepositData = tuple({ proposalId: uint64, depositor: address, amount: Coins })

export const TallyResultData = tuple({ yes: string, abstain: string, no: string, noWithVeto: string })

export const ProposalData = tuple({
  id: uint64,
  messages: array(string),
  status: uint32,
  finalTallyResult: TallyResultData,
  submitTime: uint64,
  depositEndTime: uint64,
  totalDeposit: Coins,
  votingStartTime: uint64,
  votingEndTime: uint64,
  metadata: string,
  title: string,
  summary: string,
  proposer: address,
})

export const Params = tuple({
  votingPeriod: int64,
  minDeposit: Coins,
  maxDepositPeriod: int64,
  quorum: string,
  threshold: string,
  vetoThreshold: string,
  minInitialDepositRatio: string,
  proposalCancelRatio: string,
  proposalCancelDest: string,
  expeditedVotingPeriod: int64,
  expeditedThreshold: string,
  expeditedMinDeposit: Coins,
  burnVoteQuorum: bool,
  burnProposalDepositPrevote: bool,
  burnVoteVeto: bool,
  minDepositRatio: string,
})

const NANOS = 1_000_000_000n

/** Seconds of a time; 0 for one that is not set yet. */
function secondsOf(nanos: bigint | undefined): bigint {
  return (nanos ?? 0n) / NANOS
}

function coinTuples(coins: readonly SdkCoin[]): AbiValue<typeof Coins> {
  return coins.map(({ denom, amount }) => ({ denom, amount }))
}

export function voteTuple({ proposalId, voter, options, metadata }: Vote): AbiValue<typeof WeightedVote> {
  return {
    proposalId,
    voter: parseAddress(voter),
    options: options.map(({ option, weight }) => ({ option: BigInt(option), weight })),
    metadata,
  }
}

export function depositTuple({ proposalId, depositor, amount }: Deposit): AbiValue<typeof DepositData> {
  return { proposalId, depositor: parseAddress(depositor), amount: coinTuples(amount) }
}

const NO_VOTES: TallyResult = { yesCount: '0', abstainCount: '0', noCount: '0', noWithVetoCount: '0' }

/** @param result undefined: there are no votes yet */
export function tallyTuple(result: TallyResult | undefined): AbiValue<typeof TallyResultData> {
  const { yesCount, abstainCount, noCount, noWithVetoCount } = result ?? NO_VOTES
  return { yes: yesCount, abstain: abstainCount, no: noCount, noWithVeto: noWithVetoCount }
}

/** Returns a proposal as the interface has it: of its messages only the types. */
export function proposalTuple(proposal: Proposal): AbiValue<typeof ProposalData> {
  const { id, messages, status, finalTallyResult, totalDeposit, metadata, title, summary, proposer } = proposal
  return {
    id,
    messages: messages.map(({ typeUrl }) => typeUrl),
    status: BigInt(status),
    finalTallyResult: tallyTuple(finalTallyResult),
    submitTime: secondsOf(proposal.submitTime),
    depositEndTime: secondsOf(proposal.depositEndTime),
    totalDeposit: coinTuples(totalDeposit),
    votingStartTime: secondsOf(proposal.votingStartTime),
    votingEndTime: secondsOf(proposal.votingEndTime),
    metadata,
    title,
    summary,
    proposer: parseAddress(proposer),
  }
}

export function paramsTuple(params: GovParams): AbiValue<typeof Params> {
  return {
    ...params,
    votingPeriod: params.votingPeriod ?? 0n,
    minDeposit: coinTuples(params.minDeposit),
    maxDepositPeriod: params.maxDepositPeriod ?? 0n,
    expeditedVotingPeriod: params.expeditedVotingPeriod ?? 0n,
    expeditedMinDeposit: coinTuples(params.expeditedMinDeposit),
  }
}
