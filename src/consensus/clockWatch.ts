import type { ConsensusTiming } from '../chain/genesis/chainConfig.ts'
import type { Clock } from './clock.ts'

/**
 * Number of others' decided blocks that are compared; the median tolerates a slow line and a single
 * proposer with a wrong clock.
 */
const BLOCKS = 9
/** Minimum time between two lines of the log. */
const REPEAT_MS = 60_000

interface ClockWatchOptions {
  readonly timing: Pick<ConsensusTiming, 'precisionMs'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Record<'info' | 'warn', (fields: object, message: string) => void>
  /** called with the median, in milliseconds, at each block */
  readonly onOffset: (offsetMs: number) => void
}

/**
 * Tells the operator when this node's clock and the network's disagree by more than the chain
 * allows. A block's time is its proposer's clock, and more than two thirds of the power found it
 * timely, so the time at which proposals of decided blocks arrive here shows how far this clock is
 * ahead of the network's, plus the travel time of a message. Nothing is corrected: the node
 * continues with its clock, its proposals are refused, and it prevotes nil on blocks that others
 * accept.
 * @returns a function to be called with the time of each such proposal and the time of its arrival,
 * by this node's clock
 */
export function createClockWatch({ timing, clock, log, onOffset }: ClockWatchOptions) {
  const offsets: number[] = []
  let shownMs: number | undefined
  return (timestampMs: number, receivedMs: number): void => {
    offsets.push(receivedMs - timestampMs)
    if (offsets.length > BLOCKS) offsets.shift()
    const offsetMs = offsets.toSorted((a, b) => a - b)[offsets.length >> 1]!
    onOffset(offsetMs)
    const nowMs = clock.monotonicMs()
    if (Math.abs(offsetMs) <= timing.precisionMs) {
      if (shownMs !== undefined) log.info({ offsetMs }, "this node's clock agrees with the network's again")
      shownMs = undefined
    } else if (offsets.length === BLOCKS && (shownMs === undefined || nowMs - shownMs >= REPEAT_MS)) {
      shownMs = nowMs
      const side = offsetMs < 0 ? 'behind' : 'ahead of'
      log.warn(
        { offsetMs, allowedMs: timing.precisionMs },
        `this node's clock is ${side} the network's, or proposals take long to arrive: run NTP, a validator's blocks are refused until then`,
      )
    }
  }
}
