import type { Command } from 'commander'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, RunningNode, Terminal } from '../ports.ts'

/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130

/** A parent process may pass on a signal that the node got itself too: two signals within this time count as one. */
const SAME_SIGNAL_MS = 500

export function addStart(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('start')
    .description('Run the node; without a genesis, create or fetch one first as init does')
  addConfigFlags(command).action(async () => {
    const config = configOf(command, terminal)
    await runNode(
      (signal) => node.startNode(config, { signal }),
      terminal,
      () => undefined,
    )
  })
}

/**
 * Runs a node until its end. The first stop signal stops it cleanly, a second one ends the process at once.
 * @param start gets a signal that ends its wait for other nodes
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
      // A failure to stop rejects `ended`.
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
