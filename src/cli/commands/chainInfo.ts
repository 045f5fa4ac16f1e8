import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { parseGenesis } from '../../chain/genesis/genesis.ts'
import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import { ConfigError } from '../../config/configError.ts'
import { VARIABLES } from '../../config/variables.ts'
import { dataPaths } from '../../datadir/dataDirectory.ts'
import { readGenesisFile } from '../../datadir/initNode.ts'
import {
  CHAIN_INFO_FORMATS,
  type ChainPlaces,
  describeChain,
  NETWORK_TYPES,
  type NetworkType,
} from '../chainMetadata.ts'
import { addConfigFlags, configOf } from '../configFlags.ts'
import { createNodeClient } from '../nodeClient.ts'
import type { NodeCommands, Terminal } from '../ports.ts'

/** Places that the genesis does not hold: a flag, its variable, and a description. */
const PLACES = {
  rpcUrl: [
    '--rpc-url <url>',
    'CHAIN_RPC_URL',
    `JSON-RPC (default: ${VARIABLES.publicRpcUrl.name}, or http://localhost:8080)`,
  ],
  wsUrl: ['--ws-url <url>', 'CHAIN_WS_URL', 'JSON-RPC over WebSocket (default: the RPC URL with ws)'],
  cometUrl: ['--comet-url <url>', 'CHAIN_COMET_URL', "CometBFT's RPC (default: /rpc at the RPC URL)"],
  restUrl: ['--rest-url <url>', 'CHAIN_REST_URL', 'REST (default: the RPC URL)'],
  grpcAddress: ['--grpc-address <host:port>', 'CHAIN_GRPC_ADDRESS', 'gRPC'],
  explorerUrl: ['--explorer-url <url>', 'CHAIN_EXPLORER_URL', 'explorer'],
  websiteUrl: ['--website-url <url>', 'CHAIN_WEBSITE_URL', 'website'],
  faucetUrl: ['--faucet-url <url>', 'CHAIN_FAUCET_URL', 'faucet'],
  iconUrl: ['--icon-url <url>', 'CHAIN_ICON_URL', 'icon of the coin'],
  name: ['--name <text>', 'CHAIN_NAME', 'name that wallets show (default: from the symbol and the kind of network)'],
  slug: ['--slug <text>', 'CHAIN_SLUG', 'name in registries: lowercase letters and digits'],
} as const

type Place = keyof typeof PLACES
interface Options extends Readonly<Partial<Record<Place, string>>> {
  readonly format: (typeof CHAIN_INFO_FORMATS)[number]
  readonly genesis?: string
  readonly node?: string
  readonly networkType?: NetworkType
}

/** Adds `coind chain-info`: prints what wallets and registries take. */
export function addChainInfo(program: Command, _node: NodeCommands, terminal: Terminal): void {
  const command = program
    .command('chain-info')
    .description("Print the chain's description for wallets, registries or viem")
    .addOption(new Option('--format <format>', 'format to print').choices(CHAIN_INFO_FORMATS).makeOptionMandatory())
    .addOption(new Option('--genesis <file>', 'genesis file (default: the one in HOMEDIR)').conflicts('node'))
    .addOption(new Option('--node <url>', 'running node to read the genesis from'))
    .addOption(
      new Option('--network-type <type>', 'kind of network (default: from the chain ID)').choices(NETWORK_TYPES),
    )
  for (const [flags, variable, text] of Object.values(PLACES)) {
    command.addOption(new Option(flags, `${text}; else ${variable}`))
  }
  addConfigFlags(command, [VARIABLES.homedir, VARIABLES.publicRpcUrl]).action(async (options: Options) => {
    const genesis = await readGenesis(command, options, terminal)
    const publicUrl =
      (options.rpcUrl ?? terminal.environment[PLACES.rpcUrl[1]]) || configOf(command, terminal).rpc.publicUrl
    terminal.print(describeChain(options.format, genesis, placesOf(genesis, options, terminal, publicUrl)))
  })
}

async function readGenesis(command: Command, { genesis, node }: Options, terminal: Terminal): Promise<Genesis> {
  if (node === undefined) {
    const path =
      genesis === undefined
        ? dataPaths(configOf(command, terminal).homedir).genesis
        : resolve(terminal.workingDirectory, genesis)
    return readGenesisFile(path)
  }
  const answer = await createNodeClient(node).comet('genesis', {})
  return parseGenesis(JSON.stringify((answer as { readonly genesis?: unknown }).genesis ?? null))
}

const DEFAULT_RPC_URL = 'http://localhost:8080'
/** EVM chain ID of the mainnet, and of the testnet, whose ID devnets have as well. */
const KNOWN_NETWORKS: ReadonlyMap<string, NetworkType> = new Map([
  ['7628', 'mainnet'],
  ['76287', 'testnet'],
])

/** @throws ConfigError for an invalid address, or a name that registries do not take */
function placesOf(
  { chain_id, app_state }: Genesis,
  options: Options,
  { environment }: Pick<Terminal, 'environment'>,
  publicUrl: string | undefined,
): ChainPlaces {
  const given = (place: Place): string | undefined => (options[place] ?? environment[PLACES[place][1]]) || undefined
  const url = (place: Place, example = DEFAULT_RPC_URL): string | undefined => {
    const text = given(place)
    return text === undefined ? undefined : readUrl(text, PLACES[place][1], example)
  }
  const { evm, bank } = app_state
  const networkType = options.networkType ?? KNOWN_NETWORKS.get(evm.params.chain_config.chain_id) ?? ('devnet' as const)
  const isMainnet = networkType === 'mainnet'
  const symbol = bank.denom_metadata[0]?.symbol ?? chain_id
  const prefix = chain_id.slice(0, chain_id.indexOf('_'))
  const rpcUrl = readUrl(publicUrl ?? DEFAULT_RPC_URL, PLACES.rpcUrl[1], DEFAULT_RPC_URL)
  const slug = given('slug') ?? `${prefix.toLowerCase().replace(/[^a-z0-9]/g, '')}${isMainnet ? '' : networkType}`
  if (!/^[a-z0-9]+$/.test(slug)) throw new ConfigError(`${PLACES.slug[1]} is ${slug}: use lowercase letters and digits`)
  return {
    rpcUrl,
    webSocketUrl: url('wsUrl', 'ws://localhost:8080') ?? rpcUrl.replace(/^http/, 'ws'),
    cometUrl: url('cometUrl') ?? `${rpcUrl}/rpc`,
    restUrl: url('restUrl') ?? rpcUrl,
    grpcAddress: given('grpcAddress'),
    explorerUrl: url('explorerUrl'),
    websiteUrl: url('websiteUrl'),
    faucetUrl: url('faucetUrl'),
    iconUrl: url('iconUrl'),
    name: given('name') ?? (isMainnet ? symbol : `${symbol} ${networkType}`),
    slug,
    networkType,
  }
}

/** @param example with the protocol that the address has, or has with TLS */
function readUrl(text: string, variable: string, example: string): string {
  const { protocol } = new URL(example)
  const isTaken = URL.canParse(text) && [protocol, protocol.replace(':', 's:')].includes(new URL(text).protocol)
  if (!isTaken) throw new ConfigError(`${variable} is ${JSON.stringify(text)}: expected an address such as ${example}`)
  return text.replace(/\/+$/, '')
}
