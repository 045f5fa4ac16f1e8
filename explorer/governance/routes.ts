import type { Selectable } from 'kysely'
import { z } from 'zod'
import { toChecksumAddress } from '../../src/primitives/address.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'
import type { Api } from '../api/api.ts'
import { numberPageOf, numberPageQuery, problem } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { viewAmount, viewTime } from '../api/views.ts'
import { heightOf } from '../database/position.ts'
import type { Tables } from '../database/schema.ts'
import { NodeError } from '../node/nodeClient.ts'
import {
  type Deposit,
  deposit,
  type Proposal,
  type ProposalDetail,
  proposal,
  proposalDetail,
  type Vote,
  vote,
} from './shapes.ts'

/** About as long as a block takes. */
const TALLY_MS = 400
/** Parameters change by proposals alone, the bonded stake a little with each block. */
const RULES_MS = 5_000

/** As the node writes how votes stand. */
interface NodeTally {
  readonly yes_count: string
  readonly abstain_count: string
  readonly no_count: string
  readonly no_with_veto_count: string
}

/** As the node writes what decides a vote. */
interface NodeRules {
  readonly quorum: string
  readonly threshold: string
  readonly expedited_threshold: string
  readonly veto_threshold: string
}

interface Content {
  readonly title: string
  readonly summary: string
  readonly metadata: string
  readonly messages: Record<string, unknown>[]
  readonly failedReason: string
  readonly tally: NodeTally | null
}

/** Proposals with their votes and deposits. */
export function addGovernance(
  app: Api['app'],
  { queries, node, cache }: Pick<Api, 'queries' | 'node' | 'cache'>,
): void {
  const tags = ['governance']
  const params = z.object({ id: z.coerce.number().int().min(1).max(Number.MAX_SAFE_INTEGER) })

  app.get(
    '/proposals',
    {
      schema: {
        tags,
        summary: 'Proposals, newest first',
        querystring: numberPageQuery,
        response: { 200: numberPageOf(proposal) },
      },
    },
    async ({ query: { limit, before } }) => {
      let select = queries
        .selectFrom('proposal')
        .selectAll()
        .orderBy('id', 'desc')
        .limit(limit + 1)
      if (before !== undefined) select = select.where('id', '<', before)
      const rows = await select.execute()
      return { items: rows.slice(0, limit).map(viewProposal), next: rows.length > limit ? rows[limit - 1]!.id : null }
    },
  )

  app.get(
    '/proposals/:id',
    {
      schema: {
        tags,
        summary: 'A proposal with its messages and tally',
        params,
        response: { 200: proposalDetail, 404: problem },
      },
    },
    async ({ params: { id } }, reply) => {
      const row = await queries.selectFrom('proposal').selectAll().where('id', '=', id).executeTakeFirst()
      if (row === undefined) return reply.code(404).send({ error: 'no such proposal in the index' })
      const { summary, metadata, messages, failedReason, tally } = JSON.parse(row.content) as Content
      const isVoting = row.status === 'voting'
      const [counted, rules] = await Promise.all([
        isVoting ? ofNode(() => runningTally(id)) : tally,
        isVoting ? ofNode(() => rulesNow(row.is_expedited === 1)) : null,
      ])
      return { ...viewProposal(row), summary, metadata, messages, failedReason, tally: viewTally(counted), rules }
    },
  )

  const runningTally = async (id: number): Promise<NodeTally> => {
    const path = `/cosmos/gov/v1/proposals/${id}/tally`
    const { tally } = await cache.get(path, TALLY_MS, () => node.rest(path) as Promise<{ readonly tally: NodeTally }>)
    return tally
  }

  const rulesNow = async (isExpedited: boolean): Promise<NonNullable<ProposalDetail['rules']>> => {
    const { params, pool } = await cache.get('rules of votes', RULES_MS, async () => {
      const [{ params }, { pool }] = await Promise.all([
        node.rest('/cosmos/gov/v1/params/tallying') as Promise<{ readonly params: NodeRules }>,
        node.rest('/cosmos/staking/v1beta1/pool') as Promise<{ readonly pool: { readonly bonded_tokens: string } }>,
      ])
      return { params, pool }
    })
    return {
      bonded: pool.bonded_tokens,
      quorum: params.quorum,
      threshold: isExpedited ? params.expedited_threshold : params.threshold,
      vetoThreshold: params.veto_threshold,
    }
  }

  app.get(
    '/proposals/:id/votes',
    {
      schema: {
        tags,
        summary: 'Votes on a proposal',
        params,
        querystring: numberPageQuery,
        response: { 200: numberPageOf(vote) },
      },
    },
    ({ params: { id }, query }) => listVotes('proposal_id', id, query),
  )

  app.get(
    '/addresses/:address/votes',
    {
      schema: {
        tags,
        summary: 'Votes of an account',
        params: z.object({ address: spelledAddress.describe('0x… or coin1…') }),
        querystring: numberPageQuery,
        response: { 200: numberPageOf(vote) },
      },
    },
    ({ params: { address }, query }) => listVotes('voter', address, query),
  )

  const listVotes = async (
    column: 'proposal_id' | 'voter',
    value: number | Uint8Array,
    { limit, before = Number.MAX_SAFE_INTEGER }: z.infer<typeof numberPageQuery>,
  ) => {
    const rows = await queries
      .selectFrom('proposal_vote')
      .leftJoin('tx', 'tx.position', 'proposal_vote.position')
      .selectAll('proposal_vote')
      .select('tx.hash')
      .where(column, '=', value)
      .where('number', '<', before)
      .orderBy('number', 'desc')
      .limit(limit + 1)
      .execute()
    return { items: rows.slice(0, limit).map(viewVote), next: rows.length > limit ? rows[limit - 1]!.number : null }
  }

  app.get(
    '/proposals/:id/deposits',
    {
      schema: {
        tags,
        summary: 'Deposits on a proposal',
        params,
        querystring: numberPageQuery,
        response: { 200: numberPageOf(deposit) },
      },
    },
    async ({ params: { id }, query: { limit, before = Number.MAX_SAFE_INTEGER } }) => {
      const rows = await queries
        .selectFrom('proposal_deposit')
        .leftJoin('tx', 'tx.position', 'proposal_deposit.position')
        .selectAll('proposal_deposit')
        .select('tx.hash')
        .where('proposal_id', '=', id)
        .where('number', '<', before)
        .orderBy('number', 'desc')
        .limit(limit + 1)
        .execute()
      return {
        items: rows.slice(0, limit).map(viewDeposit),
        next: rows.length > limit ? rows[limit - 1]!.number : null,
      }
    },
  )
}

/** null while the node does not answer: the rest of a proposal is in the index. */
async function ofNode<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof NodeError) return null
    throw error
  }
}

function viewProposal(row: Selectable<Tables['proposal']>): Proposal {
  const time = (ms: number | null): string | null => (ms === null ? null : viewTime(ms))
  return {
    id: row.id,
    title: (JSON.parse(row.content) as Content).title,
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

function viewTally(tally: NodeTally | null) {
  if (tally === null) return null
  const { yes_count: yes, abstain_count: abstain, no_count: no, no_with_veto_count: noWithVeto } = tally
  return { yes, abstain, no, noWithVeto }
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
