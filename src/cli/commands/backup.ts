import { resolve } from 'node:path'
import type { Command } from 'commander'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { abortOnStop, Interrupted } from '../stopSignal.ts'

interface BackupFlags {
  readonly out: string
  readonly withKeys?: boolean
}

/** Adds `coind backup`: copies the data directory of a node that may be running. */
export function addBackup(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('backup')
    .description('Back up the data directory to a new one and verify the copy; the node may be running')
    .requiredOption('--out <directory>', 'directory to create')
    .option(
      '--with-keys',
      "include the keys of validator and node and the signer's state: keep the backup as safe as the keys",
    )
  addConfigFlags(command).action(async ({ out, withKeys = false }: BackupFlags) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const made = node.backUp(config, { out: resolve(terminal.workingDirectory, out), withKeys, signal })
    const { height } = await made.catch((error: unknown) => {
      throw error === signal.reason ? new Interrupted('interrupted: no backup was made') : error
    })
    terminal.print(
      `Backed up the chain up to block ${height} to ${out}, ${withKeys ? 'with its keys' : 'without keys (--with-keys)'}\n`,
    )
  })
}
