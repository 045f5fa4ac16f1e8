import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { dataPaths } from '../../app/dataDirectory.ts'
import { lockHome } from '../../app/homeLock.ts'
import { partsToReset, resetHome } from '../../app/resetHome.ts'
import { loadConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

interface Options {
  readonly yes?: true
}

export function addReset(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('reset')
    .description('Remove the chain of a stopped node, to begin another one under the same keys')
    .option('--yes', 'really remove it; without this the command only says what it would remove')
  addConfigFlags(command).action(async (options: Options) => {
    const { homedir } = loadConfig(configSources(command, terminal), terminal.homeDirectory)
    const paths = dataPaths(homedir)
    if (!existsSync(homedir)) throw new ConfigError(`${homedir} does not exist: HOMEDIR must be a data directory`)
    const lock = await lockHome(paths, terminal.processId)
    try {
      const parts = partsToReset(paths)
      if (parts.length === 0) {
        terminal.print(`Nothing to do: there is no chain in ${homedir}\n`)
        return
      }
      if (options.yes === undefined) {
        throw new ConfigError(`reset removes ${parts.join(', ')} for good and keeps the keys: confirm with --yes`)
      }
      resetHome(paths)
      terminal.print(`Removed ${parts.join(', ')}\nThe keys in ${paths.config} are kept.\n`)
    } finally {
      await lock.release()
    }
  })
}
