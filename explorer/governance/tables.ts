import { bytes, defineTable, int, nullable, text } from '../database/defineTable.ts'

export const GOVERNANCE_TABLES = {
  /** Proposals of governance. Times are null where they are not known (yet). */
  proposal: defineTable({
    since: '0005_governance',
    columns: {
      id: int,
      /** where it was submitted; 0: before the index begins */
      position: int,
      proposer: nullable(bytes),
      /** deposit, voting, passed, rejected, failed; expired without its deposit, cancelled by its proposer; unknown */
      status: text,
      is_expedited: int,
      submit_time: nullable(int),
      deposit_end_time: nullable(int),
      voting_start_time: nullable(int),
      voting_end_time: nullable(int),
      total_deposit: bytes,
      /** JSON: title, summary, metadata, messages, failedReason, tally (that of the end) */
      content: text,
    },
    key: ['id'],
  }),
  /** Every vote, also those that a later one of the same voter replaced. */
  proposal_vote: defineTable({
    since: '0005_governance',
    columns: {
      /** 1, 2, 3 … in the order of the chain */
      number: int,
      proposal_id: int,
      voter: bytes,
      /** JSON: options with their weights */
      options: text,
      position: int,
      /** 1: it is the voter's last one on this proposal */
      is_newest: int,
    },
    key: ['number'],
    indexes: {
      proposal_vote_proposal: { columns: ['proposal_id', 'number'] },
      proposal_vote_voter: { columns: ['voter', 'number'] },
      proposal_vote_newest: { columns: ['proposal_id', 'voter', 'is_newest'] },
    },
  }),
  proposal_deposit: defineTable({
    since: '0005_governance',
    columns: {
      /** 1, 2, 3 … in the order of the chain */
      number: int,
      proposal_id: int,
      depositor: bytes,
      amount: bytes,
      position: int,
    },
    key: ['number'],
    indexes: {
      proposal_deposit_proposal: { columns: ['proposal_id', 'number'] },
    },
  }),
} as const
