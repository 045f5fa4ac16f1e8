import { type ConsensusBlock, dataHash, decodeBlock, encodeBlock, headerHash } from '../../../src/chain/comet/block.ts'
import { createPartSet, type Part } from '../../../src/chain/comet/partSet.ts'
import {
  type BlockId,
  NIL_BLOCK_ID,
  type Proposal,
  SIGNED_MESSAGE_TYPES,
  type UnsignedProposal,
  type UnsignedVote,
  type Vote,
  type VoteType,
} from '../../../src/chain/comet/types.ts'
import { proposerAt, validatorIndexOf } from '../../../src/chain/comet/validatorSet.ts'
import { proposalSignBytes, voteSignBytes } from '../../../src/chain/comet/vote.ts'
import { concatBytes, equalBytes } from '../../../src/primitives/bytes.ts'
import type { SimNode } from '../simNode.ts'

/** A block with what is needed to propose it. */
export interface CutBlock {
  readonly block: ConsensusBlock
  readonly blockId: BlockId
  readonly parts: readonly Part[]
}

export function cutBlock(block: ConsensusBlock): CutBlock {
  const { header, parts } = createPartSet(encodeBlock(block))
  return { block, blockId: { hash: headerHash(block.header), partSetHeader: header }, parts }
}

/** The block of these parts; undefined when they do not make one. */
export function joinParts(parts: readonly Part[]): ConsensusBlock | undefined {
  try {
    return decodeBlock(concatBytes(...parts.map(({ bytes }) => bytes)))
  } catch {
    return undefined
  }
}

/** The same block with another first transaction. */
export function variantOf(block: ConsensusBlock, first: number): ConsensusBlock {
  const txs = [Uint8Array.of(7, first, first), ...block.txs]
  return { ...block, txs, header: { ...block.header, dataHash: dataHash(txs) } }
}

/** Signs with the node's key, without any memory. */
export function forgeVote(node: SimNode, vote: UnsignedVote, chainId?: string): Vote {
  const { simulation, key } = node
  const signed = { ...vote, signature: key!.sign(voteSignBytes(chainId ?? simulation.chain.chainId, vote)) }
  if (chainId === undefined) simulation.voteSigned(signed)
  return signed
}

export function forgeProposal(node: SimNode, proposal: UnsignedProposal): Proposal {
  const { simulation, key } = node
  return { ...proposal, signature: key!.sign(proposalSignBytes(simulation.chain.chainId, proposal)) }
}

/** Position among the validators of the engine's height; undefined when it is none of them. */
export function ownIndex(node: SimNode): number | undefined {
  const index = validatorIndexOf(node.engine!.roundState.validators, node.key!.address)
  return index < 0 ? undefined : index
}

/** A vote of this node at any height that it knows the validators of; undefined when it is none of them. */
export function voteFor(
  node: SimNode,
  type: VoteType,
  { height, round, blockId }: Pick<UnsignedVote, 'height' | 'round' | 'blockId'>,
): Vote | undefined {
  const validators = node.application.validatorsAt(height)
  const index = validators === undefined ? -1 : validatorIndexOf(validators, node.key!.address)
  if (index < 0) return undefined
  return forgeVote(node, {
    type,
    height,
    round,
    blockId,
    timestampMs: node.nowMs(),
    validatorAddress: node.key!.address,
    validatorIndex: index,
  })
}

/** A block ID that no block has. */
export function inventedBlockId(node: SimNode): BlockId {
  return { hash: node.random.bytes(32), partSetHeader: { total: 1, hash: node.random.bytes(32) } }
}

export function isOwnVote(node: SimNode, vote: Vote): boolean {
  return node.key !== undefined && equalBytes(vote.validatorAddress, node.key.address)
}

export function isOwnProposal(node: SimNode, { round }: Proposal): boolean {
  const proposer = proposerAt(node.engine!.roundState.validators, round)
  return node.key !== undefined && equalBytes(proposer.address, node.key.address)
}

export const { prevote: PREVOTE, precommit: PRECOMMIT } = SIGNED_MESSAGE_TYPES
export const NIL = NIL_BLOCK_ID
