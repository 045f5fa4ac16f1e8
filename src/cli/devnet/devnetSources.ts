import type { ConfigSources, RawValues } from '../../config/settings.ts'
import { VARIABLES, type Variable } from '../../config/variables.ts'
import { toChecksumAddress } from '../../primitives/address.ts'
import { DEVNET_ACCOUNTS } from './accounts.ts'

const GROUPS: readonly Variable['group'][] = ['JSON-RPC', 'Execution and storage', 'Operation']
/** They tell others about a public node. */
const PUBLIC_NAMES: readonly string[] = [VARIABLES.publicRpcUrl.name, VARIABLES.heartbeatUrl.name]

/** Everybody knows its keys: by default it is reachable from this machine alone. */
export const DEVNET_DEFAULTS = { RPC_HOST: '127.0.0.1', P2P_HOST: '127.0.0.1' } as const

/** The variables that a devnet takes; all others are the devnet's own. */
export const DEVNET_VARIABLES: readonly Variable[] = Object.values<Variable>(VARIABLES).filter(
  (entry) => entry === VARIABLES.p2pPort || (GROUPS.includes(entry.group) && !PUBLIC_NAMES.includes(entry.name)),
)

/**
 * The configuration of a devnet: the network, the genesis and the data directory are its own whatever the environment and
 * `.env` of a real node say; ports, limits, pruning and logs can be set.
 * @param directory data directory
 */
export function devnetSources(sources: ConfigSources, directory: string): ConfigSources {
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
