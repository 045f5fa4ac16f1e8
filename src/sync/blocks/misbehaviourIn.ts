import type { FetchedBlocks, Misbehaviour } from '../../consensus/transport.ts'
import type { OpenRequest } from './syncPeers.ts'

/**
 * The height in a peer's answer may be lower by this than an earlier one: a block is readable a moment after it is announced, and
 * answers may overtake each other.
 */
const HEIGHT_SLACK = 2

/**
 * Returns the misbehaviour in an answer, which no honest peer sends: too many blocks, a height
 * below the claimed one, or no block although the peer claims to have it. A request for no block
 * asks for the height alone.
 */
export function misbehaviourIn(
  { from, count, claimedHeight }: Pick<OpenRequest, 'from' | 'count' | 'claimedHeight'>,
  answer: FetchedBlocks,
): readonly [Misbehaviour, string] | undefined {
  if (answer.blocks.length > count) return ['malformed', `${answer.blocks.length} blocks for ${count} asked for`]
  if (answer.height + HEIGHT_SLACK < claimedHeight) {
    return ['false height', `height is ${answer.height}, was ${claimedHeight}`]
  }
  if (count > 0 && answer.blocks.length === 0 && answer.base <= from && answer.height >= from) {
    return ['false height', `no block ${from}, but height ${answer.height} and base ${answer.base}`]
  }
  if (answer.base > answer.height + 1) return ['malformed', `base ${answer.base} over height ${answer.height}`]
  return undefined
}
