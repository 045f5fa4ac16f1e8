import { bytesToHex, compareBytes, concatBytes, equalBytes } from '../../primitives/bytes.ts'
import type { VerifySignature } from '../../primitives/ed25519.ts'
import type { Hash } from '../../primitives/hash.ts'
import { ProtobufWriter } from '../../primitives/protobuf.ts'
import { merkleRoot } from './merkle.ts'
import { type BlockId, type Evidence, equalBlockId, type ValidatorSet, type Vote } from './types.ts'
import { VOTE_CODEC, voteSignBytes } from './vote.ts'
import { decodeMessage, encodedTxSize, encodeMessage, fail, type MessageCodec, readTime, writeTime } from './wire.ts'

/** Facts of the chain that evidence is checked against. */
interface EvidenceContext {
  readonly chainId: string
  /** of the votes' height */
  readonly validators: ValidatorSet
  /** of the block at the votes' height, milliseconds since the epoch */
  readonly timeMs: number
}

/**
 * Creates evidence from two votes that differ only in their block (and time). Their order is fixed,
 * so that the same two votes always make the same evidence.
 * @throws Error when the votes' validator is not in the set
 */
export function createDuplicateVoteEvidence(
  first: Vote,
  second: Vote,
  { validators, timeMs }: Pick<EvidenceContext, 'validators' | 'timeMs'>,
): Evidence {
  const validator = validators.validators[first.validatorIndex]
  if (validator === undefined) throw new Error(`there is no validator ${first.validatorIndex} at ${first.height}`)
  const inOrder = compareBytes(blockIdKey(first.blockId), blockIdKey(second.blockId)) < 0
  return {
    kind: 'duplicateVote',
    voteA: inOrder ? first : second,
    voteB: inOrder ? second : first,
    totalVotingPower: validators.totalPower,
    validatorPower: validator.power,
    timestampMs: timeMs,
  }
}

/**
 * Returns why the votes do not prove a fault of a validator of their height; undefined when they do
 * (CometBFT evidence/verify.go, VerifyDuplicateVote, and types/evidence.go, ValidateBasic). Neither
 * the time nor the age of the evidence is checked here: these checks need the block.
 */
export function checkDuplicateVote(
  { voteA, voteB, totalVotingPower, validatorPower }: Evidence,
  { chainId, validators }: Pick<EvidenceContext, 'chainId' | 'validators'>,
  verify: VerifySignature,
): string | undefined {
  if (voteA.height !== voteB.height || voteA.round !== voteB.round || voteA.type !== voteB.type) {
    return 'the votes are not for the same height, round and step'
  }
  if (!equalBytes(voteA.validatorAddress, voteB.validatorAddress)) return 'the votes are of two validators'
  if (equalBlockId(voteA.blockId, voteB.blockId)) return 'the votes are for the same block'
  if (compareBytes(blockIdKey(voteA.blockId), blockIdKey(voteB.blockId)) >= 0) return 'the votes are in the wrong order'
  const index = validators.validators.findIndex(({ address }) => equalBytes(address, voteA.validatorAddress))
  const validator = validators.validators[index]
  if (validator === undefined) {
    return `${bytesToHex(voteA.validatorAddress)} was not a validator at height ${voteA.height}`
  }
  // No signature covers the index: with another index, the same votes would be another piece of evidence.
  if (voteA.validatorIndex !== index || voteB.validatorIndex !== index) return 'the votes name a wrong index'
  if (validatorPower !== validator.power) return `power is ${validatorPower}, not ${validator.power}`
  if (totalVotingPower !== validators.totalPower)
    return `total power is ${totalVotingPower}, not ${validators.totalPower}`
  for (const vote of [voteA, voteB]) {
    if (!verify(validator.publicKey, voteSignBytes(chainId, vote), vote.signature)) return 'a signature is wrong'
  }
  return undefined
}

/** Orders block IDs as CometBFT does (types/block.go, BlockID.Key): hash, then the encoded part set header. */
export function blockIdKey({ hash, partSetHeader }: BlockId): Uint8Array {
  const parts = new ProtobufWriter().varint(1, partSetHeader.total).bytes(2, partSetHeader.hash).finish()
  return concatBytes(hash, parts)
}

/**
 * Returns the Protobuf bytes of tendermint.types.DuplicateVoteEvidence, as the evidence hash covers
 * them.
 */
export function encodeEvidence(evidence: Evidence): Uint8Array {
  return encodeMessage(DUPLICATE_VOTE_CODEC, evidence)
}

/**
 * Reads evidence that {@link encodeEvidence} wrote.
 * @throws ConsensusDecodingError
 */
export function decodeEvidence(bytes: Uint8Array): Evidence {
  return decodeMessage(DUPLICATE_VOTE_CODEC, bytes)
}

/** header.evidence_hash: Merkle root over the encoded items. */
export function evidenceHash(evidence: readonly Evidence[]): Hash {
  return merkleRoot(evidence.map(encodeEvidence))
}

/** The most pieces of evidence that a block reports: a check of each verifies two signatures and reads an old block's time. */
export const MAX_BLOCK_EVIDENCE = 4

/** Bytes that these items take in a block; the consensus parameters limit them (CometBFT types/evidence.go, ByteSize). */
export function evidenceSize(evidence: readonly Evidence[]): number {
  return evidence.reduce((sum, item) => sum + encodedTxSize(encodeMessage(EVIDENCE_CODEC, item).length), 0)
}

/**
 * tendermint.types.Evidence, a oneof whose field 1 is two votes. Blocks have no evidence of
 * light-client attacks (field 2): full nodes verify every block, and such evidence only proves two
 * votes (rpc/comet/attackEvidence.ts).
 */
export const EVIDENCE_CODEC: MessageCodec<Evidence> = {
  name: 'evidence',
  write: (writer, evidence) => writer.message(1, DUPLICATE_VOTE_CODEC.write, evidence),
  read: (fields) => fields.message(1, DUPLICATE_VOTE_CODEC.read),
}

/** tendermint.types.DuplicateVoteEvidence */
const DUPLICATE_VOTE_CODEC: MessageCodec<Evidence> = {
  name: 'duplicate vote evidence',
  write: (writer, evidence) =>
    writer
      .message(1, VOTE_CODEC.write, evidence.voteA)
      .message(2, VOTE_CODEC.write, evidence.voteB)
      .varint(3, evidence.totalVotingPower)
      .varint(4, evidence.validatorPower)
      .message(5, writeTime, evidence.timestampMs),
  read: (fields) => {
    const totalVotingPower = fields.integer(3)
    const validatorPower = fields.integer(4)
    if (validatorPower <= 0n || totalVotingPower < validatorPower) fail('voting power is out of range')
    return {
      kind: 'duplicateVote',
      voteA: fields.message(1, VOTE_CODEC.read),
      voteB: fields.message(2, VOTE_CODEC.read),
      totalVotingPower,
      validatorPower,
      timestampMs: fields.message(5, readTime),
    }
  },
}
