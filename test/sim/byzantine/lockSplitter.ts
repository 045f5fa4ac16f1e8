import { type BlockId, NIL_BLOCK_ID, type VoteType } from '../../../src/chain/comet/types.ts'
import { bitIndices } from '../../../src/consensus/bitSet.ts'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { timeoutMs } from '../../../src/consensus/timing.ts'
import type { SimNode } from '../simNode.ts'
import type { Byzantine } from './byzantine.ts'
import { isOwnProposal, PRECOMMIT, PREVOTE, voteFor } from './forge.ts'

const CHECK_MS = 10
/** How long before its timeout a node gets the vote that it lacks, with the way there. */
const BEFORE_TIMEOUT_MS = 80

/**
 * Signs nothing twice, so nothing is evidence. Its block goes to some nodes only. Its prevote goes to one node, late, when that node lacks
 * this one for a majority: the node locks the block, which is of no use to the others as long as they do not learn why. Its
 * precommits are nil, or go to one node as well.
 */
export function lockSplitter(): Byzantine {
  const voted = new Set<string>()
  const cast = (node: SimNode, to: readonly number[], type: VoteType, vote: Place, blockId: BlockId): void => {
    const key = `${type}/${vote.height}/${vote.round}`
    if (voted.has(key)) return
    voted.add(key)
    const signed = voteFor(node, type, { ...vote, blockId })
    if (signed !== undefined) node.transmit(to, { kind: 'vote', vote: signed })
  }
  const look = (node: SimNode, type: VoteType, step: number): void => {
    const { simulation, random } = node
    const others = simulation.honest.map(({ index }) => index)
    const ready = simulation.honest.flatMap(({ index, engine }) => {
      const view = engine?.roundState
      const blockId = view?.proposal?.blockId
      if (view === undefined || blockId === undefined || view.step !== step) return []
      return lacksOne(view.votes(view.round, type), blockId, view.validators.validators.length)
        ? [{ index, place: { height: view.height, round: view.round }, blockId }]
        : []
    })
    if (ready.length === 0) return
    const { index, place, blockId } = random.pick(ready)
    if (seen.has(`${type}/${place.height}/${place.round}`)) return
    seen.add(`${type}/${place.height}/${place.round}`)
    const step1 = type === PREVOTE ? 'prevote' : 'precommit'
    const waitMs = timeoutMs(step1, place.round, simulation.chain.timing) - BEFORE_TIMEOUT_MS
    node.later(waitMs, () => {
      const view = simulation.nodes[index]!.engine?.roundState
      if (view?.height === place.height && view.round === place.round && view.step === step) {
        cast(node, [index], type, place, blockId)
      }
    })
    // Ends the round of the others sooner.
    if (type === PREVOTE && random.oneIn(2)) {
      node.later(waitMs + BEFORE_TIMEOUT_MS, () => cast(node, others, PRECOMMIT, place, NIL_BLOCK_ID))
    }
  }
  const seen = new Set<string>()
  const keepLooking = (node: SimNode): void => {
    look(node, PREVOTE, STEPS.prevote)
    look(node, PRECOMMIT, STEPS.precommit)
    node.later(CHECK_MS, () => keepLooking(node))
  }
  let receivers: { readonly height: number; readonly nodes: readonly number[] } | undefined
  return {
    name: 'lockSplitter',
    onStart: keepLooking,
    serve: () => 'silent',
    send(node, to, message) {
      if (message.kind === 'status') node.transmit(to, message)
      if (message.kind !== 'proposal' && message.kind !== 'part') return
      const { proposal } = node.engine!.roundState
      if (proposal === undefined || proposal.polRound >= 0 || !isOwnProposal(node, proposal)) return
      const { height } = proposal
      if (receivers?.height !== height) {
        const honest = node.simulation.honest.map(({ index }) => index)
        const without = node.random.pick(honest)
        receivers = { height, nodes: honest.filter((index) => index !== without) }
      }
      const { nodes } = receivers
      node.transmit(
        to.filter((peer) => nodes.includes(peer)),
        message,
      )
    },
  }
}

interface Place {
  readonly height: number
  readonly round: number
}

type Votes = ReturnType<NonNullable<SimNode['engine']>['roundState']['votes']>

/** Whether all have voted except one, with whose vote the block has more than two thirds. All have the same power. */
function lacksOne(votes: Votes, blockId: BlockId, validators: number): boolean {
  if (votes === undefined || bitIndices(votes.bits()).length !== validators - 1) return false
  const count = bitIndices(votes.bitsFor(blockId)).length
  return count * 3 <= validators * 2 && (count + 1) * 3 > validators * 2
}
