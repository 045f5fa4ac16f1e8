import { isOwnDefect } from '../p2p/ownDefect.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { NetworkMetrics } from '../telemetry/metrics.ts'

/**
 * For a thread that runs libp2p. Its streams throw from timers and events of their own when a connection breaks at the wrong moment. A peer
 * causes such errors, and no peer may end the node: they are counted and logged. A bug of this software is no such error: nobody knows what
 * it has left undone.
 * @returns ends this thread with a bug that handling a peer has brought to light, and with it the node, whose log then has it with its stack
 */
export function survivePeerErrors({
  metrics,
  log,
}: {
  readonly metrics: NetworkMetrics
  readonly log: Logger
}): (error: Error) => void {
  const onUncaught = (error: unknown): void => {
    if (isOwnDefect(error)) {
      endOnDefect(error)
      return
    }
    metrics.errorsTotal.inc()
    log.error({ error }, 'an error that a peer has caused')
  }
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)

  const endOnDefect = (error: Error): void => {
    log.error({ error }, 'an unforeseen error in the network thread')
    process.off('uncaughtException', onUncaught)
    process.off('unhandledRejection', onUncaught)
    setImmediate(() => {
      throw error
    })
  }
  return endOnDefect
}
