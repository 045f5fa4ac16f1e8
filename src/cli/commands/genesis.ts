import { resolve } from 'node:path'
import type { Command } from 'commander'
import { dataPaths } from '../../app/dataDirectory.ts'
import { readGenesisFile } from '../../app/initNode.ts'
import { genesisHash } from '../../chain/genesis.ts'
import { loadConfig } from '../../config/config.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

export function addGenesis(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const group = program.command('genesis').description('Work with genesis files')
  const command = group
    .command('hash')
    .description('Check a genesis file and print its hash, the value of GENESIS_HASH')
    .argument('[file]', 'file to read (default: the one in HOMEDIR)')
  addConfigFlags(command).action((file: string | undefined) => {
    const path =
      file === undefined
        ? dataPaths(loadConfig(configSources(command, terminal), terminal.homeDirectory).homedir).genesis
        : resolve(terminal.workingDirectory, file)
    terminal.print(`${bytesToHex(genesisHash(readGenesisFile(path))).slice(2)}\n`)
  })
}
