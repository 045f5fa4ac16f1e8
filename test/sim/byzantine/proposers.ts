import { type ConsensusBlock, dataHash } from '../../../src/chain/comet/block.ts'
import { commitHash } from '../../../src/chain/comet/commit.ts'
import { evidenceHash } from '../../../src/chain/comet/evidence.ts'
import { ABSENT_COMMIT_SIG, type BlockId, type Evidence, equalBlockId } from '../../../src/chain/comet/types.ts'
import type { ConsensusMessage } from '../../../src/consensus/messages.ts'
import { equalBytes } from '../../../src/primitives/bytes.ts'
import { INVALID_TX } from '../simApplication.ts'
import type { SimNode } from '../simNode.ts'
import type { Byzantine } from './byzantine.ts'
import {
  type CutBlock,
  cutBlock,
  forgeProposal,
  forgeVote,
  inventedBlockId,
  isOwnProposal,
  isOwnVote,
  joinParts,
} from './forge.ts'

/** Parts of the current proposal are held back until the whole block is known. */
interface OwnProposal {
  readonly key: string
  readonly first: CutBlock
  second: CutBlock | undefined
}

/** The engine's own proposal of this round with its block; undefined while there is none. */
function ownBlock(node: SimNode): CutBlock | undefined {
  const { proposal, parts } = node.engine!.roundState
  if (proposal === undefined || parts === undefined || !isOwnProposal(node, proposal)) return undefined
  if (!equalBytes(parts.header.hash, proposal.blockId.partSetHeader.hash)) return undefined
  const held = Array.from({ length: parts.header.total }, (_, index) => parts.part(index))
  if (held.some((part) => part === undefined)) return undefined
  const whole = held.map((part) => part!)
  const block = joinParts(whole)
  return block === undefined ? undefined : { block, blockId: proposal.blockId, parts: whole }
}

function isOwnRound(node: SimNode, message: ConsensusMessage): boolean {
  const { height, round, proposal } = node.engine!.roundState
  if (proposal === undefined || !isOwnProposal(node, proposal)) return false
  if (message.kind === 'proposal') return message.proposal.height === height && message.proposal.round === round
  return message.kind === 'part' && message.height === height && message.round === round
}

/** Sends to each peer its half's block, and votes for that there. */
export function twoFacedProposer(votesTwice: boolean, splits = (peer: number): boolean => peer % 2 === 0): Byzantine {
  let own: OwnProposal | undefined
  const current = (node: SimNode): OwnProposal | undefined => {
    const { height, round } = node.engine!.roundState
    const key = `${height}/${round}`
    if (own?.key === key) return own
    const first = ownBlock(node)
    if (first === undefined) return undefined
    const { block } = first
    own = { key, first, second: cutBlock({ ...block, ...withTx(block, 99) }) }
    return own
  }
  return {
    name: votesTwice ? 'twoFaced' : 'twoFacedProposer',
    send(node, to, message) {
      const mine = isOwnRound(node, message) || (message.kind === 'vote' && isOwnVote(node, message.vote))
      const proposal = mine ? current(node) : undefined
      if (proposal?.second === undefined) {
        node.transmit(to, message)
        return
      }
      const others = to.filter((peer) => !splits(peer))
      node.transmit(to.filter(splits), message)
      const { second, first } = proposal
      if (message.kind === 'proposal') {
        const { signature: _, ...unsigned } = message.proposal
        const forged = forgeProposal(node, { ...unsigned, blockId: second.blockId })
        node.transmit(others, { kind: 'proposal', proposal: forged })
        for (const part of second.parts) {
          node.transmit(others, { kind: 'part', height: forged.height, round: forged.round, part })
        }
      } else if (message.kind === 'vote') {
        const isForFirst = equalBlockId(message.vote.blockId, first.blockId)
        if (!votesTwice || !isForFirst) node.transmit(others, message)
        else {
          const vote = forgeVote(node, { ...message.vote, blockId: second.blockId })
          node.simulation.equivocated(node, vote)
          node.transmit(others, { kind: 'vote', vote })
        }
      }
    },
  }
}

function withTx(block: ConsensusBlock, first: number): Pick<ConsensusBlock, 'txs' | 'header'> {
  const txs = [Uint8Array.of(7, first), ...block.txs]
  return { txs, header: { ...block.header, dataHash: dataHash(txs) } }
}

/** Holds the last part of its blocks back, and sends it when it is too late. */
export function withholder(lateMs: number): Byzantine {
  return {
    name: 'withholder',
    send(node, to, message) {
      if (
        message.kind !== 'part' ||
        !isOwnRound(node, message) ||
        message.part.index !== message.part.proof.total - 1
      ) {
        if (message.kind !== 'status') node.transmit(to, message)
        return
      }
      if (lateMs > 0) node.later(lateMs, () => node.transmit(to, message))
    },
  }
}

