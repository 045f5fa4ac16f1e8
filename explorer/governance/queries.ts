import type { Kysely, Selectable } from 'kysely'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import { cursorPage, type NumberPage, type NumberPageRequest } from '../api/cursors.ts'
import { viewAmount, viewTime } from '../api/views.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import type { Deposit, Proposal, Vote } from './shapes.ts'

/* Proposals with their votes and deposits. Each list is one walk along an index, from the newest row to the oldest. */

type Queries = Kysely<Tables>
type ProposalRow = Selectable<Tables['proposal']>

/** The tally of a proposal as the node returns it. */
export interface NodeTally {
  readonly yes_count: string
  readonly abstain_count: string
  readonly no_count: string
  readonly no_with_veto_count: string
}

/** A proposal's column `content`. */
interface Content {
  readonly title: string
  readonly summary: string
  readonly metadata: string
  readonly messages: Record<string, unknown>[]
  readonly failedReason: string
  readonly tally: NodeTally | null
}

export async function listProposals(
  queries: Queries,
  { limit, before = Number.MAX_SAFE_INTEGER }: NumberPageRequest,
): Promise<NumberPage<Proposal>> {
  const rows = await queries
    .selectFrom('proposal')
    .selectAll()
    .where('id', '<', before)
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute()
  return cursorPage(rows, limit, viewProposal, ({ id }) => id)
}

export function findProposal(queries: Queries, id: number): Promise<ProposalRow | undefined> {
  return queries.selectFrom('proposal').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Lists the votes on a proposal, or of an account. */
export async function listVotes(
  queries: Queries,
  filter: { readonly proposal: number } | { readonly voter: Uint8Array },
  { limit, before = Number.MAX_SAFE_INTEGER }: NumberPageRequest,
): Promise<NumberPage<Vote>> {
  const select = queries
    .selectFrom('proposal_vote')
    .leftJoin('tx', 'tx.position', 'proposal_vote.position')
    .selectAll('proposal_vote')
    .select('tx.hash')
    .where('number', '<', before)
    .orderBy('number', 'desc')
    .limit(limit + 1)
  const rows = await ('voter' in filter
    ? select.where('voter', '=', filter.voter)
    : select.where('proposal_id', '=', filter.proposal)
  ).execute()
  return cursorPage(rows, limit, viewVote, ({ number }) => number)
}

/** Lists the deposits on a proposal. */
export async function listDeposits(
  queries: Queries,
  proposal: number,
  { limit, before = Number.MAX_SAFE_INTEGER }: NumberPageRequest,
): Promise<NumberPage<Deposit>> {
  const rows = await queries
    .selectFrom('proposal_deposit')
    .leftJoin('tx', 'tx.position', 'proposal_deposit.position')
    .selectAll('proposal_deposit')
    .select('tx.hash')
    .where('proposal_id', '=', proposal)
    .where('number', '<', before)
    .orderBy('number', 'desc')
    .limit(limit + 1)
    .execute()
  return cursorPage(rows, limit, viewDeposit, ({ number }) => number)
}

export function contentOf(row: Pick<ProposalRow, 'content'>): Content {
  return JSON.parse(row.content) as Content
}

export function viewProposal(row: ProposalRow): Proposal {
  const time = (ms: number | null): string | null => (ms === null ? null : viewTime(ms))
  return {
    id: row.id,
    title: contentOf(row).title,
    proposer: row.proposer === null ? null : toChecksumAddress(row.proposer),
    status: row.status as Proposal['status'],
    isExpedited: row.is_expedited === 1,
    submitTime: time(row.submit_time),
    depositEndTime: time(row.deposit_end_time),
    votingStartTime: time(row.voting_start_time),
    votingEndTime: time(row.voting_end_time),
    totalDeposit: viewAmount(row.total_deposit),
  }
}

/** By their numbers in cosmos.gov.v1.VoteOption. */
const OPTIONS: Readonly<Record<number, Vote['options'][number]['option']>> = {
  1: 'yes',
  2: 'abstain',
  3: 'no',
  4: 'noWithVeto',
}

type InTransaction = { readonly hash: Uint8Array | null }

function viewVote(row: Selectable<Tables['proposal_vote']> & InTransaction): Vote {
  const options = JSON.parse(row.options) as readonly { readonly option: number; readonly weight: string }[]
  return {
    proposal: row.proposal_id,
    voter: toChecksumAddress(row.voter),
    options: options.map(({ option, weight }) => ({ option: OPTIONS[option]!, weight })),
    height: heightOf(row.position),
    transaction: row.hash === null ? null : bytesToHex(row.hash),
    isReplaced: row.is_newest === 0,
  }
}

function viewDeposit(row: Selectable<Tables['proposal_deposit']> & InTransaction): Deposit {
  return {
    proposal: row.proposal_id,
    depositor: toChecksumAddress(row.depositor),
    amount: viewAmount(row.amount),
    height: heightOf(row.position),
    transaction: row.hash === null ? null : bytesToHex(row.hash),
  }
}
