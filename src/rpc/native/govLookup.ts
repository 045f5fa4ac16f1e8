import { getDeposit } from '../../modules/gov/deposits.ts'
import { getProposal } from '../../modules/gov/proposals.ts'
import type { Deposit, Proposal, Vote } from '../../modules/gov/types.ts'
import { getVote } from '../../modules/gov/votes.ts'
import { readAccount } from './addresses.ts'
import type { QueryContext } from './query.ts'
import { invalidArgument, notFound } from './queryError.ts'

/*
 * What both versions of gov's queries look up (x/gov/keeper/grpc_query.go). For a vote or deposit that is not there the SDK says
 * invalid argument.
 */

/** @throws QueryError */
export function requireProposal({ world }: QueryContext, id: bigint): Proposal {
  checkId(id)
  const proposal = getProposal(world.native, id)
  if (proposal === undefined) throw notFound(`proposal ${id} doesn't exist`)
  return proposal
}

/** @throws QueryError */
export function requireVote({ world }: QueryContext, id: bigint, voter: string): Vote {
  checkId(id)
  const vote = getVote(world.native, id, readAccount(voter))
  if (vote === undefined) throw invalidArgument(`voter: ${voter} not found for proposal: ${id}`)
  return vote
}

/** @throws QueryError */
export function requireDeposit({ world }: QueryContext, id: bigint, depositor: string): Deposit {
  checkId(id)
  const deposit = getDeposit(world.native, id, readAccount(depositor))
  if (deposit === undefined) throw invalidArgument(`depositer: ${depositor} not found for proposal: ${id}`)
  return deposit
}

/** @throws QueryError */
export function checkId(id: bigint): void {
  if (id === 0n) throw invalidArgument('proposal id can not be 0')
}
