import { isOwnDefect } from '../../../p2p/ownDefect.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NetworkMetrics } from '../../../telemetry/metrics.ts'

export interface PeerErrors {
  /** Ends this thread with a bug that handling a peer has brought to light, and with it the node, whose log then has it with its stack. */
  readonly onDefect: (error: Error) => void
  /** Runs the start of the network. If it fails, no peer has caused that: the thread ends with the error. */
  readonly start: <T>(run: () => Promise<T>) => Promise<T>
}

/**
 * Handles uncaught errors of a thread that runs libp2p. Its streams throw from their own timers and events when a connection
 * breaks at the wrong moment. Peers cause such errors, and no peer may end the node: they are counted and logged. A bug of
 * this software is different and ends the node, since no one knows what it has left undone.
 */
export function survivePeerErrors({
  metrics,
  log,
}: {
  readonly metrics: NetworkMetrics
  readonly log: Logger
}): PeerErrors {
  const onUncaught = (error: unknown): void => {
    if (isOwnDefect(error)) {
      onDefect(error)
      return
    }
    metrics.errorsTotal.inc()
    log.error({ error }, 'a peer has caused an error in the network thread')
  }
  const endSurvival = (): void => {
    process.off('uncaughtException', onUncaught)
    process.off('unhandledRejection', onUncaught)
  }
  process.on('uncaughtException', onUncaught)
  process.on('unhandledRejection', onUncaught)

  const onDefect = (error: Error): void => {
    log.error({ error }, 'unforeseen error in the network thread: report this line with its stack')
    endSurvival()
    setImmediate(() => {
      throw error
    })
  }
  return {
    onDefect,
    start: async (run) => {
      try {
        return await run()
      } catch (error) {
        // The failed evaluation of the thread's module would be survived too, and the main thread would wait for an answer forever.
        endSurvival()
        throw error
      }
    },
  }
}
