import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

export function addInit(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('init')
    .description('Create the data directory with keys and a fresh genesis, or that of the network to join, and stop')
  addConfigFlags(command).action(async () => {
    const config = loadConfig(configSources(command, terminal), terminal.homeDirectory)
    const report = await node.initNode(config, {})
    const state = report.isFresh ? 'Created' : 'Nothing to do: there is already'
    terminal.print(`${state} ${report.genesisPath}
  chain ID      ${report.chainId}
  genesis hash  ${report.genesisHash}
  node ID       ${report.nodeId}
`)
    for (const warning of report.warnings) terminal.print(`Warning: ${warning}\n`)
  })
}
