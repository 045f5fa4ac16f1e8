import { equalBytes } from '../../primitives/bytes.ts'
import { verifyEd25519 } from './ed25519.ts'
import { voteSignBytes } from './signBytes.ts'
import {
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  equalBlockId,
  NIL_BLOCK_ID,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
} from './types.ts'

/** Checks an ed25519 signature; a simulator may put another scheme in its place. */
export type VerifySignature = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

export type CommitVerdict = { readonly valid: true } | { readonly valid: false; readonly reason: string }

/** What a commit has to be for. */
export interface CommitTarget {
  readonly chainId: string
  readonly height: number
  readonly blockId: BlockId
  /** of that height */
  readonly validators: ValidatorSet
}

/** What `commit.signatures[index]` signs; it must not be an absent one. */
export function commitSignBytes(chainId: string, commit: Commit, index: number): Uint8Array {
  const { flag, timestampMs } = commit.signatures[index]!
  return voteSignBytes(chainId, {
    type: SIGNED_MESSAGE_TYPES.precommit,
    height: commit.height,
    round: commit.round,
    blockId: flag === BLOCK_ID_FLAGS.commit ? commit.blockId : NIL_BLOCK_ID,
    timestampMs,
  })
}

/**
 * Whether more than two thirds of the power signed this block and every other signature is valid too: the rule for a
 * block's last commit, since a validator's reward and liveness depend on each of them (CometBFT VerifyCommit).
 */
export function verifyCommit(
  target: CommitTarget,
  commit: Commit,
  verifySignature: VerifySignature = verifyEd25519,
): CommitVerdict {
  return verify(target, commit, verifySignature, false)
}

/** Stops once more than two thirds of the power have signed the block and ignores nil votes (CometBFT VerifyCommitLight). */
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
  verifySignature: VerifySignature,
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
    // CometBFT leaves the address out: the commit hash covers it, so a wrong one would give one commit two hashes.
    if (!equalBytes(sig.validatorAddress, address)) return invalid(`signature ${index} names another validator`)
    if (!verifySignature(publicKey, commitSignBytes(chainId, commit, index), sig.signature)) {
      return invalid(`signature ${index} is wrong`)
    }
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
