import { z } from 'zod'
import type { Api } from '../api/api.ts'
import { numberPageOf, numberPageQuery, problem } from '../api/shapes.ts'
import { spelledAddress } from '../api/spelledAddress.ts'
import { NodeError } from '../node/nodeClient.ts'
import {
  contentOf,
  findProposal,
  listDeposits,
  listProposals,
  listVotes,
  type NodeTally,
  viewProposal,
} from './queries.ts'
import { deposit, type ProposalDetail, proposal, proposalDetail, vote } from './shapes.ts'

/** About as long as a block takes. */
const TALLY_MS = 400
/** Only proposals change parameters; the bonded stake changes a little with each block. */
const RULES_MS = 5_000

/** The node's parameters for counting votes. */
interface NodeRules {
  readonly quorum: string
  readonly threshold: string
  readonly expedited_threshold: string
  readonly veto_threshold: string
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
    ({ query }) => listProposals(queries, query),
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
      const row = await findProposal(queries, id)
      if (row === undefined) return reply.code(404).send({ error: 'no such proposal in the index' })
      const { summary, metadata, messages, failedReason, tally } = contentOf(row)
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
    ({ params: { id }, query }) => listVotes(queries, { proposal: id }, query),
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
    ({ params: { address }, query }) => listVotes(queries, { voter: address }, query),
  )

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
    ({ params: { id }, query }) => listDeposits(queries, id, query),
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

function viewTally(tally: NodeTally | null) {
  if (tally === null) return null
  const { yes_count: yes, abstain_count: abstain, no_count: no, no_with_veto_count: noWithVeto } = tally
  return { yes, abstain, no, noWithVeto }
}
