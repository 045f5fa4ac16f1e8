import { decodeCommit, encodeCommit, type VerifySignature } from '../chain/consensus/commit.ts'
import { equalBlockId, type Validator, type ValidatorSet } from '../chain/consensus/types.ts'
import { type CommitCheck, checkCommits } from './commitCheck.ts'

/** Checks of commits as they travel to another thread: a clone of the objects would take longer than the checks. */
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
 * Packs checks; those that need no other thread are answered at once.
 * @returns `reasons` with a place for each check: why it is invalid, for those that are not of their block; and which places the
 * packed checks have
 */
export function packCommitChecks(checks: readonly CommitCheck[]): {
  readonly packed: PackedCommitChecks
  readonly reasons: (string | undefined)[]
  readonly places: readonly number[]
} {
  const sets = new Map<ValidatorSet['validators'], number>()
  const packedSets: ValidatorSet[] = []
  const items: number[] = []
  const commits: Uint8Array[] = []
  const reasons = new Array<string | undefined>(checks.length).fill(undefined)
  const places: number[] = []
  for (const [place, { height, blockId, validators, commit, known }] of checks.entries()) {
    if (!equalBlockId(commit.blockId, blockId)) {
      reasons[place] = 'the commit is for another block'
      continue
    }
    let set = sets.get(validators.validators)
    if (set === undefined) {
      set = packedSets.length
      sets.set(validators.validators, set)
      packedSets.push({ validators: validators.validators.map(copyValidator), totalPower: validators.totalPower })
    }
    const encoded = encodeCommit(commit)
    const encodedKnown = known === undefined ? new Uint8Array(0) : encodeCommit(known)
    items.push(height, set, encoded.length, encodedKnown.length)
    commits.push(encoded, encodedKnown)
    places.push(place)
  }
  const bytes = new Uint8Array(commits.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const commit of commits) {
    bytes.set(commit, at)
    at += commit.length
  }
  const packed = { chainId: checks[0]?.chainId ?? '', sets: packedSets, items: Float64Array.from(items), bytes }
  return { packed, reasons, places }
}

/** What a thread does with packed checks. @returns for each, why it is invalid */
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
    const commit = decodeCommit(take(items[index + 2]!))
    const knownLength = items[index + 3]!
    checks.push({
      chainId,
      height: items[index]!,
      blockId: commit.blockId,
      validators: sets[items[index + 1]!]!,
      commit,
      known: knownLength === 0 ? undefined : decodeCommit(take(knownLength)),
    })
  }
  return checkCommits(checks, verify)
}

/** With memory of its own: a view would take along all that it is a view on. */
function copyValidator({ address, publicKey, power }: Validator): Validator {
  return { address: address.slice(), publicKey: publicKey.slice(), power }
}
