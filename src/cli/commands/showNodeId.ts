import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

export function addShowNodeId(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program.command('show-node-id').description('Print the node ID that peers know this node by')
  addConfigFlags(command).action(async () => {
    const config = loadConfig(configSources(command, terminal), terminal.homeDirectory)
    terminal.print(`${await node.showNodeId(config)}\n`)
  })
}
