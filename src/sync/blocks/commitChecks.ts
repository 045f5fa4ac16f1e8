import { commitSignBytes, decodeCheckedCommit, encodeCommit, verifyCommit } from '../../chain/comet/commit.ts'
import {
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  type CommitSig,
  equalBlockId,
  type Validator,
  type ValidatorSet,
} from '../../chain/comet/types.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { type VerifySignature, verifyEd25519 } from '../../primitives/ed25519.ts'

/** A commit to check, with all data for the check, so that any thread can do it. */
export interface CommitCheck {
  readonly chainId: string
  readonly height: number
  readonly blockId: BlockId
  /** the validators of that height */
  readonly validators: ValidatorSet
  readonly commit: Commit
  /** the bytes of `commit`, where it came from a peer that way */
  readonly encoded?: Uint8Array
  /** A commit for the same block that was checked before: signatures that are also in it are not checked again. */
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

/** Returns whether the check needs to verify no signature. */
export function isCovered({ commit, known }: CommitCheck): boolean {
  const same = isSameVote(commit, known) ? known : undefined
  return commit.signatures.every(
    (sig, index) => sig.signature.length === 0 || isSameSignature(sig, same?.signatures[index]),
  )
}

/** Returns the signatures of `commit` (the array objects) that `known` has at the same index for the same message. */
function knownSignatures({ commit, known }: CommitCheck): ReadonlySet<Uint8Array> {
  const same = new Set<Uint8Array>()
  if (!isSameVote(commit, known)) return same
  for (const [index, sig] of commit.signatures.entries()) {
    if (isSameSignature(sig, known.signatures[index])) same.add(sig.signature)
  }
  return same
}

/** Returns whether signatures of both commits are for the same block in the same round. */
function isSameVote(commit: Commit, known: Commit | undefined): known is Commit {
  return (
    known !== undefined &&
    known.height === commit.height &&
    known.round === commit.round &&
    equalBlockId(known.blockId, commit.blockId)
  )
}

function isSameSignature(sig: CommitSig, other: CommitSig | undefined): boolean {
  return (
    other !== undefined &&
    other.flag === sig.flag &&
    other.timestampMs === sig.timestampMs &&
    equalBytes(other.signature, sig.signature)
  )
}

/**
 * Returns the voting power of the validators of `trusted` that signed this commit for its block,
 * whatever the commit's own validator set is (like CometBFT VerifyCommitLightTrusting). If it is more
 * than a third of `trusted`, an honest one of them signed it.
 * @returns 'false signature' at the first one that a validator of `trusted` did not make: no honest peer serves such a commit, since all
 *   signatures of a decided block's commit were verified
 */
export function trustedPower(
  chainId: string,
  commit: Commit,
  trusted: ValidatorSet,
  verify: VerifySignature = verifyEd25519,
): bigint | 'false signature' {
  let power = 0n
  const checked = new Set<number>()
  for (const [index, sig] of commit.signatures.entries()) {
    if (sig.flag !== BLOCK_ID_FLAGS.commit) continue
    const at = trusted.validators.findIndex(({ address }) => equalBytes(address, sig.validatorAddress))
    if (at === -1 || checked.has(at)) continue
    // A stranger's commit may repeat one as often as it likes.
    checked.add(at)
    const validator = trusted.validators[at]!
    if (!verify(validator.publicKey, commitSignBytes(chainId, commit, index), sig.signature)) return 'false signature'
    power += validator.power
  }
  return power
}

/** Sends packed checks to a thread, which calls `checkPackedCommits`. */
type CommitWorker = (packed: PackedCommitChecks) => Promise<readonly (string | undefined)[]>

/** About how many signatures to check with one message to another thread. */
const SIGNATURES_PER_MESSAGE = 64

/**
 * Checks commits in several threads, which get messages in turn.
 * @param workers at least one
 * @returns for each check, why it is invalid; rejects when a thread fails
 */
export function createCommitVerifier(
  workers: readonly CommitWorker[],
): (checks: readonly CommitCheck[]) => Promise<readonly (string | undefined)[]> {
  let turn = 0
  const checkPortion = async (checks: readonly CommitCheck[]): Promise<readonly (string | undefined)[]> => {
    const { packed, reasons, positions } = packCommitChecks(checks)
    if (positions.length === 0) return reasons
    const answers = await workers[turn++ % workers.length]!(packed)
    for (const [index, position] of positions.entries()) reasons[position] = answers[index]
    return reasons
  }
  return async (checks) => (await Promise.all(portions(checks).map(checkPortion))).flat()
}

function portions(checks: readonly CommitCheck[]): readonly (readonly CommitCheck[])[] {
  const all: CommitCheck[][] = []
  let signatures = SIGNATURES_PER_MESSAGE
  for (const check of checks) {
    if (signatures >= SIGNATURES_PER_MESSAGE) {
      all.push([])
      signatures = 0
    }
    all.at(-1)!.push(check)
    signatures += check.commit.signatures.length
  }
  return all
}

/** Commit checks in the form that is sent to another thread: cloning the objects would take longer than the checks. */
export interface PackedCommitChecks {
  readonly chainId: string
  /** each set once */
  readonly sets: readonly { readonly validators: readonly Validator[]; readonly totalPower: bigint }[]
  /** for each check: height, index of its set, bytes of the commit, bytes of the known commit (0: none) */
  readonly items: Float64Array
  /** the encoded commits, one after the other */
  readonly bytes: Uint8Array<ArrayBuffer>
}

const FIELDS = 4

/**
 * Packs checks. Those that need no other thread are answered at once.
 * @returns `reasons`: for each check that was answered at once, why the commit is invalid; `positions`: the index of each packed check
 */
function packCommitChecks(checks: readonly CommitCheck[]): {
  readonly packed: PackedCommitChecks
  readonly reasons: (string | undefined)[]
  readonly positions: readonly number[]
} {
  const sets = new Map<ValidatorSet['validators'], number>()
  const packedSets: ValidatorSet[] = []
  const items: number[] = []
  const commits: Uint8Array[] = []
  const reasons = new Array<string | undefined>(checks.length).fill(undefined)
  const positions: number[] = []
  for (const [position, { height, blockId, validators, commit, encoded: given, known }] of checks.entries()) {
    if (!equalBlockId(commit.blockId, blockId)) {
      reasons[position] = 'the commit is for another block'
      continue
    }
    let set = sets.get(validators.validators)
    if (set === undefined) {
      set = packedSets.length
      sets.set(validators.validators, set)
      packedSets.push({ validators: validators.validators.map(copyValidator), totalPower: validators.totalPower })
    }
    const encoded = given ?? encodeCommit(commit)
    const encodedKnown = known === undefined ? new Uint8Array(0) : encodeCommit(known)
    items.push(height, set, encoded.length, encodedKnown.length)
    commits.push(encoded, encodedKnown)
    positions.push(position)
  }
  const bytes = new Uint8Array(commits.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const commit of commits) {
    bytes.set(commit, at)
    at += commit.length
  }
  const packed = { chainId: checks[0]?.chainId ?? '', sets: packedSets, items: Float64Array.from(items), bytes }
  return { packed, reasons, positions }
}

/** Checks packed commits; called in the other thread. @returns for each, why it is invalid */
export function checkPackedCommits(
  { chainId, sets, items, bytes }: PackedCommitChecks,
  verify?: VerifySignature,
): readonly (string | undefined)[] {
  const checks: CommitCheck[] = []
  let at = 0
  const take = (length: number): Uint8Array => {
    at += length
    return bytes.subarray(at - length, at)
  }
  for (let index = 0; index < items.length; index += FIELDS) {
    const commit = decodeCheckedCommit(take(items[index + 2]!))
    const knownLength = items[index + 3]!
    checks.push({
      chainId,
      height: items[index]!,
      blockId: commit.blockId,
      validators: sets[items[index + 1]!]!,
      commit,
      known: knownLength === 0 ? undefined : decodeCheckedCommit(take(knownLength)),
    })
  }
  return checkCommits(checks, verify)
}

/** Copies the bytes: a view would send its whole buffer to the other thread. */
function copyValidator({ address, publicKey, power }: Validator): Validator {
  return { address: address.slice(), publicKey: publicKey.slice(), power }
}
