import { type BlockId, SIGNED_MESSAGE_TYPES } from '../../src/chain/comet/types.ts'
import type { RoundStateView, VoteSetView } from '../../src/consensus/roundStateView.ts'
import { bytesToHex } from '../../src/primitives/bytes.ts'

/** What a node remembers of its open height, as one line: equal for equal memories. */
export function fingerprint(view: RoundStateView): string {
  const rounds: string[] = []
  for (let round = 0; round <= view.round; round++) {
    const { prevote, precommit } = SIGNED_MESSAGE_TYPES
    rounds.push(`${votes(view.votes(round, prevote))}|${votes(view.votes(round, precommit))}`)
  }
  const { height, round, step, lockedRound, validRound, proposal } = view
  return [
    `${height}/${round}/${step}`,
    `locked ${lockedRound} ${short(view.lockedBlockId)}`,
    `valid ${validRound} ${short(view.validBlockId)}`,
    `proposal ${short(proposal?.blockId)} ${proposal?.polRound ?? ''}`,
    ...rounds,
  ].join(' ')
}

function votes(set: VoteSetView | undefined): string {
  if (set === undefined) return '-'
  let text = ''
  const { size } = set.bits()
  for (let index = 0; index < size; index++) {
    const vote = set.vote(index)
    if (vote !== undefined) text += `${index}:${short(vote.blockId)} `
  }
  return text
}

function short(id: BlockId | undefined): string {
  if (id === undefined) return '-'
  return id.hash.length === 0 ? 'nil' : bytesToHex(id.hash).slice(2, 8)
}
