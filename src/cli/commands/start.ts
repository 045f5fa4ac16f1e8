import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { runNode } from '../runNode.ts'

export function addStart(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('start')
    .description('Run the node; without a genesis, create or fetch one first as init does')
  addConfigFlags(command).action(async () => {
    const config = loadConfig(configSources(command, terminal), terminal.homeDirectory)
    await runNode(
      (signal) => node.startNode(config, { signal }),
      terminal,
      () => undefined,
    )
  })
}
