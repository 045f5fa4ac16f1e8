import type { ReadContext } from '../context.ts'
import { getProposal } from './proposals.ts'
import { beginTally, countAll, tallyResult } from './tally.ts'
import { getTally } from './tallyState.ts'
import { type TallyResult, VOTING_PERIOD } from './types.ts'

const NOTHING: TallyResult = { yesCount: '0', abstainCount: '0', noCount: '0', noWithVetoCount: '0' }

/**
 * How the votes on a proposal stand (TallyResult of x/gov/keeper/grpc_query.go): before the vote nothing, while it is voted on
 * what the votes would be worth now, and then the final result. Changes nothing.
 * @param charge asked before each vote and each delegation of a voter is read; without it there is no bound
 * @returns undefined when there is no such proposal, or when `charge` refused
 */
export function runningTally(
  { world: { native } }: ReadContext,
  id: bigint,
  charge: (units: number) => boolean = () => true,
): TallyResult | undefined {
  const proposal = getProposal(native, id)
  if (proposal === undefined) return undefined
  if (proposal.status !== VOTING_PERIOD) return proposal.finalTallyResult ?? NOTHING
  const counted = countAll(native, id, getTally(native, id) ?? beginTally(native), charge)
  return counted && tallyResult(counted)
}
