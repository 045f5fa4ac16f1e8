import type { ConsensusTiming } from '../chain/chainConfig.ts'
import type { Timeout } from './input.ts'

/** However many rounds fail, a timeout is no longer than this. */
export const MAX_TIMEOUT_MS = 10_000

/** One proposer that is away must not slow down the rounds after it: timeouts grow from the fourth round on. */
const CONSTANT_ROUNDS = 2

/** timeoutPropose(r), timeoutPrevote(r) and timeoutPrecommit(r) of the paper, in milliseconds. */
export function timeoutMs(step: Exclude<Timeout['step'], 'newHeight'>, round: number, timing: ConsensusTiming): number {
  const [base, delta] =
    step === 'propose'
      ? [timing.proposeTimeoutMs, timing.proposeTimeoutDeltaMs]
      : [timing.voteTimeoutMs, timing.voteTimeoutDeltaMs]
  return Math.min(MAX_TIMEOUT_MS, base + delta * Math.max(0, round - CONSTANT_ROUNDS))
}
