import type { ApplicationInfo } from '../../../consensus/application.ts'
import type { DecidedEvent } from '../../../consensus/consensusService.ts'
import { bytesToHex, bytesToUpperHex } from '../../../primitives/bytes.ts'
import type { HeightTimes } from '../../../rpc/comet/json/roundState.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { ConsensusMetrics } from '../../../telemetry/metrics.ts'

/** The newest block, as heartbeat and log show it. */
export interface HeadSummary {
  readonly height: number
  readonly hash: Uint8Array
  readonly timeMs: number
}

export interface Decisions {
  head(): HeadSummary
  /** when this node saw the newest block decided, which is when the next height began */
  heightTimes(): HeightTimes
  onDecided(event: DecidedEvent): void
}

/** Follows decided blocks in the main thread: remembers the newest one, counts metrics, and logs. */
export function followDecisions(
  { height, appHash, lastBlockTimeMs }: ApplicationInfo,
  metrics: ConsensusMetrics,
  log: Logger,
): Decisions {
  let head: HeadSummary = { height, hash: appHash, timeMs: lastBlockTimeMs }
  let lastDecidedMs: number | undefined
  let commitMs = lastBlockTimeMs
  return {
    head: () => head,
    heightTimes: () => ({ startMs: commitMs, commitMs }),
    onDecided: (event) => {
      const { header } = event.decided.block
      head = { height: header.height, hash: event.result.appHash, timeMs: header.timeMs }
      commitMs = Date.now()
      metrics.blockHeight.set(head.height)
      logDecision(log, event)
      if (event.source !== 'consensus') return
      const nowMs = performance.now()
      if (lastDecidedMs !== undefined) metrics.blockIntervalSeconds.observe((nowMs - lastDecidedMs) / 1000)
      lastDecidedMs = nowMs
      metrics.walFsyncSeconds.observe(event.timings.logMs / 1000)
    },
  }
}

/**
 * Logs one line per block. Empty blocks are logged at debug level, as there are 216,000 per day, and so are synced ones:
 * block sync logs its own progress.
 */
function logDecision(log: Logger, { decided, result, source, timings }: DecidedEvent): void {
  const { header, txs } = decided.block
  const fields = {
    height: header.height,
    hash: bytesToHex(result.appHash),
    txs: txs.length,
    round: decided.seenCommit.round,
    ...(source === 'consensus' ? {} : { source }),
    buildMs: Math.round(timings.buildMs),
    finalizeMs: Math.round(timings.finalizeMs),
  }
  for (const { voteA } of decided.block.evidence) {
    const validator = bytesToUpperHex(voteA.validatorAddress)
    log.warn(
      { height: header.height, validator, faultHeight: voteA.height },
      'block reports a validator that signed twice',
    )
  }
  if (source === 'log' || (source === 'consensus' && txs.length > 0)) log.info(fields, 'block decided')
  else log.debug(fields, 'block decided')
}
