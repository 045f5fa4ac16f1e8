import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { type VerifySignature, verifyEd25519 } from '../../primitives/ed25519.ts'
import type { Hash } from '../../primitives/hash.ts'
import { encodeEthereumHeader } from '../block/ethereumBlock.ts'
import { type ConsensusBlock, encodeBlock } from '../comet/block.ts'
import { commitSignBytes } from '../comet/commit.ts'
import { decodeValidatorSet, encodeValidatorSet } from '../comet/lightBlock.ts'
import { BLOCK_ID_FLAGS, type ValidatorSet } from '../comet/types.ts'
import { validatorSetHash } from '../comet/validatorSet.ts'
import { ConsensusDecodingError } from '../comet/wire.ts'
import type { ChainReader } from './chainReader.ts'
import { type BlockLink, type EncodedBlock, LinkError, linkBefore, readBodilessBlock } from './linkedBlocks.ts'

/*
 * Old blocks without their transactions. A node that started from a snapshot fetches them from
 * others, so that it can judge evidence and serve light clients like any other node.
 */

/** A block without its transactions, as it travels. It is not verified. */
export interface OlderBlock extends EncodedBlock {
  /** tendermint.types.ValidatorSet of the block; undefined when it is that of the block above */
  readonly validators: Uint8Array | undefined
}

export interface OlderBlocks {
  /** from the highest down, without gaps; empty when the first is missing */
  readonly blocks: readonly OlderBlock[]
  /** the validators of the block below, when these are others: they signed the lowest block's last commit */
  readonly below: Uint8Array | undefined
}

/**
 * Reads a block for another node; undefined where this node does not have it with its validators.
 */
export function readOlderBlock(
  chain: Pick<ChainReader, 'base' | 'headHeight' | 'header' | 'consensusBlock' | 'validatorSetAt'>,
  height: number,
): OlderBlock | undefined {
  // The commit of the newest block is not in a block.
  if (height < Math.max(chain.base, 1) || height >= chain.headHeight) return undefined
  const block = chain.consensusBlock(height)
  const header = chain.header(height)
  const set = chain.validatorSetAt(height)
  if (block === undefined || header === undefined || set === undefined) return undefined
  const isOther = !equalBytes(block.header.validatorsHash, block.header.nextValidatorsHash)
  return {
    block: encodeBlock({ ...block, txs: [] }),
    header: encodeEthereumHeader(header),
    validators: isOther ? encodeValidatorSet(set) : undefined,
  }
}

/** See {@link OlderBlocks.below}. @param lowest height of the lowest block of the answer */
export function readValidatorsBelow(
  chain: Pick<ChainReader, 'consensusBlock' | 'validatorSetAt'>,
  lowest: number,
): Uint8Array | undefined {
  const below = chain.validatorSetAt(lowest - 1)
  const named = chain.consensusBlock(lowest)?.header.validatorsHash
  const isOther = below !== undefined && named !== undefined && !equalBytes(validatorSetHash(below), named)
  return isOther ? encodeValidatorSet(below) : undefined
}

/** The point from which older blocks continue downwards. */
export interface OlderBlocksStart {
  readonly link: BlockLink
  /** tendermint.types.ValidatorSet of the block above */
  readonly validators: Uint8Array
  readonly chainId: string
}

/** A block that is the chain's. */
export interface VerifiedBlock extends OlderBlock {
  readonly height: number
  /** of the Ethereum header */
  readonly hash: Hash
  /** of the consensus header */
  readonly consensusHash: Uint8Array
  /** of its validators */
  readonly validatorsHash: Uint8Array
}

/**
 * Accepts blocks only when each is the one that the block above names, and when its validators are
 * those that its header names. The transactions are left out, so the root of the parts cannot be
 * checked, but the header has the hashes of evidence and last commit. No hash covers a commit's
 * round, so one of the signatures must prove it. If no known validator signed a block's last
 * commit, that block and those below are left out: their validators may come with another answer.
 * @returns the valid blocks, from the highest down; or the error of an answer that no honest node
 * sends
 */
export function verifyOlderBlocks(
  answer: OlderBlocks,
  start: OlderBlocksStart,
  verify: VerifySignature = verifyEd25519,
): readonly VerifiedBlock[] | string {
  try {
    return followLinks(answer, start, verify)
  } catch (error) {
    if (error instanceof LinkError) return error.message
    throw error
  }
}

/** @throws LinkError */
function followLinks(
  { blocks, below }: OlderBlocks,
  { link: first, validators, chainId }: OlderBlocksStart,
  verify: VerifySignature,
): readonly VerifiedBlock[] {
  const sets = blocks.map((block) => block.validators && readSet(block.validators))
  const above = readSet(validators)
  const keys = keysOf([above, ...sets, below && readSet(below)])
  const verified: VerifiedBlock[] = []
  let link = first
  let set = above
  for (const [index, encoded] of blocks.entries()) {
    const block = readBodilessBlock(encoded, link)
    const { blockId, ethereumHash: hash, height } = link
    const { validatorsHash } = block.header
    set = sets[index] ?? set
    if (!equalBytes(validatorSetHash(set), validatorsHash))
      throw new LinkError(`block ${height}: it has other validators`)
    const round = checkRound(block, keys, chainId, verify)
    if (round === 'false') throw new LinkError(`block ${height}: no validator has signed its last commit in that round`)
    if (round === 'unknown') break
    verified.push({ ...encoded, height, hash, consensusHash: blockId.hash, validatorsHash })
    link = linkBefore(block)
  }
  return verified
}

function readSet(bytes: Uint8Array): ValidatorSet {
  try {
    return decodeValidatorSet(bytes)
  } catch (error) {
    if (error instanceof ConsensusDecodingError) throw new LinkError(error.message, { cause: error })
    throw error
  }
}

/**
 * Returns the public keys by address. An address is the hash of a key, so it does not matter who
 * says which key has it.
 */
function keysOf(sets: readonly (ValidatorSet | undefined)[]): ReadonlyMap<string, Uint8Array> {
  const keys = new Map<string, Uint8Array>()
  for (const set of sets) {
    for (const { address, publicKey } of set?.validators ?? []) keys.set(bytesKey(address), publicKey)
  }
  return keys
}

/** Whether the signatures of a block's last commit, which its header covers, are for the commit's round. */
function checkRound(
  { header, lastCommit }: ConsensusBlock,
  keys: ReadonlyMap<string, Uint8Array>,
  chainId: string,
  verify: VerifySignature,
): 'right' | 'false' | 'unknown' {
  // The block before the first one was not decided by votes.
  if (header.height === 1) return 'right'
  const index = lastCommit.signatures.findIndex(
    ({ flag, validatorAddress }) => flag === BLOCK_ID_FLAGS.commit && keys.has(bytesKey(validatorAddress)),
  )
  const signer = lastCommit.signatures[index]
  if (signer === undefined) return 'unknown'
  const publicKey = keys.get(bytesKey(signer.validatorAddress))!
  return verify(publicKey, commitSignBytes(chainId, lastCommit, index), signer.signature) ? 'right' : 'false'
}
