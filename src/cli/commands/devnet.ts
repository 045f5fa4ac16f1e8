import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { ACOIN_PER_COIN, INITIAL_SUPPLY_ACOIN } from '../../chain/genesis/genesisConstants.ts'
import { type Config, loadConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/configError.ts'
import { SHARED_EXPLORER_VARIABLES } from '../../config/explorerVariables.ts'
import { type ConfigSources, type RawValues, readSettings } from '../../config/settings.ts'
import { type SettingsOf, VARIABLES, type Variable } from '../../config/variables.ts'
import { databaseDirectories, dataPaths, lockHome } from '../../datadir/dataDirectory.ts'
import { toBech32, toChecksumAddress } from '../../primitives/address.ts'
import { addConfigFlags, configSources } from '../configFlags.ts'
import { DEVNET_ACCOUNTS, DEVNET_BALANCE_ACOIN, DEVNET_MNEMONIC } from '../devnetAccounts.ts'
import type { NodeCommands, RunningExplorer, RunningNode, Terminal } from '../ports.ts'
import { runNode } from './start.ts'

const VARIABLE_GROUPS: readonly Variable['group'][] = ['JSON-RPC', 'Execution and storage', 'Operation']
/** Variables that make a node known to the public. */
const PUBLIC_NAMES: readonly string[] = [VARIABLES.publicRpcUrl.name, VARIABLES.heartbeatUrl.name]

/** The keys of a devnet are public: by default it is reachable from this machine alone. In a container, its developer is another client. */
const DEVNET_DEFAULTS = { RPC_HOST: '127.0.0.1', P2P_HOST: '127.0.0.1', RPC_RATE_LIMIT: '0' } as const

/** The variables that a devnet takes; all others are the devnet's own. */
const DEVNET_VARIABLES: readonly Variable[] = Object.values<Variable>(VARIABLES).filter(
  (entry) =>
    entry === VARIABLES.p2pPort || (VARIABLE_GROUPS.includes(entry.group) && !PUBLIC_NAMES.includes(entry.name)),
)

/** A file in every directory that was made for a devnet: the command deletes nothing in any other directory. */
const MARKER = 'devnet.json'

/**
 * The explorer's variables that a devnet takes, with its own defaults. The node that the explorer reads, its database and the key of its
 * faucet are the devnet's own, even where the environment or `.env` are those of a real explorer; the others the explorer reads by itself.
 */
const EXPLORER_VARIABLES = {
  ...SHARED_EXPLORER_VARIABLES,
  /** by default RPC_HOST */
  host: { ...SHARED_EXPLORER_VARIABLES.host, fallback: undefined },
  chainName: { ...SHARED_EXPLORER_VARIABLES.chainName, fallback: 'coind devnet' },
} as const
type ExplorerSettings = SettingsOf<typeof EXPLORER_VARIABLES>

interface Options {
  readonly homedir: string
  readonly reset?: true
  /** false with --no-explorer */
  readonly explorer: boolean
}

/** Adds `coind devnet`: runs a chain of one validator on this machine, with funded accounts whose keys are public. */
export function addDevnet(program: Command, node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('devnet')
    .description('Run a local network of one validator with funded accounts, for development')
    .option('--homedir <path>', 'data directory (HOMEDIR is ignored)', '.devnet')
    .option('--reset', 'start a new chain: delete the one in the data directory')
    .option('--no-explorer', 'do not start the explorer')
  const explorerVariablesOf = Object.values<Variable>(EXPLORER_VARIABLES)
  addConfigFlags(command, [...DEVNET_VARIABLES, ...explorerVariablesOf], DEVNET_DEFAULTS)
  command.action(async (options: Options) => {
    const directory = resolve(terminal.workingDirectory, options.homedir)
    const own = loadConfig(devnetSources(configSources(command, terminal), directory), terminal.homeDirectory)
    const explorerSettings = options.explorer
      ? readSettings(EXPLORER_VARIABLES, configSources(command, terminal, explorerVariablesOf))
      : undefined
    const config = explorerSettings ? { ...own, heartbeatUrl: heartbeatUrl(own, explorerSettings) } : own
    const fundedAccounts = DEVNET_ACCOUNTS.slice(1).map(({ address }) => ({
      address,
      balanceAcoin: DEVNET_BALANCE_ACOIN,
    }))
    let explorer: RunningExplorer | string | undefined
    await runNode(
      async (signal) => {
        await prepareDevnet(directory, options.reset ?? false, terminal.processId)
        if (explorerSettings === undefined) return node.startNode(config, { fundedAccounts, signal })
        const failed = new AbortController()
        // At the same time: it waits for the node's first block by itself.
        const starting = node.startExplorer(
          explorerVariables(config, explorerSettings),
          AbortSignal.any([signal, failed.signal]),
        )
        try {
          const running = await node.startNode(config, { fundedAccounts, signal })
          explorer = await starting
          return typeof explorer === 'object' ? stoppedTogether(running, explorer) : running
        } catch (error) {
          // Without its node it would keep this process from ending.
          failed.abort()
          await starting
          throw error
        }
      },
      terminal,
      (running) => terminal.announce(devnetBanner(config, running, explorer)),
    )
  })
}

/**
 * Returns the configuration of a devnet. Network, genesis and data directory are its own, even
 * where the environment or `.env` are those of a real node; ports, limits, pruning and logs can be
 * set.
 */
function devnetSources(sources: ConfigSources, directory: string): ConfigSources {
  const taken = (values: RawValues): RawValues =>
    Object.fromEntries(DEVNET_VARIABLES.map(({ name }) => [name, values[name]]))
  return {
    flags: {
      ...taken(sources.flags),
      NETWORK: 'devnet',
      MONIKER: 'devnet',
      HOMEDIR: directory,
      GENESIS_WALLET: toChecksumAddress(DEVNET_ACCOUNTS[0]!.address),
    },
    environment: taken(sources.environment),
    dotenv: { ...DEVNET_DEFAULTS, ...defined(taken(sources.dotenv)) },
  }
}

function defined(values: RawValues): RawValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value.trim() !== ''))
}

