import type { BlockId } from '../../../src/chain/comet/types.ts'
import type { SimNode } from '../simNode.ts'
import type { Byzantine } from './byzantine.ts'
import {
  type CutBlock,
  cutBlock,
  forgeProposal,
  isOwnProposal,
  joinParts,
  PRECOMMIT,
  PREVOTE,
  variantOf,
  voteFor,
} from './forge.ts'

/**
 * Validators that work together: each of them that proposes makes two blocks, and all vote for the first one to one half of the nodes and
 * for the second one to the other half. With more than a third of the power they can make a fork, with less they cannot.
 * @param isFirstHalf which nodes get the first block
 */
export function colluders(count: number, isFirstHalf: (node: number) => boolean): Byzantine[] {
  const pairs = new Map<string, { readonly first: BlockId; readonly second: BlockId }>()
  const voted = new Set<string>()

  const voteForBoth = (node: SimNode, height: number, round: number): void => {
    const pair = pairs.get(`${height}/${round}`)
    const { engine, simulation, index } = node
    if (pair === undefined || engine?.roundState.height !== height) return
    const key = `${index}/${height}/${round}`
    if (voted.size === voted.add(key).size) return
    const peers = simulation.network.peersOf(index)
    for (const type of [PREVOTE, PRECOMMIT]) {
      for (const isFirst of [true, false]) {
        const vote = voteFor(node, type, { height, round, blockId: isFirst ? pair.first : pair.second })
        const to = peers.filter((peer) => isFirstHalf(peer) === isFirst)
        if (vote !== undefined) node.transmit(to, { kind: 'vote', vote })
      }
    }
  }

  return Array.from({ length: count }, () => ({
    name: 'colluder',
    send(node, to, message) {
      if (message.kind === 'proposal' && isOwnProposal(node, message.proposal)) {
        const { height, round } = message.proposal
        const first = ownBlock(node)
        if (first === undefined || height !== node.engine!.roundState.height) return
        const second = cutBlock(variantOf(first.block, 99))
        pairs.set(`${height}/${round}`, { first: first.blockId, second: second.blockId })
        const { signature: _, ...unsigned } = message.proposal
        for (const isFirst of [true, false]) {
          const { blockId, parts } = isFirst ? first : second
          const peers = to.filter((peer) => isFirstHalf(peer) === isFirst)
          const proposal = forgeProposal(node, { ...unsigned, blockId })
          node.transmit(peers, { kind: 'proposal', proposal })
          for (const part of parts) node.transmit(peers, { kind: 'part', height, round, part })
        }
        voteForBoth(node, height, round)
        return
      }
      // Its own votes of such a round are cast; whatever else it hears it keeps.
      if (message.kind !== 'vote') return
      const { height, round } = message.vote
      if (!pairs.has(`${height}/${round}`)) node.transmit(to, message)
    },
    onReceive(node, _from, message) {
      if (message.kind === 'proposal') voteForBoth(node, message.proposal.height, message.proposal.round)
    },
    serve: () => 'silent' as const,
  }))
}

function ownBlock(node: SimNode): CutBlock | undefined {
  const { proposal, parts } = node.engine!.roundState
  if (proposal === undefined || parts === undefined) return undefined
  const held = Array.from({ length: parts.header.total }, (_, index) => parts.part(index))
  const whole = held.filter((part) => part !== undefined)
  const block = whole.length === held.length ? joinParts(whole) : undefined
  return block === undefined ? undefined : { block, blockId: proposal.blockId, parts: whole }
}
