import * as theirDistribution from 'cosmjs-types/cosmos/distribution/v1beta1/distribution'
import * as theirs from 'cosmjs-types/cosmos/gov/v1/gov'
import * as theirMessages from 'cosmjs-types/cosmos/gov/v1/tx'
import * as theirsV1beta1 from 'cosmjs-types/cosmos/gov/v1beta1/gov'
import * as theirMessagesV1beta1 from 'cosmjs-types/cosmos/gov/v1beta1/tx'
import * as theirParams from 'cosmjs-types/cosmos/params/v1beta1/params'
import * as theirUpgrade from 'cosmjs-types/cosmos/upgrade/v1beta1/upgrade'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { govMessages } from '../../../../src/modules/gov/messages.ts'
import * as ours from '../../../../src/modules/gov/types.ts'
import * as contents from '../../../../src/modules/gov/typesV1beta1.ts'
import * as oursV1beta1 from '../../../../src/modules/gov/typesV1beta1.ts'
import { Plan } from '../../../../src/modules/upgrade/plan.ts'
import {
  coin,
  count,
  decimals,
  expectSameWire,
  type TheirMessage,
  text,
  wireCase,
} from '../../../support/modules/wireCases.ts'

const any = fc.record({ typeUrl: text, value: fc.uint8Array({ minLength: 1 }) })
const option = fc.integer({ min: 1, max: 4 })
const status = fc.integer({ min: 1, max: 5 })
/** nanoseconds since the epoch, and of a period */
const time = fc.bigInt(1n, 2n ** 31n - 1n).map((seconds) => seconds * 1_000_000_000n + 400_000_000n)
const coins = fc.array(coin)
const yes = fc.constant(true)
const weighted = fc.record({ option, weight: text })
const weightedV1beta1 = fc.record({ option, weight: decimals })
const amounts = fc.bigInt(1n, 2n ** 200n)
const content = { title: text, description: text }
const params = fc.record({
  minDeposit: coins,
  maxDepositPeriod: time,
  votingPeriod: time,
  quorum: text,
  threshold: text,
  vetoThreshold: text,
  minInitialDepositRatio: text,
  proposalCancelRatio: text,
  proposalCancelDest: text,
  expeditedVotingPeriod: time,
  expeditedThreshold: text,
  expeditedMinDeposit: coins,
  burnVoteQuorum: yes,
  burnProposalDepositPrevote: yes,
  burnVoteVeto: yes,
  minDepositRatio: text,
})
const tally = fc.record({ yesCount: text, abstainCount: text, noCount: text, noWithVetoCount: text })
const plan = fc.record({
  name: text,
  time,
  height: count,
  info: text,
  upgradedClientState: any,
})

