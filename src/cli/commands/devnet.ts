import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import { DEVNET_ACCOUNTS, DEVNET_BALANCE_ACOIN } from '../devnet/accounts.ts'
import { devnetBanner } from '../devnet/banner.ts'
import { prepareDevnet } from '../devnet/devnetDirectory.ts'
import { DEVNET_DEFAULTS, DEVNET_VARIABLES, devnetSources } from '../devnet/devnetSources.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { runNode } from '../runNode.ts'

interface Options {
  readonly homedir: string
  readonly reset?: true
}

export function addDevnet(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('devnet')
    .description('Run a local network of one validator with funded accounts, for development')
    .option('--homedir <path>', 'data directory; HOMEDIR is not used', '.devnet')
    .option('--reset', 'begin a new chain: delete the one in the data directory')
  addConfigFlags(command, DEVNET_VARIABLES, DEVNET_DEFAULTS).action(async (options: Options) => {
    const directory = resolve(terminal.workingDirectory, options.homedir)
    const config = loadConfig(devnetSources(configSources(command, terminal), directory), terminal.homeDirectory)
    await prepareDevnet(directory, options.reset ?? false, terminal.processId)
    const fundedAccounts = DEVNET_ACCOUNTS.slice(1).map(({ address }) => ({
      address,
      balanceAcoin: DEVNET_BALANCE_ACOIN,
    }))
    await runNode(
      (signal) => node.startNode(config, { fundedAccounts, signal }),
      terminal,
      (running) => terminal.print(devnetBanner(config, running)),
    )
  })
}
