import type { ConsensusTiming } from '../chain/genesis/chainConfig.ts'
import type { Timeout } from './inputsAndEffects.ts'

/** The longest timeout, after any number of failed rounds. */
export const MAX_TIMEOUT_MS = 10_000

/** Timeouts grow only from the fourth round on, so that one or two absent proposers do not slow down the next rounds. */
const CONSTANT_ROUNDS = 2

/**
 * Returns timeoutPropose(r), timeoutPrevote(r) and timeoutPrecommit(r) of the paper, in
 * milliseconds.
 */
export function timeoutMs(step: Exclude<Timeout['step'], 'newHeight'>, round: number, timing: ConsensusTiming): number {
  const [base, delta] =
    step === 'propose'
      ? [timing.proposeTimeoutMs, timing.proposeTimeoutDeltaMs]
      : [timing.voteTimeoutMs, timing.voteTimeoutDeltaMs]
  return Math.min(MAX_TIMEOUT_MS, base + delta * Math.max(0, round - CONSTANT_ROUNDS))
}

/** The longest message delay, after any number of failed rounds. */
export const MAX_MESSAGE_DELAY_MS = 3_600_000

/**
 * Returns the message delay that PBTS allows for a round's proposal. It grows by a tenth with each
 * round, so that parameters that are too small do not halt the chain.
 */
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
 * Whether the proposal of a new block is timely (proposer-based timestamps, CometBFT v1 spec/consensus/proposer-based-timestamp): it
 * came not before its own time, and not later after it than the message delay, with clocks that differ by at most `precisionMs`. All
 * times are milliseconds since the epoch.
 */
export function isTimely(timestampMs: number, receivedMs: number, round: number, timing: ConsensusTiming): boolean {
  const { precisionMs } = timing
  if (receivedMs < timestampMs - precisionMs) return false
  return receivedMs <= timestampMs + messageDelayMs(round, timing) + precisionMs
}