/**
 * Makes `directory` ready for a devnet, without its chain if `isReset`.
 * @throws ConfigError when it holds something else, or a node is running in it
 */
async function prepareDevnet(directory: string, isReset: boolean, processId: number): Promise<void> {
  const marker = join(directory, MARKER)
  if (existsSync(directory) && !existsSync(marker) && readdirSync(directory).length > 0) {
    throw new ConfigError(`${directory} was not created by coind devnet: name another directory with --homedir`)
  }
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(
    marker,
    `${JSON.stringify({ about: 'created by coind devnet; --reset deletes the chain in this directory' })}\n`,
  )
  const { privateKey } = DEVNET_ACCOUNTS.at(-1)!
  writeFileSync(faucetKeyFile(directory), `${privateKey.slice(2)}\n`, { mode: 0o600 })
  if (!isReset) return
  const paths = dataPaths(directory)
  const lock = await lockHome(paths, processId)
  const explorerFiles = [explorerDatabase(directory), join(directory, 'explorer-services.sqlite')].flatMap((path) => [
    path,
    `${path}-wal`,
    `${path}-shm`,
  ])
  for (const path of [paths.config, ...databaseDirectories(paths), paths.snapshots, paths.wal, ...explorerFiles])
    rmSync(path, { recursive: true, force: true })
  await lock.release()
}

/** Returns the configuration of this devnet's explorer. */
function explorerVariables(
  { homedir, rpc }: Pick<Config, 'homedir' | 'rpc'>,
  settings: ExplorerSettings,
): Record<string, string> {
  return {
    EXPLORER_NODE_URL: `http://${reachable(rpc.host)}:${rpc.port}/`,
    EXPLORER_HOST: settings.host ?? rpc.host,
    EXPLORER_PORT: String(settings.port),
    EXPLORER_DATABASE: explorerDatabase(homedir),
    EXPLORER_PUBLIC_RPC_URL: settings.publicRpcUrl ?? `http://localhost:${rpc.port}/`,
    EXPLORER_CHAIN_NAME: settings.chainName,
    EXPLORER_FAUCET_KEY_FILE: faucetKeyFile(homedir),
    LOG_LEVEL: 'warn',
  }
}

/** Returns the address at which the node reports to its explorer. */
function heartbeatUrl({ rpc }: Pick<Config, 'rpc'>, { host = rpc.host, port }: ExplorerSettings): string {
  return `http://${reachable(host)}:${port}/api/network/heartbeat`
}

/** Returns the host of a URL at which this machine reaches a listener. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

/** Writes the last account's key: the explorer's faucet hands out its coins. */
function faucetKeyFile(homedir: string): string {
  return join(homedir, 'faucet.key')
}

function explorerDatabase(homedir: string): string {
  return join(homedir, 'explorer.sqlite')
}

/** Returns the node, with a stop and an end that are also those of the explorer. */
function stoppedTogether(node: RunningNode, explorer: RunningExplorer): RunningNode {
  return {
    ...node,
    ended: node.ended.finally(() => explorer.stop()),
    stop: async () => {
      await Promise.all([explorer.stop(), node.stop()])
    },
  }
}

/** Returns the text of `coind devnet` when the node is up: addresses to connect to, accounts, and settings for MetaMask. */
function devnetBanner(
  config: Pick<Config, 'chainId' | 'evmChainId' | 'homedir'>,
  node: Pick<RunningNode, 'rpcUrl' | 'wsUrl' | 'metricsUrl' | 'height'>,
  explorer: RunningExplorer | string | undefined,
): string {
  const chain = node.height === 0 ? 'a new chain' : `existing chain, at block ${node.height}`
  const accounts = DEVNET_ACCOUNTS.map(({ address, privateKey }, index) => {
    const balance = index === 0 ? INITIAL_SUPPLY_ACOIN : DEVNET_BALANCE_ACOIN
    return `  (${index}) ${toChecksumAddress(address)}  ${toBech32(address)}  ${(balance / ACOIN_PER_COIN).toLocaleString('en')} COIN
      private key ${privateKey}`
  })
  return `
coind devnet

  Explorer      ${explorerLine(explorer)}
  JSON-RPC      ${node.rpcUrl}
  WebSocket     ${node.wsUrl}
  Node status   ${new URL('/rpc/status', node.rpcUrl).href}
  Metrics       ${node.metricsUrl ?? 'off'}
  Chain ID      ${config.evmChainId} (0x${config.evmChainId.toString(16)}), native ${config.chainId}
  Data          ${config.homedir} (${chain}; --reset starts a new one)

Accounts and their coins in the genesis. FOR DEVELOPMENT ONLY: these private keys are public. Anyone can

  Mnemonic      ${DEVNET_MNEMONIC}
  Path          m/44'/60'/0'/0/i

${accounts.join('\n')}

MetaMask: network menu, "Add a custom network"

  Network name      coind devnet
  Default RPC URL   ${node.rpcUrl}
  Chain ID          ${config.evmChainId}
  Currency symbol   COIN

Ctrl-C stops the node.
`
}

function explorerLine(explorer: RunningExplorer | string | undefined): string {
  if (explorer === undefined) return 'off'
  return typeof explorer === 'string' ? `off: ${explorer}` : explorer.url
}
