import { bytesKey, equalBytes } from '../../primitives/bytes.ts'
import { type VerifySignature, verifyEd25519 } from '../../primitives/ed25519.ts'
import type { Hash } from '../../primitives/hash.ts'
import { merkleRoot } from './merkle.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  type CommitSig,
  EMPTY_COMMIT,
  equalBlockId,
  isNilBlockId,
  NIL_BLOCK_ID,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
  type Vote,
  ZERO_TIME_MS,
} from './types.ts'
import { voteSignBytes } from './vote.ts'
import {
  decodeCheckedMessage,
  decodeMessage,
  encodeMessage,
  fail,
  type MessageCodec,
  readBlockId,
  readTime,
  toInt32,
  toInteger,
  toSized,
  writeBlockId,
  writeTime,
} from './wire.ts'

/** The block that a commit must have decided. */
interface CommitTarget {
  readonly chainId: string
  readonly height: number
  readonly blockId: BlockId
  /** validators of the height */
  readonly validators: ValidatorSet
}

type CommitVerdict = { readonly valid: true } | { readonly valid: false; readonly reason: string }

/**
 * Whether more than two thirds of the power signed this block and every other signature is valid too: the rule for a
 * block's last commit, since a validator's reward and liveness depend on each of them (CometBFT VerifyCommit).
 * @param verifySignature `verified`: all signatures were found valid before, so only the rest is checked
 */
export function verifyCommit(
  target: CommitTarget,
  commit: Commit,
  verifySignature: VerifySignature | 'verified' = verifyEd25519,
): CommitVerdict {
  return verify(target, commit, verifySignature, false)
}

/**
 * The same, but stops once more than two thirds of the power have signed the block, and ignores nil votes (CometBFT
 * VerifyCommitLight).
 */
export function verifyCommitLight(
  target: CommitTarget,
  commit: Commit,
  verifySignature: VerifySignature = verifyEd25519,
): CommitVerdict {
  return verify(target, commit, verifySignature, true)
}

function verify(
  { chainId, height, blockId, validators: set }: CommitTarget,
  commit: Commit,
  verifySignature: VerifySignature | 'verified',
  light: boolean,
): CommitVerdict {
  if (commit.signatures.length !== set.validators.length) {
    return invalid(`${commit.signatures.length} signatures for ${set.validators.length} validators`)
  }
  if (commit.height !== height) return invalid(`the commit is for height ${commit.height}, not ${height}`)
  if (!equalBlockId(commit.blockId, blockId)) return invalid('the commit is for another block')
  let signedPower = 0n
  for (const [index, sig] of commit.signatures.entries()) {
    if (sig.flag === BLOCK_ID_FLAGS.absent) continue
    if (light && sig.flag !== BLOCK_ID_FLAGS.commit) continue
    const { address, publicKey, power } = set.validators[index]!
    // CometBFT does not check the address. The commit hash covers it, so with a wrong one the same commit would have two hashes.
    if (!equalBytes(sig.validatorAddress, address)) return invalid(`signature ${index} names another validator`)
    const isValid =
      verifySignature === 'verified' ||
      verifySignature(publicKey, commitSignBytes(chainId, commit, index), sig.signature)
    if (!isValid) return invalid(`signature ${index} is wrong`)
    if (sig.flag === BLOCK_ID_FLAGS.commit) signedPower += power
    if (light && exceedsTwoThirds(signedPower, set)) return { valid: true }
  }
  if (!exceedsTwoThirds(signedPower, set)) return invalid(`power ${signedPower} of ${set.totalPower} signed`)
  return { valid: true }
}

function exceedsTwoThirds(power: bigint, set: Pick<ValidatorSet, 'totalPower'>): boolean {
  return power * 3n > set.totalPower * 2n
}

function invalid(reason: string): CommitVerdict {
  return { valid: false, reason }
}

/**
 * Whether validators of `trusted` with more than a third of its power signed this commit for its block, whatever the validator set of
 * the commit is: then an honest one of them signed it (CometBFT VerifyCommitLightTrusting with the trust level 1/3).
 * @returns `isTooLittle` when only the power is insufficient: other validators may have decided the
 * block
 */
export function verifyCommitLightTrusting(
  chainId: string,
  trusted: ValidatorSet,
  commit: Commit,
  verifySignature: VerifySignature = verifyEd25519,
): { readonly valid: true } | { readonly valid: false; readonly reason: string; readonly isTooLittle: boolean } {
  const positions = new Map(trusted.validators.map(({ address }, position) => [bytesKey(address), position]))
  /** by the signer's position in the trusted set: index of its signature */
  const counted = new Map<number, number>()
  let signedPower = 0n
  // First the power, then the signatures, which are a thousand times slower.
  for (const [index, sig] of commit.signatures.entries()) {
    if (signedPower * 3n > trusted.totalPower) break
    const position = sig.flag === BLOCK_ID_FLAGS.commit ? positions.get(bytesKey(sig.validatorAddress)) : undefined
    if (position === undefined) continue
    if (counted.has(position)) {
      return { valid: false, reason: `signature ${index} is the second of one validator`, isTooLittle: false }
    }
    counted.set(position, index)
    signedPower += trusted.validators[position]!.power
  }
  if (signedPower * 3n <= trusted.totalPower) {
    return {
      valid: false,
      reason: `${signedPower} of the trusted power ${trusted.totalPower} signed`,
      isTooLittle: true,
    }
  }
  for (const [position, index] of counted) {
    const { publicKey } = trusted.validators[position]!
    if (!verifySignature(publicKey, commitSignBytes(chainId, commit, index), commit.signatures[index]!.signature)) {
      return { valid: false, reason: `signature ${index} is wrong`, isTooLittle: false }
    }
  }
  return { valid: true }
}

