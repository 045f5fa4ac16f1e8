import type { Command } from 'commander'
import { bytesText } from '../../telemetry/progress.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { unlessStopped } from '../stopSignal.ts'

/*
 * Disk space of a stopped node: `prune` deletes data that the settings do not retain, `compact` frees the space of deleted data.
 */

export function addPrune(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('prune')
    .description('Delete all data that PRUNING, BLOCK_HISTORY and INDEX do not retain, from a stopped node')
  addConfigFlags(command).action(async () => {
    const config = configOf(command, terminal)
    const { states, bodies, headers, files, indexEntries } = await unlessStopped(terminal, (signal) =>
      node.pruneDatabase(config, signal),
    )
    const dropped = [
      ...(states === 0 ? [] : [`the states of ${states} blocks`]),
      ...(bodies === 0 ? [] : [`the transactions, receipts and indexes of ${bodies} blocks`]),
      ...(headers === 0 ? [] : [`the headers of ${headers} blocks`]),
      ...(files === 0 ? [] : [`the transactions in ${files} files of old blocks`]),
      ...(indexEntries === 0 ? [] : [`${indexEntries} entries of indexes`]),
    ]
    terminal.print(
      dropped.length === 0
        ? 'Nothing to do: PRUNING, BLOCK_HISTORY and INDEX retain all data\n'
        : `Deleted ${dropped.join(', ')}\nThe disk space is freed over time, or immediately by \`coind compact\`\n`,
    )
  })
}

export function addCompact(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('compact')
    .description("Compact a stopped node's database, to free the disk space of deleted data")
  addConfigFlags(command).action(async () => {
    const config = configOf(command, terminal)
    const { bytesBefore, bytesAfter } = await unlessStopped(terminal, (signal) => node.compactDatabase(config, signal))
    terminal.print(`Compacted the database from ${bytesText(bytesBefore)} to ${bytesText(bytesAfter)}\n`)
  })
}