/** What is wrong with a block. */
export const BLOCK_FAULTS = {
  appHash: (block, node) => withHeader(block, { appHash: node.random.bytes(32) }),
  lastResultsHash: (block, node) => withHeader(block, { lastResultsHash: node.random.bytes(32) }),
  validatorsHash: (block, node) => withHeader(block, { validatorsHash: node.random.bytes(32) }),
  nextValidatorsHash: (block, node) => withHeader(block, { nextValidatorsHash: node.random.bytes(32) }),
  consensusHash: (block, node) => withHeader(block, { consensusHash: node.random.bytes(32) }),
  parent: (block, node) => withHeader(block, { lastBlockId: inventedBlockId(node) }),
  height: (block) => withHeader(block, { height: block.header.height + 1 }),
  chain: (block) => withHeader(block, { chainId: 'other-1' }),
  proposer: (block, node) => withHeader(block, { proposerAddress: node.random.bytes(20) }),
  dataHash: (block, node) => withHeader(block, { dataHash: node.random.bytes(32) }),
  earlyTime: (block) => withHeader(block, { timeMs: block.header.timeMs - 60_000 }),
  lateTime: (block) => withHeader(block, { timeMs: block.header.timeMs + 60_000 }),
  invalidTx: (block) => {
    const txs = [Uint8Array.of(INVALID_TX)]
    return { ...withHeader(block, { dataHash: dataHash(txs) }), txs }
  },
  emptyCommit: (block) => {
    const lastCommit = { ...block.lastCommit, signatures: block.lastCommit.signatures.map(() => ABSENT_COMMIT_SIG) }
    return { ...withHeader(block, { lastCommitHash: commitHash(lastCommit) }), lastCommit }
  },
  forgedCommit: (block, node) => {
    const signatures = block.lastCommit.signatures.map((sig, index) =>
      index === 0 && sig.signature.length > 0 ? { ...sig, signature: node.random.bytes(64) } : sig,
    )
    const lastCommit = { ...block.lastCommit, signatures }
    return { ...withHeader(block, { lastCommitHash: commitHash(lastCommit) }), lastCommit }
  },
  forgedEvidence: (block, node) => {
    const { height } = block.header
    if (height < 2) return withHeader(block, { evidenceHash: node.random.bytes(32) })
    const { validators } = node.engine!.state
    const victim = validators.validators[0]!
    const vote = {
      type: 1,
      height: height - 1,
      round: 0,
      blockId: inventedBlockId(node),
      timestampMs: block.header.timeMs,
      validatorAddress: victim.address,
      validatorIndex: 0,
      signature: node.random.bytes(64),
    } as const
    const evidence: Evidence[] = [
      {
        kind: 'duplicateVote',
        voteA: vote,
        voteB: { ...vote, blockId: inventedBlockId(node) },
        totalVotingPower: validators.totalPower,
        validatorPower: victim.power,
        timestampMs: node.application.block(height - 1)?.block.header.timeMs ?? 0,
      },
    ]
    return { ...withHeader(block, { evidenceHash: evidenceHash(evidence) }), evidence }
  },
} as const satisfies Readonly<Record<string, (block: ConsensusBlock, node: SimNode) => ConsensusBlock>>

export type BlockFault = keyof typeof BLOCK_FAULTS

function withHeader(block: ConsensusBlock, change: Partial<ConsensusBlock['header']>): ConsensusBlock {
  return { ...block, header: { ...block.header, ...change } }
}

/** Proposes blocks with a fault, and votes for them. `proposal` time follows the block's time. */
export function invalidProposer(pick: (node: SimNode) => BlockFault | 'oversize' | 'garbage' | 'falsePol'): Byzantine {
  let key = ''
  let forgedId: BlockId | undefined
  return {
    name: 'invalidProposer',
    send(node, to, message) {
      if (message.kind === 'part' && isOwnRound(node, message)) return
      if (message.kind === 'vote' && isOwnVote(node, message.vote) && forgedId !== undefined) {
        const { height, round } = message.vote
        if (key === `${height}/${round}`) {
          node.transmit(to, { kind: 'vote', vote: forgeVote(node, { ...message.vote, blockId: forgedId }) })
          return
        }
      }
      if (message.kind !== 'proposal' || !isOwnRound(node, message)) {
        node.transmit(to, message)
        return
      }
      const own = ownBlock(node)
      if (own === undefined) return
      const { height, round } = message.proposal
      const cut = damagedBlock(own, node, pick(node))
      key = `${height}/${round}`
      forgedId = cut.blockId
      const { signature: _, ...unsigned } = message.proposal
      const timestampMs = cut.block.header.timeMs
      const polRound = cut.polRound ?? unsigned.polRound
      const proposal = forgeProposal(node, { ...unsigned, polRound, blockId: cut.blockId, timestampMs })
      node.transmit(to, { kind: 'proposal', proposal })
      for (const part of cut.parts) node.transmit(to, { kind: 'part', height, round, part })
    },
  }
}

function damagedBlock(
  own: CutBlock,
  node: SimNode,
  fault: BlockFault | 'oversize' | 'garbage' | 'falsePol',
): CutBlock & { readonly polRound?: number } {
  switch (fault) {
    case 'oversize': {
      const { blockId } = own
      const total = Math.ceil(node.simulation.chain.params.maxBytes / 65_536) + 1 + node.random.below(1000)
      return { ...own, blockId: { ...blockId, partSetHeader: { ...blockId.partSetHeader, total } } }
    }
    case 'garbage': {
      const parts = own.parts.map((part) => ({ ...part, bytes: node.random.bytes(part.bytes.length) }))
      return { ...own, parts }
    }
    case 'falsePol':
      return { ...own, polRound: Math.max(-1, node.engine!.roundState.round - 1) }
    default:
      return cutBlock(BLOCK_FAULTS[fault](own.block, node))
  }
}
