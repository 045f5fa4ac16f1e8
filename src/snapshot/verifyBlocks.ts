import { type ConsensusBlock, dataHash, decodeBlock, headerHash } from '../chain/consensus/block.ts'
import { commitHash } from '../chain/consensus/commit.ts'
import { evidenceHash } from '../chain/consensus/evidence.ts'
import { createPartSet } from '../chain/consensus/partSet.ts'
import { type BlockId, equalBlockId } from '../chain/consensus/types.ts'
import { ConsensusDecodingError } from '../chain/consensus/wire.ts'
import { decodeEthereumHeader, type EthereumHeader } from '../chain/ethereumBlock.ts'
import { equalBytes } from '../primitives/bytes.ts'
import { type Hash, keccak256 } from '../primitives/hash.ts'
import { DecodingError } from '../primitives/rlp.ts'
import { type BlocksChunk, ChunkError } from './chunk.ts'

/** What identifies a block, and by which the next one names it. */
export interface BlockLink {
  readonly blockId: BlockId
  /** of the block's Ethereum header */
  readonly ethereumHash: Hash
}

/**
 * Accepts a chunk of blocks only when each follows the one before it, by all of its hashes. When the last block of all chunks has the
 * hashes that a light client verified, all are the chain's.
 * @param before the block before the chunk; undefined when the chunk is the first
 * @returns the chunk's last block
 * @throws ChunkError
 */
export function verifyBlocks({ from, blocks }: BlocksChunk, before: BlockLink | undefined): BlockLink {
  let link = before
  for (const [index, { block, header }] of blocks.entries()) link = verifyBlock(from + index, block, header, link)
  if (link === undefined) throw new ChunkError('a chunk of blocks has none')
  return link
}

function verifyBlock(
  height: number,
  blockBytes: Uint8Array,
  headerBytes: Uint8Array,
  before: BlockLink | undefined,
): BlockLink {
  const { block, ethereum } = decode(height, blockBytes, headerBytes)
  const { header, lastCommit } = block
  const fail = (problem: string): never => {
    throw new ChunkError(`block ${height}: ${problem}`)
  }
  if (header.height !== height) fail(`it is block ${header.height}`)
  if (ethereum.number !== height) fail(`its Ethereum header is of block ${ethereum.number}`)
  if (!equalBytes(dataHash(block.txs), header.dataHash)) fail('its transactions are not those of its header')
  if (!equalBytes(evidenceHash(block.evidence), header.evidenceHash)) fail('its evidence is not that of its header')
  if (!equalBytes(commitHash(lastCommit), header.lastCommitHash)) fail('its last commit is not that of its header')
  if (!equalBytes(ethereum.parentHash, header.appHash)) fail('its two headers follow different blocks')
  if (before !== undefined && !equalBlockId(header.lastBlockId, before.blockId))
    fail('it does not follow the one before')
  if (before !== undefined && !equalBytes(ethereum.parentHash, before.ethereumHash)) {
    fail('the Ethereum header before it is another one')
  }
  // The root of the parts covers every byte of the block.
  const blockId = { hash: headerHash(header), partSetHeader: createPartSet(blockBytes).header }
  return { blockId, ethereumHash: keccak256(headerBytes) }
}

function decode(
  height: number,
  block: Uint8Array,
  header: Uint8Array,
): { readonly block: ConsensusBlock; readonly ethereum: EthereumHeader } {
  try {
    return { block: decodeBlock(block), ethereum: decodeEthereumHeader(header) }
  } catch (cause) {
    if (!(cause instanceof ConsensusDecodingError || cause instanceof DecodingError)) throw cause
    throw new ChunkError(`block ${height}: ${cause.message}`, { cause })
  }
}
