import { resolve } from 'node:path'
import type { Command } from 'commander'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { abortOnStop, Interrupted, unlessStopped } from '../stopSignal.ts'
import { wholeNumber } from '../wholeNumber.ts'

interface RollbackFlags {
  readonly to: number
  readonly save?: string
}

/** Takes a stopped node back to an earlier block. */
export function addRollback(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('rollback')
    .description('Undo the newest blocks of a stopped node; it executes them again or gets them from its peers')
    .requiredOption('--to <height>', 'block that becomes the newest', wholeNumber(0))
    .option('--save <file>', 'first write the blocks above it to this file, for coind import')
  addConfigFlags(command).action(async ({ to: target, save }: RollbackFlags) => {
    const config = configOf(command, terminal)
    const signal = abortOnStop(terminal)
    const rolledBack = node.rollback(config, {
      to: target,
      ...(save === undefined ? {} : { save: resolve(terminal.workingDirectory, save) }),
      signal,
    })
    const { from, to } = await rolledBack.catch((error: unknown) => {
      throw error === signal.reason ? new Interrupted('interrupted: nothing was undone') : error
    })
    if (from === to && to === target) terminal.print(`Nothing to do: block ${to} is already the newest\n`)
    else terminal.print(`Undid ${from - to} blocks: block ${to} is now the newest\n`)
    if (to > target)
      throw new Interrupted('interrupted: run the command again with another file for --save to continue')
  })
}

/** Makes the indexes of a stopped node what its blocks say. */
export function addReindex(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('reindex')
    .description(
      'Rebuild the indexes of hashes, logs and events of a stopped node from its blocks, and report what was wrong',
    )
  addConfigFlags(command).action(async () => {
    const config = configOf(command, terminal)
    const findings = await unlessStopped(terminal, (signal) => node.reindexDatabase(config, signal))
    const lines = Object.entries(findings).map(
      ([column, { missing, changed, extra }]) =>
        `${column}: ${missing} missing, ${changed} changed, ${extra} without a block\n`,
    )
    terminal.print(lines.length === 0 ? 'Nothing was wrong\n' : `${lines.join('')}Everything is repaired\n`)
  })
}
