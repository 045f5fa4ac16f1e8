import type { ConsensusTiming } from '../chain/chainConfig.ts'
import type { Timeout } from './inputsAndEffects.ts'

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

/** However many rounds fail, a proposal may not have travelled for longer. */
export const MAX_MESSAGE_DELAY_MS = 3_600_000

/** How long a round's proposal may travel: a tenth longer each round, so that parameters that are too tight halt no chain. */
export function messageDelayMs(
  round: number,
  { messageDelayMs: first }: Pick<ConsensusTiming, 'messageDelayMs'>,
): number {
  let delayMs = Math.min(first, MAX_MESSAGE_DELAY_MS)
  for (let r = 0; r < round && delayMs < MAX_MESSAGE_DELAY_MS; r++) {
    const longer = Math.max(delayMs + 1, Math.floor((delayMs * 11) / 10))
    delayMs = Math.min(MAX_MESSAGE_DELAY_MS, longer)
  }
  return delayMs
}

/**
 * Whether a proposal of a new block came when its time says (proposer-based timestamps, CometBFT v1
 * spec/consensus/proposer-based-timestamp): not before it, nor longer after it than messages take, by clocks that are at most
 * `precisionMs` apart. All times are milliseconds since the epoch.
 */
export function isTimely(timestampMs: number, receivedMs: number, round: number, timing: ConsensusTiming): boolean {
  const { precisionMs } = timing
  if (receivedMs < timestampMs - precisionMs) return false
  return receivedMs <= timestampMs + messageDelayMs(round, timing) + precisionMs
}
