import { GOV_PARAMS } from '../../modules/gov/params.ts'
import { type Budget, beginTally, countVotes, judge } from '../../modules/gov/tally.ts'
import { getTally } from '../../modules/gov/tallyState.ts'
import type { Proposal, TallyResult } from '../../modules/gov/types.ts'
import { type FunctionContext, OUT_OF_GAS } from '../dispatch.ts'

/** Gas of a vote, of a delegation of a voter, and of a bonded validator. */
const UNIT_GAS = 1_000n
/** Votes and delegations that are paid for and counted at once. */
const SLICE = 100

/** What the votes on a proposal would come to if voting ended now. Nothing stays counted. */
export function runningTally(
  { world, charge }: Pick<FunctionContext, 'world' | 'charge'>,
  { id, expedited }: Pick<Proposal, 'id' | 'expedited'>,
): TallyResult | typeof OUT_OF_GAS {
  const { native } = world
  let tally = getTally(native, id) ?? beginTally(native)
  const sliceGas = BigInt(SLICE + tally.validators.length) * UNIT_GAS
  world.checkpoint()
  try {
    for (let isComplete = false; !isComplete; ) {
      if (!charge(sliceGas)) return OUT_OF_GAS
      const budget: Budget = { left: SLICE }
      ;({ tally, isComplete } = countVotes(native, id, tally, budget))
      // the last vote of a slice is counted whole, whatever its voter delegates to
      if (budget.left < 0 && !charge(BigInt(-budget.left) * UNIT_GAS)) return OUT_OF_GAS
    }
    return judge(tally, GOV_PARAMS.get(native), expedited).result
  } finally {
    world.revert()
  }
}
