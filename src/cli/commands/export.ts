import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { blockHeight } from '../blockHeight.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

interface Options {
  readonly out: string
  readonly from?: number
  readonly to?: number
}

export function addExport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('export')
    .description('Write blocks to a file, from a stopped node')
    .requiredOption('--out <file>', 'file to write')
    .option('--from <height>', 'first block (default: the oldest)', blockHeight)
    .option('--to <height>', 'last block (default: the newest)', blockHeight)
  addConfigFlags(command).action(async (options: Options) => {
    const config = loadConfig(configSources(command, terminal), terminal.homeDirectory)
    const range = await node.exportBlocks(config, {
      out: resolve(terminal.workingDirectory, options.out),
      ...(options.from === undefined ? {} : { from: options.from }),
      ...(options.to === undefined ? {} : { to: options.to }),
    })
    terminal.print(`Exported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}, to ${options.out}\n`)
  })
}
