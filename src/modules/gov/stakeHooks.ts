import type { Address } from '../../primitives/address.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { ModuleContext } from '../context.ts'
import { TALLIES_PREFIX, voteKey } from './keys.ts'
import { countVote } from './tally.ts'
import { putTally, Tally } from './tallyState.ts'
import { getVote } from './votes.ts'

/**
 * To be called before delegations of `delegator` change: tallies that are under way count its vote while it has the stake
 * it had when they began. Costs one look-up while there is no such tally.
 */
export function beforeStakeChanges({ world: { native } }: ModuleContext, delegator: Address): void {
  const underWay = [...native.range(TALLIES_PREFIX)].map(([key, value]) => ({
    id: bytesToBigInt(key.subarray(TALLIES_PREFIX.length)),
    tally: Tally.decode(value),
  }))
  for (const { id, tally } of underWay) {
    const vote = getVote(native, id, delegator)
    if (vote === undefined) continue
    putTally(native, id, countVote(native, tally, delegator, vote))
    native.delete(voteKey(id, delegator))
  }
}
