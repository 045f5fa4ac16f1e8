import { ConfigError } from './configError.ts'
import type { Settings } from './variables.ts'

/** Native and EVM chain ID of each network kind. A devnet is a local chain with the testnet's IDs. */
const NETWORK_CHAIN_IDS = { mainnet: 'coin_7628-1', testnet: 'coin_76287-1', devnet: 'coin_76287-1' } as const

const CHAIN_ID_FORM = /^[a-z][a-z0-9]*_([1-9][0-9]{0,15})-[1-9][0-9]{0,9}$/

export interface ChainIds {
  /** native, e.g. coin_76287-1 */
  readonly chainId: string
  readonly evmChainId: bigint
}

/**
 * Returns the EVM chain ID inside a native chain ID `<name>_<EVM chain ID>-<revision>`; undefined
 * where it has another form.
 */
export function evmChainIdOf(chainId: string): bigint | undefined {
  const match = chainId.length <= 50 ? CHAIN_ID_FORM.exec(chainId) : null
  return match === null ? undefined : BigInt(match[1]!)
}

/**
 * Returns both chain IDs, from CHAIN_ID and EVM_CHAIN_ID or the defaults of NETWORK.
 * @throws ConfigError when CHAIN_ID has another form or the two disagree
 */
export function resolveChainIds(settings: Pick<Settings, 'network' | 'chainId' | 'evmChainId'>): ChainIds {
  const chainId = settings.chainId ?? NETWORK_CHAIN_IDS[settings.network]
  const evmChainId = evmChainIdOf(chainId)
  if (evmChainId === undefined) {
    throw new ConfigError(
      `CHAIN_ID is ${JSON.stringify(chainId)}: it must be <name>_<EVM chain ID>-<revision>, like coin_76287-1`,
    )
  }
  if (settings.evmChainId !== undefined && BigInt(settings.evmChainId) !== evmChainId) {
    const origin = settings.chainId === undefined ? ` (the default of NETWORK=${settings.network})` : ''
    throw new ConfigError(
      `EVM_CHAIN_ID is ${settings.evmChainId}: it must be ${evmChainId}, the number in CHAIN_ID ${chainId}${origin}`,
    )
  }
  return { chainId, evmChainId }
}
