import {
  type BlockId,
  equalBlockId,
  isNilBlockId,
  type Proposal,
  type Vote,
  type VoteType,
} from '../../../src/chain/comet/types.ts'
import type { SimNode } from '../simNode.ts'
import type { Byzantine } from './byzantine.ts'
import { forgeVote, inventedBlockId, isOwnVote, NIL, PRECOMMIT, PREVOTE, voteFor } from './forge.ts'

/** Sends nothing, or loses each message with a probability of 1 to `oneIn`. */
export function silent(oneIn = 1): Byzantine {
  return {
    name: oneIn === 1 ? 'silent' : 'lossy',
    send(node, to, message) {
      if (!node.random.oneIn(oneIn)) node.transmit(to, message)
    },
  }
}

/** Sends everything late. */
export function slow(mostMs: number): Byzantine {
  return {
    name: 'slow',
    send(node, to, message) {
      node.later(node.random.below(mostMs), () => node.transmit(to, message))
    },
  }
}

/** Votes for two values: every peer gets one of them, some both; none gets both of one that is `isCautious`. */
export function equivocatingVoter(types: readonly number[] = [PREVOTE, PRECOMMIT], isCautious = false): Byzantine {
  return {
    name: 'equivocatingVoter',
    send(node, to, message) {
      if (message.kind !== 'vote' || !isOwnVote(node, message.vote) || !types.includes(message.vote.type)) {
        node.transmit(to, message)
        return
      }
      const { vote } = message
      const other = forgeVote(node, { ...vote, blockId: isNilBlockId(vote.blockId) ? inventedBlockId(node) : NIL })
      node.simulation.equivocated(node, other)
      const half = to.filter((peer) => peer % 2 === 0)
      const rest = to.filter((peer) => peer % 2 === 1)
      node.transmit(half, message)
      node.transmit(rest, { kind: 'vote', vote: other })
      if (isCautious) return
      // A peer that gets both has the proof.
      if (node.random.oneIn(2)) node.transmit(to, { kind: 'vote', vote: other })
      if (node.random.oneIn(2)) node.transmit(rest, message)
    },
  }
}

/**
 * Forgets every lock: votes at once, prevote and precommit, for each proposal that it sees, and nil with everybody who gives a round up,
 * at any height, regardless of its earlier votes; but never twice in a step. It relays no messages and serves no decided block, so that
 * groups of nodes stay as far apart as possible.
 */
export function amnesiac(): Byzantine {
  const voted = new Set<string>()
  const cast = (node: SimNode, type: VoteType, vote: Pick<Vote, 'height' | 'round' | 'blockId'>): void => {
    const key = `${vote.height}/${vote.round}/${type}`
    if (voted.size === voted.add(key).size) return
    const signed = voteFor(node, type, vote)
    const peers = node.simulation.network.peersOf(node.index)
    if (signed !== undefined) node.transmit(peers, { kind: 'vote', vote: signed })
  }
  const voteForProposal = (node: SimNode, proposal: Proposal): void => {
    for (const type of [PREVOTE, PRECOMMIT]) cast(node, type, proposal)
  }
  return {
    name: 'amnesiac',
    send(node, to, message) {
      if (message.kind === 'status' || message.kind === 'vote') return
      node.transmit(to, message)
      if (message.kind === 'proposal') voteForProposal(node, message.proposal)
    },
    onReceive(node, _from, message) {
      if (node.engine === undefined) return
      if (message.kind === 'proposal') voteForProposal(node, message.proposal)
      else if (message.kind === 'vote' && isNilBlockId(message.vote.blockId)) {
        cast(node, message.vote.type, message.vote)
      }
    },
    serve: () => 'silent',
  }
}

/** Prevotes and precommits at random: nil, the proposal, or a block that nobody has. One vote a step. */
export function contrarian(): Byzantine {
  return {
    name: 'contrarian',
    send(node, to, message) {
      if (message.kind !== 'vote' || !isOwnVote(node, message.vote)) {
        node.transmit(to, message)
        return
      }
      const { proposal } = node.engine!.roundState
      const choices: BlockId[] = [NIL, inventedBlockId(node)]
      if (proposal !== undefined) choices.push(proposal.blockId)
      const blockId = node.random.pick(choices)
      const vote = equalBlockId(blockId, message.vote.blockId)
        ? message.vote
        : forgeVote(node, { ...message.vote, blockId })
      node.transmit(to, { kind: 'vote', vote })
    },
  }
}
