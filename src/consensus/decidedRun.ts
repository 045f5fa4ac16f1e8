import type { ConsensusHeader } from '../chain/comet/block.ts'
import { equalBytes } from '../primitives/bytes.ts'
import type { Application, DecidedBlock, DecidedRun, FinalizeResult, RunResult } from './application.ts'

/**
 * Returns the result that the execution of a block must have if the block with the header `next`,
 * which names both hashes, can follow it. A run has no block that changes validators or parameters,
 * except its last. The result says nothing about stable storage.
 */
export function claimedResult(next: ConsensusHeader): FinalizeResult {
  const { appHash, lastResultsHash } = next
  return { appHash, lastResultsHash, validatorUpdates: [], durableHeight: 0 }
}

/** @param maxGas block.max_gas before the block */
function isAsClaimed(result: FinalizeResult, next: ConsensusHeader, maxGas: number): boolean {
  return (
    equalBytes(result.appHash, next.appHash) &&
    equalBytes(result.lastResultsHash, next.lastResultsHash) &&
    result.validatorUpdates.length === 0 &&
    (result.maxGas ?? maxGas) === maxGas
  )
}

/**
 * Makes `finalizeRun` of an application from its `finalizeBlock`. A run ends before a block that
 * cannot follow, because the result of the block before differs from the claims in the header: the
 * caller checks that block again. It also ends where `shouldContinue` returns false. An error in a
 * later block than the first is thrown by the next call, since the caller has to learn first which
 * blocks were executed.
 * @param shouldContinue called between two blocks: whether the run continues
 */
export function runsOf(
  finalizeBlock: Application['finalizeBlock'],
  shouldContinue: () => Promise<boolean> = async () => true,
): (run: DecidedRun) => Promise<RunResult> {
  let failure: { readonly error: unknown } | undefined
  const finalize = async (decided: DecidedBlock): Promise<FinalizeResult | undefined> => {
    try {
      return await finalizeBlock(decided)
    } catch (error) {
      failure = { error }
      return undefined
    }
  }
  return async ({ blocks, maxGas }) => {
    let executed = 0
    let last: FinalizeResult | undefined
    for (const decided of blocks) {
      if (last !== undefined) {
        if (!isAsClaimed(last, decided.block.header, maxGas) || !(await shouldContinue())) break
      }
      const result = failure === undefined ? await finalize(decided) : undefined
      if (result === undefined) break
      last = result
      executed++
    }
    if (last === undefined) throw failure?.error ?? new RangeError('a run without blocks')
    return { executed, last }
  }
}
