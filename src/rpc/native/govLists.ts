import { depositsOf, getDeposit } from '../../modules/gov/deposits.ts'
import { PROPOSALS_PREFIX } from '../../modules/gov/keys.ts'
import { type Deposit, Proposal, type Vote } from '../../modules/gov/types.ts'
import { getVote, votesOf } from '../../modules/gov/votes.ts'
import type { PageRequest } from '../../modules/pagination.ts'
import { parseAddress } from '../../primitives/address.ts'
import { readAccount } from './addresses.ts'
import { checkId } from './govLookup.ts'
import { addressWalk, type Page, paginate, storeWalk } from './paginate.ts'
import type { QueryContext } from './query.ts'

/** Which proposals are asked for; 0 and '' mean all. */
export interface ProposalFilter {
  readonly proposalStatus: number
  readonly voter: string
  readonly depositor: string
  readonly pagination: PageRequest | undefined
}

/** Proposals in order of their IDs, filtered as in x/gov/keeper/grpc_query.go. */
export function proposalsPage(context: QueryContext, filter: ProposalFilter): Promise<Page<Proposal>> {
  const { native } = context.world
  const { proposalStatus, pagination } = filter
  const voter = filter.voter === '' ? undefined : readAccount(filter.voter)
  const depositor = filter.depositor === '' ? undefined : readAccount(filter.depositor)
  const walk = storeWalk(native, PROPOSALS_PREFIX, (_, value) => Proposal.decode(value))
  return paginate(context, pagination, walk, (proposal) => {
    if (proposalStatus !== 0 && proposal.status !== proposalStatus) return undefined
    if (voter !== undefined && getVote(native, proposal.id, voter) === undefined) return undefined
    if (depositor !== undefined && getDeposit(native, proposal.id, depositor) === undefined) return undefined
    return proposal
  })
}

export interface OfProposal {
  readonly proposalId: bigint
  readonly pagination: PageRequest | undefined
}

export function votesPage(context: QueryContext, { proposalId, pagination }: OfProposal): Promise<Page<Vote>> {
  checkId(proposalId)
  const walk = addressWalk(
    (options) => votesOf(context.world.native, proposalId, options),
    ({ voter }) => parseAddress(voter),
  )
  return paginate(context, pagination, walk, (vote) => vote)
}

export function depositsPage(context: QueryContext, { proposalId, pagination }: OfProposal): Promise<Page<Deposit>> {
  checkId(proposalId)
  const walk = addressWalk(
    (options) => depositsOf(context.world.native, proposalId, options),
    ({ depositor }) => parseAddress(depositor),
  )
  return paginate(context, pagination, walk, (deposit) => deposit)
}
