import type { Command } from 'commander'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, RunningNode, Terminal } from '../ports.ts'
import { abortOnStop } from '../stopSignal.ts'

interface StartFlags {
  readonly signerMoved?: boolean
  readonly allowOlder?: boolean
}

export function addStart(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('start')
    .description('Run the node; without a genesis, create or fetch one first as init does')
    .option(
      '--signer-moved',
      'allow signing from a backup: its original has stopped permanently (docs/operations.md, "Backup")',
    )
    .option('--allow-older', 'let FORCE_SNAPSHOT_RESTORE replace the database with one of a lower height')
  addConfigFlags(command).action(async ({ signerMoved = false, allowOlder = false }: StartFlags) => {
    const config = configOf(command, terminal)
    await runNode(
      (signal) => node.startNode(config, { signal, signerMoved, allowsOlder: allowOlder }),
      terminal,
      () => undefined,
    )
  })
}

/**
 * Runs a node until its end. The first stop signal stops it cleanly, during its start too; a second one ends the process at once.
 * @param start gets a signal that ends the start, which then rejects with the signal's reason
 */
export async function runNode(
  start: (signal: AbortSignal) => Promise<RunningNode>,
  terminal: Pick<Terminal, 'onStopSignal' | 'exitNow' | 'now'>,
  onUp: (node: RunningNode) => void,
): Promise<void> {
  const signal = abortOnStop(terminal)
  let running: RunningNode | undefined
  // A failure to stop rejects `ended`.
  signal.addEventListener('abort', () => void running?.stop().catch(() => undefined))
  try {
    running = await start(signal)
  } catch (error) {
    if (error === signal.reason) return
    throw error
  }
  if (signal.aborted) await running.stop()
  else onUp(running)
  await running.ended
}
