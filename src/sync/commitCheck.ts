import { commitSignBytes, type VerifySignature, verifyCommit } from '../chain/consensus/commit.ts'
import { verifyEd25519 } from '../chain/consensus/ed25519.ts'
import { BLOCK_ID_FLAGS, type BlockId, type Commit, equalBlockId, type ValidatorSet } from '../chain/consensus/types.ts'
import { equalBytes } from '../primitives/bytes.ts'

/** A commit to check, with all that the check needs, so that any thread can do it. */
export interface CommitCheck {
  readonly chainId: string
  readonly height: number
  readonly blockId: BlockId
  /** of that height */
  readonly validators: ValidatorSet
  readonly commit: Commit
  /** A commit for the same block that was checked before: signatures that are in it too are not checked again. */
  readonly known: Commit | undefined
}

/**
 * Checks commits by the rule for a block's last commit: more than two thirds of the power signed the block, and every
 * other signature is valid too (CometBFT VerifyCommit).
 * @returns for each, why it is invalid; undefined for a valid one
 */
export function checkCommits(
  checks: readonly CommitCheck[],
  verify: VerifySignature = verifyEd25519,
): readonly (string | undefined)[] {
  return checks.map((check) => {
    const known = knownSignatures(check)
    const verifyNew: VerifySignature = (publicKey, message, signature) =>
      known.has(signature) || verify(publicKey, message, signature)
    const verdict = verifyCommit(check, check.commit, verifyNew)
    return verdict.valid ? undefined : verdict.reason
  })
}

/** Whether the check would verify no signature at all. */
export function isCovered(check: CommitCheck): boolean {
  const known = knownSignatures(check)
  return check.commit.signatures.every(({ signature }) => signature.length === 0 || known.has(signature))
}

/** The signatures of `commit`, by identity, that `known` holds at the same place for the same message. */
function knownSignatures({ commit, known }: CommitCheck): ReadonlySet<Uint8Array> {
  const same = new Set<Uint8Array>()
  if (known === undefined || known.height !== commit.height || known.round !== commit.round) return same
  if (!equalBlockId(known.blockId, commit.blockId)) return same
  for (const [index, sig] of commit.signatures.entries()) {
    const other = known.signatures[index]
    if (
      other !== undefined &&
      other.flag === sig.flag &&
      other.timestampMs === sig.timestampMs &&
      equalBytes(other.signature, sig.signature)
    ) {
      same.add(sig.signature)
    }
  }
  return same
}

/**
 * Voting power of the validators of `trusted` that signed this commit for its block, whatever the commit's own
 * validator set is (as CometBFT VerifyCommitLightTrusting): if it is more than a third of theirs, an honest one of them did.
 */
export function trustedPower(
  chainId: string,
  commit: Commit,
  trusted: ValidatorSet,
  verify: VerifySignature = verifyEd25519,
): bigint {
  let power = 0n
  const counted = new Set<number>()
  for (const [index, sig] of commit.signatures.entries()) {
    if (sig.flag !== BLOCK_ID_FLAGS.commit) continue
    const at = trusted.validators.findIndex(({ address }) => equalBytes(address, sig.validatorAddress))
    if (at === -1 || counted.has(at)) continue
    const validator = trusted.validators[at]!
    if (!verify(validator.publicKey, commitSignBytes(chainId, commit, index), sig.signature)) continue
    counted.add(at)
    power += validator.power
  }
  return power
}
