import { SIGNED_MESSAGE_TYPES, type Vote } from '../chain/consensus/types.ts'
import type { Clock } from './clock.ts'

/** The line is not repeated within this time. */
const REPEAT_MS = 60_000

/**
 * What to do about votes with this node's key that it did not sign: the operator has to know at once, and is the only one
 * who can tell which of the two processes is the right one.
 * @param count called for each
 */
export function createKeyAlarm(
  clock: Pick<Clock, 'monotonicMs'>,
  log: { error(fields: object, message: string): void },
  count: () => void,
): (vote: Vote) => void {
  let shownMs: number | undefined
  return ({ height, round, type }) => {
    count()
    const nowMs = clock.monotonicMs()
    if (shownMs !== undefined && nowMs - shownMs < REPEAT_MS) return
    shownMs = nowMs
    log.error(
      { height, round, type: type === SIGNED_MESSAGE_TYPES.prevote ? 'prevote' : 'precommit' },
      "ANOTHER PROCESS SIGNS WITH THIS VALIDATOR'S KEY: stop one of them now, or the validator will be punished for signing twice",
    )
  }
}
