import { z } from 'zod'
import { address, amount, hash, height, share, time } from '../api/shapes.ts'

export const proposal = z.object({
  id: z.int(),
  title: z.string(),
  proposer: address.nullable(),
  status: z
    .enum(['deposit', 'voting', 'passed', 'rejected', 'failed', 'expired', 'cancelled', 'unknown'])
    .describe('failed: it passed, but its messages failed; expired: its minimum deposit was not reached'),
  isExpedited: z.boolean(),
  submitTime: time.nullable(),
  depositEndTime: time.nullable(),
  votingStartTime: time.nullable(),
  votingEndTime: time.nullable(),
  totalDeposit: amount,
})

export const proposalDetail = proposal.extend({
  summary: z.string(),
  metadata: z.string(),
  messages: z.array(z.record(z.string(), z.unknown())),
  failedReason: z.string(),
  tally: z
    .object({ yes: amount, abstain: amount, no: amount, noWithVeto: amount })
    .nullable()
    .describe(
      'acoin per option, so far or at the end of voting; null: there was no voting, or the node does not respond',
    ),
  rules: z
    .object({
      bonded: amount.describe('bonded acoin: all stake that can vote'),
      quorum: share.describe('share of the bonded coins that must vote'),
      threshold: share.describe('share of yes, without abstentions, above which the proposal passes'),
      vetoThreshold: share.describe('share of "no with veto" above which the proposal is rejected'),
    })
    .nullable()
    .describe(
      'rules for a proposal in its voting period; null: not in its voting period, or the node does not respond',
    ),
})

export const vote = z.object({
  proposal: z.int(),
  voter: address,
  options: z.array(z.object({ option: z.enum(['yes', 'abstain', 'no', 'noWithVeto']), weight: z.string() })),
  height,
  transaction: hash.nullable(),
  isReplaced: z.boolean().describe('true: the voter voted again, so this vote does not count'),
})

export const deposit = z.object({ proposal: z.int(), depositor: address, amount, height, transaction: hash.nullable() })

/** Of all modules. */
export const parameters = z.object({
  modules: z.array(
    z.object({
      name: z.string(),
      params: z.record(z.string(), z.unknown()).describe("in the form of the Cosmos SDK's REST"),
    }),
  ),
})

export type Proposal = z.infer<typeof proposal>
export type ProposalDetail = z.infer<typeof proposalDetail>
export type Vote = z.infer<typeof vote>
export type Deposit = z.infer<typeof deposit>
