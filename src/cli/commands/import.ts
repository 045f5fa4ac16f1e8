import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

export function addImport(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('import')
    .description('Execute the blocks of a file that export wrote, in a stopped node with the same genesis')
    .argument('<file>', 'file to read')
  addConfigFlags(command).action(async (file: string) => {
    const config = loadConfig(configSources(command, terminal), terminal.homeDirectory)
    const range = await node.importBlocks(config, { file: resolve(terminal.workingDirectory, file) })
    terminal.print(`Imported ${range.to - range.from + 1} blocks, ${range.from} to ${range.to}\n`)
  })
}