const CASES = [
  wireCase(
    ours.Vote,
    theirs.Vote,
    fc.record({ proposalId: count, voter: text, options: fc.array(weighted), metadata: text }),
  ),
  wireCase(ours.Deposit, theirs.Deposit, fc.record({ proposalId: count, depositor: text, amount: coins })),
  wireCase(
    ours.Proposal,
    theirs.Proposal,
    fc.record({
      id: count,
      messages: fc.array(any),
      status,
      finalTallyResult: tally,
      submitTime: time,
      depositEndTime: time,
      totalDeposit: coins,
      votingStartTime: time,
      votingEndTime: time,
      metadata: text,
      title: text,
      summary: text,
      proposer: text,
      expedited: yes,
      failedReason: text,
    }),
  ),
  wireCase(ours.Params, theirs.Params, params),
  wireCase(ours.DepositParams, theirs.DepositParams, fc.record({ minDeposit: coins, maxDepositPeriod: time })),
  wireCase(ours.VotingParams, theirs.VotingParams, fc.record({ votingPeriod: time })),
  wireCase(ours.TallyParams, theirs.TallyParams, fc.record({ quorum: text, threshold: text, vetoThreshold: text })),
  wireCase(
    ours.MsgSubmitProposal,
    theirMessages.MsgSubmitProposal,
    fc.record({
      messages: fc.array(any),
      initialDeposit: coins,
      proposer: text,
      metadata: text,
      title: text,
      summary: text,
      expedited: yes,
    }),
  ),
  wireCase(ours.MsgSubmitProposalResponse, theirMessages.MsgSubmitProposalResponse, fc.record({ proposalId: count })),
  wireCase(ours.MsgExecLegacyContent, theirMessages.MsgExecLegacyContent, fc.record({ content: any, authority: text })),
  wireCase(ours.MsgVote, theirMessages.MsgVote, fc.record({ proposalId: count, voter: text, option, metadata: text })),
  wireCase(
    ours.MsgVoteWeighted,
    theirMessages.MsgVoteWeighted,
    fc.record({ proposalId: count, voter: text, options: fc.array(weighted), metadata: text }),
  ),
  wireCase(ours.MsgDeposit, theirMessages.MsgDeposit, fc.record({ proposalId: count, depositor: text, amount: coins })),
  wireCase(ours.MsgUpdateParams, theirMessages.MsgUpdateParams, fc.record({ authority: text, params })),
  wireCase(ours.MsgCancelProposal, theirMessages.MsgCancelProposal, fc.record({ proposalId: count, proposer: text })),
  wireCase(
    ours.MsgCancelProposalResponse,
    theirMessages.MsgCancelProposalResponse,
    fc.record({ proposalId: count, canceledTime: time, canceledHeight: count }),
  ),
  wireCase(
    oursV1beta1.VoteV1beta1,
    theirsV1beta1.Vote,
    fc.record({ proposalId: count, voter: text, option, options: fc.array(weightedV1beta1) }),
  ),
  wireCase(
    oursV1beta1.DepositV1beta1,
    theirsV1beta1.Deposit,
    fc.record({ proposalId: count, depositor: text, amount: coins }),
  ),
  wireCase(
    oursV1beta1.ProposalV1beta1,
    theirsV1beta1.Proposal,
    fc.record({
      proposalId: count,
      content: any,
      status,
      finalTallyResult: fc.record({ yes: amounts, abstain: amounts, no: amounts, noWithVeto: amounts }),
      submitTime: time,
      depositEndTime: time,
      totalDeposit: coins,
      votingStartTime: time,
      votingEndTime: time,
    }),
  ),
  wireCase(
    oursV1beta1.DepositParamsV1beta1,
    theirsV1beta1.DepositParams,
    fc.record({ minDeposit: coins, maxDepositPeriod: time }),
  ),
  wireCase(oursV1beta1.VotingParamsV1beta1, theirsV1beta1.VotingParams, fc.record({ votingPeriod: time })),
  wireCase(
    oursV1beta1.MsgSubmitProposalV1beta1,
    theirMessagesV1beta1.MsgSubmitProposal,
    fc.record({ content: any, initialDeposit: coins, proposer: text }),
  ),
  wireCase(
    oursV1beta1.MsgSubmitProposalResponseV1beta1,
    theirMessagesV1beta1.MsgSubmitProposalResponse,
    fc.record({ proposalId: count }),
  ),
  wireCase(
    oursV1beta1.MsgVoteV1beta1,
    theirMessagesV1beta1.MsgVote,
    fc.record({ proposalId: count, voter: text, option }),
  ),
  wireCase(
    oursV1beta1.MsgVoteWeightedV1beta1,
    theirMessagesV1beta1.MsgVoteWeighted,
    fc.record({ proposalId: count, voter: text, options: fc.array(weightedV1beta1) }),
  ),
  wireCase(
    oursV1beta1.MsgDepositV1beta1,
    theirMessagesV1beta1.MsgDeposit,
    fc.record({ proposalId: count, depositor: text, amount: coins }),
  ),
  wireCase(contents.TextProposal, theirsV1beta1.TextProposal, fc.record(content)),
  wireCase(
    contents.ParameterChangeProposal,
    theirParams.ParameterChangeProposal,
    fc.record({ ...content, changes: fc.array(fc.record({ subspace: text, key: text, value: text })) }),
  ),
  wireCase(
    contents.CommunityPoolSpendProposal,
    theirDistribution.CommunityPoolSpendProposal,
    fc.record({ ...content, recipient: text, amount: coins }),
  ),
  wireCase(Plan, theirUpgrade.Plan, plan),
  wireCase(contents.SoftwareUpgradeProposal, theirUpgrade.SoftwareUpgradeProposal, fc.record({ ...content, plan })),
  wireCase(contents.CancelSoftwareUpgradeProposal, theirUpgrade.CancelSoftwareUpgradeProposal, fc.record(content)),
]

it.each(CASES.map((wire) => ({ name: wire.ours.name, wire })))('$name is encoded as cosmjs-types does', ({ wire }) => {
  expectSameWire(wire)
})

it('names of answers are those of the SDK', () => {
  const known: Readonly<Record<string, unknown>> = { ...theirMessages }
  const knownV1beta1: Readonly<Record<string, unknown>> = { ...theirMessagesV1beta1 }
  for (const { type, response } of govMessages(() => new Map())) {
    const messages = type.name.includes('.v1beta1.') ? knownV1beta1 : known
    const name = type.name.split('.').at(-1)!
    expect((messages[`${name}Response`] as TheirMessage).typeUrl).toBe(response.typeUrl)
  }
})

/** The .proto file calls these three bytes; cosmjs-types has them as bytes, in which the SDK writes the digits. */
it('tally parameters of v1beta1 are digits in bytes', () => {
  const encoded = oursV1beta1.TallyParamsV1beta1.encode({ quorum: 334n * 10n ** 15n, threshold: 5n, vetoThreshold: 0n })
  const { quorum, threshold, vetoThreshold } = theirsV1beta1.TallyParams.decode(encoded)
  expect([quorum, threshold, vetoThreshold].map((bytes) => Buffer.from(bytes).toString())).toEqual([
    '334000000000000000',
    '5',
    '0',
  ])
})
