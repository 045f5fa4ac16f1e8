import { type Hash, sha256 } from '../../primitives/hash.ts'
import { ProtobufWriter } from '../../primitives/protobuf.ts'

/** The consensus parameters that header.consensus_hash covers. */
export interface BlockParams {
  /** of an encoded block */
  readonly maxBytes: number
  /** −1 means no limit */
  readonly maxGas: number
}

const hashes = new WeakMap<BlockParams, Hash>()

/** header.consensus_hash: sha256 of the encoded tendermint.types.HashedParams. */
export function consensusParamsHash(params: BlockParams): Hash {
  let hash = hashes.get(params)
  if (hash === undefined) {
    hash = sha256(new ProtobufWriter().varint(1, params.maxBytes).varint(2, params.maxGas).finish())
    hashes.set(params, hash)
  }
  return hash
}

/** CometBFT types/block.go: what a block holds besides transactions and evidence. */
const MAX_HEADER_BYTES = 626
const MAX_OVERHEAD_BYTES = 11
const MAX_COMMIT_OVERHEAD_BYTES = 94
const MAX_COMMIT_SIG_BYTES = 109 + 2

/**
 * How many bytes a block's transactions may take, each counted by {@link encodedTxSize}, next to a full commit of
 * `validators` signatures and `evidenceBytes` of evidence (CometBFT types/block.go, MaxDataBytes).
 */
export function maxDataBytes(
  { maxBytes }: Pick<BlockParams, 'maxBytes'>,
  validators: number,
  evidenceBytes = 0,
): number {
  const commit = MAX_COMMIT_OVERHEAD_BYTES + MAX_COMMIT_SIG_BYTES * validators
  return maxBytes - MAX_OVERHEAD_BYTES - MAX_HEADER_BYTES - commit - evidenceBytes
}

/** Bytes that a transaction of `length` bytes takes in a block: tag, varint length, content. */
export function encodedTxSize(length: number): number {
  let varint = 1
  for (let rest = length; rest >= 128; rest = Math.floor(rest / 128)) varint++
  return 1 + varint + length
}
