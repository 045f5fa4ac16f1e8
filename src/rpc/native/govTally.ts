import { GOV_PARAMS } from '../../modules/gov/params.ts'
import { beginTally, countVotes, judge } from '../../modules/gov/tally.ts'
import { getTally } from '../../modules/gov/tallyState.ts'
import { DEPOSIT_PERIOD, type Proposal, type TallyResult, VOTING_PERIOD } from '../../modules/gov/types.ts'
import { pauseUntilDeadline } from './deadline.ts'
import type { QueryContext } from './query.ts'

/** Votes and delegations that are counted between two turns of the event loop. */
const COUNTED_A_TURN = 500

const NO_VOTES: TallyResult = { yesCount: '0', abstainCount: '0', noCount: '0', noWithVetoCount: '0' }

/**
 * How a vote stands: final when it ended, else by counting what there is (x/gov/keeper/grpc_query.go, TallyResult).
 * @throws QueryError when there are more votes than can be counted in time
 */
export async function currentTally(context: QueryContext, proposal: Proposal): Promise<TallyResult> {
  if (proposal.status === DEPOSIT_PERIOD) return NO_VOTES
  if (proposal.status !== VOTING_PERIOD) return proposal.finalTallyResult ?? NO_VOTES
  const { rpc, world } = context
  const { native } = world
  const pause = pauseUntilDeadline(rpc)
  let tally = getTally(native, proposal.id) ?? beginTally(native)
  for (;;) {
    // Votes are removed once they are counted: the query has the state for itself.
    const counted = countVotes(native, proposal.id, tally, { left: COUNTED_A_TURN })
    tally = counted.tally
    if (counted.isComplete) return judge(tally, GOV_PARAMS.get(native), proposal.expedited).result
    await pause()
  }
}