/** Returns the bytes that `commit.signatures[index]` signs; it must not be an absent one. */
export function commitSignBytes(chainId: string, commit: Commit, index: number): Uint8Array {
  return voteSignBytes(chainId, commitVote(commit, index)!)
}

/** Returns the precommit of the validator at `index`; undefined when it is absent. */
export function commitVote({ height, round, blockId, signatures }: Commit, index: number): Vote | undefined {
  const { flag, validatorAddress, timestampMs, signature } = signatures[index]!
  if (flag === BLOCK_ID_FLAGS.absent) return undefined
  return {
    type: SIGNED_MESSAGE_TYPES.precommit,
    height,
    round,
    blockId: flag === BLOCK_ID_FLAGS.commit ? blockId : NIL_BLOCK_ID,
    timestampMs,
    validatorAddress,
    validatorIndex: index,
    signature,
  }
}

/**
 * Pairs of precommits in two commits for the same block that contradict each other: one for the block, one for nil. Both were signed by
 * one validator in one round.
 */
export function contradictions(a: Commit, b: Commit): readonly (readonly [Vote, Vote])[] {
  if (a.height !== b.height || a.round !== b.round || !equalBlockId(a.blockId, b.blockId)) return []
  const pairs: [Vote, Vote][] = []
  for (const [index, { flag }] of a.signatures.entries()) {
    if (flag === b.signatures[index]?.flag) continue
    const [first, second] = [commitVote(a, index), b.signatures[index] && commitVote(b, index)]
    if (first !== undefined && second !== undefined) pairs.push([first, second])
  }
  return pairs
}

/** Returns the form in which a commit holds a precommit, for the decided block or nil. */
export function commitSigOf({ blockId, validatorAddress, timestampMs, signature }: Vote): CommitSig {
  const flag = isNilBlockId(blockId) ? BLOCK_ID_FLAGS.nil : BLOCK_ID_FLAGS.commit
  return { flag, validatorAddress, timestampMs, signature }
}

/** Returns the Protobuf bytes of tendermint.types.Commit. */
export function encodeCommit(commit: Commit): Uint8Array {
  return encodeMessage(COMMIT_CODEC, commit)
}

/** @throws ConsensusDecodingError */
export function decodeCommit(bytes: Uint8Array): Commit {
  return decodeMessage(COMMIT_CODEC, bytes)
}

/** See {@link decodeCheckedMessage}. */
export function decodeCheckedCommit(bytes: Uint8Array): Commit {
  return decodeCheckedMessage(COMMIT_CODEC, bytes)
}

/** header.last_commit_hash of the next block: Merkle root over the encoded signatures. */
export function commitHash(commit: Pick<Commit, 'signatures'>): Hash {
  return merkleRoot(commit.signatures.map((sig) => encodeMessage(COMMIT_SIG_CODEC, sig)))
}

/** tendermint.types.Commit. A commit without signatures is the first block's last commit; all its fields are zero. */
export const COMMIT_CODEC: MessageCodec<Commit> = {
  name: 'commit',
  write: (writer, commit) =>
    writer
      .varint(1, commit.height)
      .varint(2, commit.round)
      .message(3, writeBlockId, commit.blockId)
      .repeatedMessage(4, COMMIT_SIG_CODEC.write, commit.signatures),
  read: (fields) => {
    const blockId = fields.message(3, readBlockId)
    const signatures = fields.repeatedMessage(4, COMMIT_SIG_CODEC.read)
    const empty = signatures.length === 0
    if (empty !== isNilBlockId(blockId)) fail('a commit has a block ID and signatures, or neither')
    const height = toInteger(fields.integer(1), empty ? 0 : 1, 'height')
    const round = toInt32(fields.integer(2), 0, 'round')
    if (!empty) return { height, round, blockId, signatures }
    if (height !== 0 || round !== 0) fail('a commit without signatures has a height or a round')
    return EMPTY_COMMIT
  },
}

/** tendermint.types.CommitSig */
const COMMIT_SIG_CODEC: MessageCodec<CommitSig> = {
  name: 'commit signature',
  write: (writer, sig) =>
    writer
      .varint(1, sig.flag)
      .bytes(2, sig.validatorAddress)
      .message(3, writeTime, sig.timestampMs)
      .bytes(4, sig.signature),
  read: (fields) => {
    const flag = Number(fields.integer(1))
    const timestampMs = fields.message(3, readTime)
    if (flag === BLOCK_ID_FLAGS.absent) {
      toSized(fields.bytes(2), 0, 'absent validator address')
      toSized(fields.bytes(4), 0, 'absent signature')
      if (timestampMs !== ZERO_TIME_MS) fail('an absent signature has a timestamp')
      return ABSENT_COMMIT_SIG
    }
    if (flag !== BLOCK_ID_FLAGS.commit && flag !== BLOCK_ID_FLAGS.nil) return fail(`unknown block ID flag ${flag}`)
    return {
      flag,
      validatorAddress: toSized(fields.bytes(2), 20, 'validator address'),
      timestampMs,
      signature: toSized(fields.bytes(4), 64, 'signature'),
    }
  },
}
