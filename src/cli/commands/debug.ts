import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

/** The state breaks its own rules: each broken one has been printed. */
class InvariantsBroken extends Error {
  override readonly name = 'InvariantsBroken'
}

export function addDebug(program: Command, node: NodeCommands, terminal: Terminal): void {
  const debug = program.command('debug').description('Look into a data directory')
  const command = debug
    .command('invariants')
    .description('Check supply, pools, delegations, rewards and deposits in the newest state; the node may be running')
  addConfigFlags(command).action(async () => {
    const config = loadConfig(configSources(command, terminal), terminal.homeDirectory)
    const { height, accounts, problems } = await node.checkInvariants(config)
    for (const problem of problems) terminal.print(`${problem}\n`)
    if (problems.length > 0) throw new InvariantsBroken(`block ${height}: ${problems.length} invariants do not hold`)
    terminal.print(`block ${height}: all invariants hold, ${accounts} accounts\n`)
  })
}
