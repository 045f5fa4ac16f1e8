import { randomBytes } from 'node:crypto'
import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import { loadConfig } from '../../config/config.ts'
import { VARIABLES } from '../../config/variables.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import { createTestnet, editTestnet, PORTS_A_NODE, type Testnet, type TestnetNode } from '../createTestnet.ts'
import type { NodeCommands, Terminal } from '../ports.ts'
import { wholeNumber } from '../wholeNumber.ts'

interface Options {
  readonly validators: number
  readonly fullNodes: number
  readonly outputDir: string
  readonly startingPort: number
  readonly hostnamePrefix?: string
  readonly edit?: true | string
}

const MAX_VALIDATORS = 50
const MAX_FULL_NODES = 50
const MAX_STARTING_PORT = 65_535 - (MAX_VALIDATORS + MAX_FULL_NODES) * PORTS_A_NODE

export function addTestnet(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('testnet')
    .description('Create the data directories of a new network of several nodes')
    .option('--validators <n>', 'number of validators', wholeNumber(1, MAX_VALIDATORS), 4)
    .option('--full-nodes <n>', 'number of additional nodes that do not vote', wholeNumber(0, MAX_FULL_NODES), 0)
    .option('--output-dir <path>', 'directory to write; must not exist or must be empty', 'testnet')
    .option(
      '--starting-port <port>',
      `RPC port of the first node on this machine; its peer port is one higher, the next node's ${PORTS_A_NODE}`,
      wholeNumber(1, MAX_STARTING_PORT),
      26_600,
    )
    .option('--hostname-prefix <name>', 'each node runs on its own host (<name>0, <name>1, …) with the default ports')
    .option(
      '--edit [genesis]',
      'copy an edited genesis to the nodes in --output-dir, before their first start (default: that of the first node)',
    )
  const { network, chainId, evmChainId, genesisWallet, selfDelegationAcoin } = VARIABLES
  const defaults = { [network.name]: 'testnet' }
  addConfigFlags(command, [network, chainId, evmChainId, genesisWallet, selfDelegationAcoin], defaults).action(
    (options: Options) => {
      const directory = resolve(terminal.workingDirectory, options.outputDir)
      if (options.edit !== undefined) {
        const file = options.edit === true ? undefined : resolve(terminal.workingDirectory, options.edit)
        const { genesisHash, files } = editTestnet(directory, file)
        terminal.print(`The genesis hash is now ${genesisHash}\nWritten: ${files.join(', ')}\n`)
        return
      }
      // The environment and `.env` may be those of a real node.
      const { flags } = configSources(command, terminal)
      const config = loadConfig({ flags, environment: {}, dotenv: defaults }, terminal.homeDirectory)
      const testnet = createTestnet({
        directory,
        chainId: config.chainId,
        validators: options.validators,
        fullNodes: options.fullNodes,
        placement:
          options.hostnamePrefix === undefined
            ? { kind: 'machine', startingPort: options.startingPort }
            : { kind: 'hosts', prefix: options.hostnamePrefix },
        wallet: config.genesis.wallet,
        selfDelegationAcoin: config.genesis.selfDelegationAcoin,
        genesisTimeMs: Date.now(),
        randomBytes,
      })
      terminal.print(describe(testnet, config.chainId))
    },
  )
}

function describe({ nodes, genesisHash, walletFile, joinFile }: Testnet, chainId: string): string {
  const lines = nodes.map(
    ({ name, isValidator, nodeId, rpcUrl }) =>
      `  ${name.padEnd(8)} ${isValidator ? 'validator' : 'full node'}  ${rpcUrl}  ${nodeId}`,
  )
  return `Created a network of ${nodes.length} nodes
  chain ID      ${chainId}
  genesis hash  ${genesisHash}
${walletFile === undefined ? '' : `  wallet key    ${walletFile}\n`}  for joiners   ${joinFile}

${lines.join('\n')}

${howToStart(nodes[0]!)}
`
}

function howToStart({ home, variables }: TestnetNode): string {
  const isHere = variables['HOMEDIR'] !== undefined
  if (isHere) return `Start each node with the variables in its .env:\n  cd ${home} && coind start`
  return `Copy each directory to its host, and start the node there with the variables in its .env:
  cd ${basename(home)} && HOMEDIR=$PWD coind start`
}
