import type { RunningNode, Terminal } from './ports.ts'

/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130

/** Whoever started the node may pass on a signal that the node got too: two in this time are one. */
const SAME_SIGNAL_MS = 500

/**
 * Runs a node until its end. The first stop signal stops it cleanly, a second one ends the process at once.
 * @param start takes what ends a start that waits for other nodes
 */
export async function runNode(
  start: (signal: AbortSignal) => Promise<RunningNode>,
  terminal: Pick<Terminal, 'onStopSignal' | 'exitNow' | 'now'>,
  onUp: (node: RunningNode) => void,
): Promise<void> {
  let firstSignalMs: number | undefined
  let running: RunningNode | undefined
  const stopped = new AbortController()
  terminal.onStopSignal(() => {
    if (firstSignalMs === undefined) {
      firstSignalMs = terminal.now()
      stopped.abort()
      // A failure to stop shows in `ended`.
      running?.stop().catch(() => undefined)
    } else if (terminal.now() - firstSignalMs > SAME_SIGNAL_MS) {
      terminal.exitNow(EXIT_INTERRUPTED)
    }
  })
  try {
    running = await start(stopped.signal)
  } catch (error) {
    if (error === stopped.signal.reason) return
    throw error
  }
  if (firstSignalMs === undefined) onUp(running)
  else await running.stop()
  await running.ended
}
