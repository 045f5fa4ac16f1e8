import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import type { Config } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { loadPublicKey, loadValidatorKey } from '../../consensus/validatorKey.ts'
import { dataPaths, lockHome, partsToReset, resetHome } from '../../datadir/dataDirectory.ts'
import { BECH32_CONSENSUS, toBech32 } from '../../primitives/address.ts'
import { ed25519Address } from '../../primitives/ed25519.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { publicKeyJson } from './consensusKey.ts'

/*
 * The commands on a data directory that run no node: `init` creates it, `reset` removes the chain in it, `show-node-id` and
 * `debug invariants` look into it.
 */

export function addInit(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('init')
    .description('Create the data directory with keys and a new genesis, or with the genesis of the network to join')
  addConfigFlags(command).action(async () => {
    const config = configOf(command, terminal)
    const report = await node.initNode(config, {})
    const state = report.isFresh ? 'Created' : 'Nothing to do, already present:'
    terminal.print(`${state} ${report.genesisPath}
  chain ID      ${report.chainId}
  genesis hash  ${report.genesisHash}
  node ID       ${report.nodeId}
`)
    for (const warning of report.warnings) terminal.print(`Warning: ${warning}\n`)
  })
}

export function addReset(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('reset')
    .description('Remove the chain of a stopped node, to start a new one with the same keys')
    .option('--yes', 'confirm; without it the command only reports what it would remove')
  addConfigFlags(command).action(async (options: { readonly yes?: true }) => {
    const { homedir } = configOf(command, terminal)
    const paths = dataPaths(homedir)
    if (!existsSync(homedir)) throw new ConfigError(`${homedir} does not exist: set HOMEDIR to a data directory`)
    const lock = await lockHome(paths, terminal.processId)
    try {
      const parts = partsToReset(paths)
      if (parts.length === 0) {
        terminal.print(`Nothing to do: there is no chain in ${homedir}\n`)
        return
      }
      if (options.yes === undefined) {
        throw new ConfigError(`reset permanently removes ${parts.join(', ')}, but not the keys: confirm with --yes`)
      }
      resetHome(paths)
      terminal.print(`Removed ${parts.join(', ')}\nThe keys in ${paths.config} remain.\n`)
    } finally {
      await lock.release()
    }
  })
}

export function addShowNodeId(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program.command('show-node-id').description('Print the node ID, by which peers know this node')
  addConfigFlags(command).action(async () => {
    const config = configOf(command, terminal)
    terminal.print(`${await node.showNodeId(config)}\n`)
  })
}

/** Adds `coind comet show-node-id` and so on, which print a node's keys as the Cosmos SDK's programs do. */
export function addComet(program: Command, node: NodeCommands, terminal: Terminal): void {
  const group = program.command('comet').aliases(['cometbft', 'tendermint']).description('Show the keys of this node')
  addShowNodeId(group, node, terminal)
  const address = group.command('show-address').description('Print the address of the validator key, coinvalcons1…')
  addConfigFlags(address).action(() => {
    terminal.print(`${toBech32(ed25519Address(publicKeyOf(configOf(address, terminal))), BECH32_CONSENSUS)}\n`)
  })
  const validator = group.command('show-validator').description('Print the public key of the validator key, in JSON')
  addConfigFlags(validator).action(() => {
    terminal.print(`${publicKeyJson(publicKeyOf(configOf(validator, terminal)))}\n`)
  })
}

/**
 * Returns the public consensus key of the data directory, or of its remote signer.
 * @throws ConfigError when neither is known
 */
function publicKeyOf({ homedir }: Config): Uint8Array {
  const { validatorKey, signerPublicKey } = dataPaths(homedir)
  const publicKey = loadValidatorKey(validatorKey)?.publicKey ?? loadPublicKey(signerPublicKey)
  if (publicKey !== undefined) return publicKey
  throw new ConfigError(`${validatorKey} does not exist: run coind init, or connect the remote signer first`)
}

/** The state breaks its own rules. Each broken rule has been printed before this is thrown. */
class InvariantsBroken extends Error {
  override readonly name = 'InvariantsBroken'
}

export function addDebug(program: Command, node: NodeCommands, terminal: Terminal): void {
  const debug = program.command('debug').description('Inspect a data directory')
  const command = debug
    .command('invariants')
    .description(
      'Check supply, pools, delegations, rewards, deposits and vesting in the newest state; the node may be running',
    )
  addConfigFlags(command).action(async () => {
    const config = configOf(command, terminal)
    const { height, accounts, problems } = await node.checkInvariants(config)
    for (const problem of problems) terminal.print(`${problem}\n`)
    if (problems.length > 0) throw new InvariantsBroken(`block ${height}: ${problems.length} invariants do not hold`)
    terminal.print(`block ${height}: all invariants hold, ${accounts} accounts\n`)
  })
}
