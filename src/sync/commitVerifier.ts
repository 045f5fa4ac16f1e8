import type { CommitCheck } from './commitCheck.ts'
import { type PackedCommitChecks, packCommitChecks } from './packedCommitChecks.ts'

/** A thread that checks commits: `checkPackedCommits` at its other end. */
export type CommitWorker = (packed: PackedCommitChecks) => Promise<readonly (string | undefined)[]>

/** Signatures that are worth a message to another thread. */
const SIGNATURES_A_MESSAGE = 64

/**
 * Checks commits in several threads at once, in turn.
 * @param workers at least one
 * @returns for each check, why it is invalid; rejects when a thread fails
 */
export function createCommitVerifier(
  workers: readonly CommitWorker[],
): (checks: readonly CommitCheck[]) => Promise<readonly (string | undefined)[]> {
  let turn = 0
  const checkPortion = async (checks: readonly CommitCheck[]): Promise<readonly (string | undefined)[]> => {
    const { packed, reasons, places } = packCommitChecks(checks)
    if (places.length === 0) return reasons
    const answers = await workers[turn++ % workers.length]!(packed)
    for (const [index, place] of places.entries()) reasons[place] = answers[index]
    return reasons
  }
  return async (checks) => (await Promise.all(portions(checks).map(checkPortion))).flat()
}

function portions(checks: readonly CommitCheck[]): readonly (readonly CommitCheck[])[] {
  const all: CommitCheck[][] = []
  let signatures = SIGNATURES_A_MESSAGE
  for (const check of checks) {
    if (signatures >= SIGNATURES_A_MESSAGE) {
      all.push([])
      signatures = 0
    }
    all.at(-1)!.push(check)
    signatures += check.commit.signatures.length
  }
  return all
}
