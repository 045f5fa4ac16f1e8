import { type BlockId, SIGNED_MESSAGE_TYPES } from '../chain/consensus/types.ts'
import { copyBitSet, createBitSet } from './bitSet.ts'
import type { BitSet, StatusMessage } from './message.ts'
import type { PartsView, RoundStateView } from './roundStateView.ts'

const { prevote, precommit } = SIGNED_MESSAGE_TYPES

/** The status of the node whose state this is, as of now. `directValidators`: see {@link StatusMessage}. */
export function statusOf(view: RoundStateView, directValidators: BitSet): StatusMessage {
  const { height, round, step, proposal, parts, lastPrecommits: last } = view
  const size = view.validators.validators.length
  const bits = (ofRound: number, type: typeof prevote | typeof precommit): BitSet => {
    const votes = view.votes(ofRound, type)
    return votes === undefined ? createBitSet(size) : copyBitSet(votes.bits())
  }
  const pol = proposal === undefined || proposal.polRound < 0 ? undefined : proposal
  return {
    kind: 'status',
    height,
    round,
    step,
    hasProposal: proposal !== undefined,
    parts: parts === undefined ? undefined : { ...parts.header, have: heldParts(parts) },
    prevotes: bits(round, prevote),
    precommits: bits(round, precommit),
    pol: pol && { round: pol.polRound, prevotes: prevotesFor(view, pol.polRound, pol.blockId) },
    lastCommit: last === undefined ? undefined : { round: last.round, precommits: copyBitSet(last.bits()) },
    directValidators: copyBitSet(directValidators),
  }
}

/** Only those that count for the proof of lock: a validator may have given others to other nodes. */
function prevotesFor(view: RoundStateView, round: number, blockId: BlockId): BitSet {
  const votes = view.votes(round, prevote)
  return votes === undefined ? createBitSet(view.validators.validators.length) : copyBitSet(votes.bitsFor(blockId))
}

/** By index. */
export function heldParts(parts: PartsView): BitSet {
  const indices: number[] = []
  for (let index = 0; index < parts.header.total; index++) if (parts.has(index)) indices.push(index)
  return createBitSet(parts.header.total, indices)
}
