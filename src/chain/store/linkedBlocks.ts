import { equalBytes } from '../../primitives/bytes.ts'
import { type Hash, keccak256 } from '../../primitives/hash.ts'
import { type ConsensusBlock, decodeBlock, headerHash } from '../comet/block.ts'
import { commitHash } from '../comet/commit.ts'
import { evidenceHash } from '../comet/evidence.ts'
import { createPartSet } from '../comet/partSet.ts'
import { type BlockId, equalBlockId } from '../comet/types.ts'
import { ConsensusDecodingError } from '../comet/wire.ts'

/*
 * The chain of hashes, downwards from a block that is known to be the chain's. A block names the
 * one before it by both of that block's hashes, so the peer or file that supplies that block cannot
 * change it. Snapshots, restores and the backfill of old blocks are verified by this chain.
 */

/** A block's reference to the one before it: enough to recognize that one. */
export interface BlockLink {
  readonly height: number
  readonly blockId: BlockId
  /** of its Ethereum header */
  readonly ethereumHash: Hash
}

/** A block as it comes from elsewhere. */
export interface EncodedBlock {
  /** protobuf of the consensus block */
  readonly block: Uint8Array
  /** RLP of the Ethereum header */
  readonly header: Uint8Array
}

/** A block is not the one that the link names. */
export class LinkError extends Error {
  override readonly name = 'LinkError'
}

/** Returns the link to the block before this one. */
export function linkBefore({ header }: Pick<ConsensusBlock, 'header'>): BlockLink {
  return { height: header.height - 1, blockId: header.lastBlockId, ethereumHash: header.appHash }
}

/**
 * Returns the link by which the next block names this unverified block.
 * @throws LinkError when it cannot be decoded
 */
export function linkOf(height: number, { block, header }: EncodedBlock): BlockLink {
  const hash = headerHash(decode(height, block).header)
  return { height, blockId: { hash, partSetHeader: createPartSet(block).header }, ethereumHash: keccak256(header) }
}

/**
 * Reads a block with all of its transactions. The root of the parts covers every byte.
 * @throws LinkError
 */
export function readWholeBlock(encoded: EncodedBlock, link: BlockLink): ConsensusBlock {
  const block = readNamed(encoded, link)
  if (!equalBlockId({ hash: link.blockId.hash, partSetHeader: createPartSet(encoded.block).header }, link.blockId)) {
    fail(link.height, 'it is not the block that the next one names')
  }
  return block
}

/**
 * Reads a block whose transactions were left out: its other parts have their hashes in the header.
 * No hash covers the round of the last commit: a signature has to prove it.
 * @throws LinkError
 */
export function readBodilessBlock(encoded: EncodedBlock, link: BlockLink): ConsensusBlock {
  const block = readNamed(encoded, link)
  const { header, txs, evidence, lastCommit } = block
  const { height } = link
  if (txs.length > 0) fail(height, 'it has transactions')
  if (!equalBytes(evidenceHash(evidence), header.evidenceHash)) fail(height, 'its evidence is not that of its header')
  if (!equalBytes(commitHash(lastCommit), header.lastCommitHash)) fail(height, 'its last commit is another one')
  const isOfLast = lastCommit.height === height - 1 && equalBlockId(lastCommit.blockId, header.lastBlockId)
  if (!isOfLast) fail(height, 'its last commit is for another block')
  return block
}

/** @returns the block, whose headers are the named ones */
function readNamed(encoded: EncodedBlock, { height, blockId, ethereumHash }: BlockLink): ConsensusBlock {
  const block = decode(height, encoded.block)
  if (!equalBytes(headerHash(block.header), blockId.hash)) fail(height, 'it is not the block that the next one names')
  if (!equalBytes(keccak256(encoded.header), ethereumHash)) fail(height, 'its Ethereum header is another one')
  return block
}

function decode(height: number, bytes: Uint8Array): ConsensusBlock {
  try {
    return decodeBlock(bytes)
  } catch (error) {
    if (error instanceof ConsensusDecodingError) return fail(height, error.message, error)
    throw error
  }
}

function fail(height: number, problem: string, cause?: unknown): never {
  throw new LinkError(`block ${height}: ${problem}`, { cause })
}
