import type { Genesis } from '../chain/genesis/genesisSchema.ts'
import { BECH32_ACCOUNT, BECH32_CONSENSUS, BECH32_OPERATOR } from '../primitives/address.ts'

/** Formats in which {@link describeChain} writes: each is named after the program or registry that reads it. */
export const CHAIN_INFO_FORMATS = ['keplr', 'chain-registry', 'assetlist', 'eip155', 'metamask', 'viem'] as const

type ChainInfoFormat = (typeof CHAIN_INFO_FORMATS)[number]

/** Addresses and names that the genesis does not hold. Addresses have no slash at their end. */
export interface ChainPlaces {
  /** JSON-RPC over HTTP */
  readonly rpcUrl: string
  readonly webSocketUrl: string
  /** CometBFT's RPC */
  readonly cometUrl: string
  readonly restUrl: string
  /** host:port */
  readonly grpcAddress: string | undefined
  readonly explorerUrl: string | undefined
  readonly websiteUrl: string | undefined
  readonly faucetUrl: string | undefined
  /** picture of the coin */
  readonly iconUrl: string | undefined
  /** as wallets show it */
  readonly name: string
  /** lower-case letters and digits: the folder of the chain in the registry of Cosmos chains, and its short name in that of EVM chains */
  readonly slug: string
  readonly networkType: NetworkType
}

export const NETWORK_TYPES = ['mainnet', 'testnet', 'devnet'] as const
export type NetworkType = (typeof NETWORK_TYPES)[number]

/**
 * Returns the text that a wallet or registry takes, with a line feed at its end.
 * @param genesis supplies denomination, fees and unbonding time
 */
export function describeChain(format: ChainInfoFormat, genesis: Genesis, places: ChainPlaces): string {
  const facts = factsOf(genesis)
  if (format === 'viem') return viemModule(facts, places)
  return `${JSON.stringify(DESCRIPTIONS[format](facts, places), null, 2)}\n`
}

/** Facts of a chain that its genesis holds. */
interface ChainFacts {
  readonly chainId: string
  readonly evmChainId: number
  readonly symbol: string
  readonly coin: Genesis['app_state']['bank']['denom_metadata'][number]
  readonly decimals: number
  readonly bondDenom: string
  /** such as 1814400s */
  readonly unbondingTime: string
  /** acoin per gas: no base fee is lower */
  readonly minGasPrice: number
  readonly blockIntervalMs: number
  /** address of Multicall3, where the genesis has it */
  readonly multicall3: string | undefined
}

function factsOf({ chain_id, app_state }: Genesis): ChainFacts {
  const { bank, staking, evm, feemarket, timing } = app_state
  const coin = bank.denom_metadata.find(({ base }) => base === evm.params.evm_denom)
  if (coin === undefined) throw new Error(`the genesis has no metadata of ${evm.params.evm_denom}`)
  return {
    chainId: chain_id,
    evmChainId: Number(evm.params.chain_config.chain_id),
    symbol: coin.symbol,
    coin,
    decimals: coin.denom_units.find(({ denom }) => denom === coin.display)?.exponent ?? 0,
    bondDenom: staking.params.bond_denom,
    unbondingTime: staking.params.unbonding_time,
    minGasPrice: Number(feemarket.params.min_gas_price),
    blockIntervalMs: Number(timing.params.block_interval_ms),
    multicall3: evm.preinstalls.find(({ name }) => name === 'Multicall3')?.address,
  }
}

const DESCRIPTIONS: Readonly<
  Record<Exclude<ChainInfoFormat, 'viem'>, (facts: ChainFacts, places: ChainPlaces) => unknown>
> = {
  keplr: keplrChainInfo,
  'chain-registry': registryChain,
  assetlist: registryAssets,
  eip155: eip155Chain,
  metamask: addChainParameters,
}

/** Path of keys and coin type (SLIP-44) of Ethereum, for both kinds of wallets. */
const COIN_TYPE = 60
/** SLIP-44: the coins of all test networks. */
const TEST_COIN_TYPE = 1

/** Prices in multiples of the lowest base fee, as it rises by a full block's part of 240 at most. */
const PRICES = { low: 2, average: 3, high: 5 } as const

const BECH32_CONFIG = {
  bech32PrefixAccAddr: BECH32_ACCOUNT,
  bech32PrefixAccPub: `${BECH32_ACCOUNT}pub`,
  bech32PrefixValAddr: BECH32_OPERATOR,
  bech32PrefixValPub: `${BECH32_OPERATOR}pub`,
  bech32PrefixConsAddr: BECH32_CONSENSUS,
  bech32PrefixConsPub: `${BECH32_CONSENSUS}pub`,
}

/** Returns ChainInfo of Keplr, for experimentalSuggestChain and github.com/chainapsis/keplr-chain-registry. */
function keplrChainInfo(facts: ChainFacts, places: ChainPlaces): unknown {
  const { symbol, coin, decimals, minGasPrice } = facts
  const { iconUrl, explorerUrl } = places
  const currency = {
    coinDenom: symbol,
    coinMinimalDenom: coin.base,
    coinDecimals: decimals,
    ...(iconUrl === undefined ? {} : { coinImageUrl: iconUrl }),
  }
  return {
    chainId: facts.chainId,
    chainName: places.name,
    ...(iconUrl === undefined ? {} : { chainSymbolImageUrl: iconUrl }),
    rpc: places.cometUrl,
    rest: places.restUrl,
    ...(explorerUrl === undefined ? {} : { walletUrlForStaking: `${explorerUrl}/staking` }),
    evm: { chainId: facts.evmChainId, rpc: places.rpcUrl },
    bip44: { coinType: COIN_TYPE },
    bech32Config: BECH32_CONFIG,
    stakeCurrency: currency,
    currencies: [currency],
    feeCurrencies: [
      {
        ...currency,
        gasPriceStep: {
          low: PRICES.low * minGasPrice,
          average: PRICES.average * minGasPrice,
          high: PRICES.high * minGasPrice,
        },
      },
    ],
    features: [
      'eth-address-gen',
      'eth-key-sign',
      'eth-secp256k1-cosmos',
      'evm-feemarket',
      'force-enable-evm-ledger',
      'query:/cosmos/bank/v1beta1/spendable_balances',
    ],
  }
}

/** Returns where a file of the registry finds its schema: test networks are one folder deeper. */
function schemaPath(file: string, { networkType }: ChainPlaces): string {
  return networkType === 'mainnet' ? `../${file}` : `../../${file}`
}

/** Returns chain.json of github.com/cosmos/chain-registry. */
function registryChain(facts: ChainFacts, places: ChainPlaces): unknown {
  const { explorerUrl, websiteUrl, grpcAddress } = places
  const { minGasPrice } = facts
  const at = (address: string) => [{ address }]
  return {
    $schema: schemaPath('chain.schema.json', places),
    chain_name: places.slug,
    chain_type: 'cosmos',
    chain_id: facts.chainId,
    pretty_name: places.name,
    ...(websiteUrl === undefined ? {} : { website: websiteUrl }),
    status: 'live',
    network_type: places.networkType,
    bech32_prefix: BECH32_ACCOUNT,
    bech32_config: BECH32_CONFIG,
    daemon_name: 'coind',
    node_home: '$HOME/.coind',
    key_algos: ['ethsecp256k1'],
    extra_codecs: ['ethermint'],
    slip44: COIN_TYPE,
    fees: {
      fee_tokens: [
        {
          denom: facts.coin.base,
          fixed_min_gas_price: minGasPrice,
          low_gas_price: PRICES.low * minGasPrice,
          average_gas_price: PRICES.average * minGasPrice,
          high_gas_price: PRICES.high * minGasPrice,
        },
      ],
    },
    staking: { staking_tokens: [{ denom: facts.bondDenom }], lock_duration: { time: facts.unbondingTime } },
    apis: {
      rpc: at(places.cometUrl),
      rest: at(places.restUrl),
      ...(grpcAddress === undefined ? {} : { grpc: at(grpcAddress) }),
      'evm-http-jsonrpc': at(places.rpcUrl),
    },
    ...(explorerUrl === undefined
      ? {}
      : {
          explorers: [
            {
              kind: 'coind',
              url: explorerUrl,
              tx_page: `${explorerUrl}/tx/\${txHash}`,
              account_page: `${explorerUrl}/address/\${accountAddress}`,
              block_page: `${explorerUrl}/block/\${blockHeight}`,
              validator_page: `${explorerUrl}/validator/\${validatorAddress}`,
            },
          ],
        }),
  }
}

/** Returns assetlist.json of github.com/cosmos/chain-registry. */
function registryAssets({ coin }: ChainFacts, places: ChainPlaces): unknown {
  return {
    $schema: schemaPath('assetlist.schema.json', places),
    chain_name: places.slug,
    assets: [
      {
        description: coin.description,
        denom_units: coin.denom_units.map(({ denom, exponent }) => ({ denom, exponent })),
        type_asset: 'sdk.coin',
        base: coin.base,
        name: coin.name,
        display: coin.display,
        symbol: coin.symbol,
      },
    ],
  }
}

/** Returns eip155-N.json of github.com/ethereum-lists/chains. Its explorers have the pages of EIP-3091. */
function eip155Chain(facts: ChainFacts, places: ChainPlaces): unknown {
  const { name, rpcUrl, webSocketUrl, explorerUrl, websiteUrl, faucetUrl, networkType } = places
  return {
    name,
    chain: facts.symbol,
    rpc: [rpcUrl, webSocketUrl],
    faucets: faucetUrl === undefined ? [] : [faucetUrl],
    nativeCurrency: nativeCurrency(facts),
    infoURL: websiteUrl ?? explorerUrl ?? rpcUrl,
    shortName: places.slug,
    chainId: facts.evmChainId,
    networkId: facts.evmChainId,
    slip44: networkType === 'mainnet' ? COIN_TYPE : TEST_COIN_TYPE,
    ...(explorerUrl === undefined
      ? {}
      : { explorers: [{ name: `${name} explorer`, url: explorerUrl, standard: 'EIP3091' }] }),
  }
}

function nativeCurrency({ coin, symbol, decimals }: ChainFacts): {
  readonly name: string
  readonly symbol: string
  readonly decimals: number
} {
  return { name: coin.name, symbol, decimals }
}

/** Returns `params` of wallet_addEthereumChain (EIP-3085). */
function addChainParameters(facts: ChainFacts, places: ChainPlaces): unknown {
  const { name, rpcUrl, explorerUrl, iconUrl } = places
  return [
    {
      chainId: `0x${facts.evmChainId.toString(16)}`,
      chainName: name,
      nativeCurrency: nativeCurrency(facts),
      rpcUrls: [rpcUrl],
      // MetaMask refuses the whole chain for an explorer without TLS, unless it is on this machine.
      ...(explorerUrl !== undefined && isSecure(explorerUrl) ? { blockExplorerUrls: [explorerUrl] } : {}),
      ...(iconUrl === undefined ? {} : { iconUrls: [iconUrl] }),
    },
  ]
}

function isSecure(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || hostname === 'localhost' || hostname === '127.0.0.1'
}

/** Returns a TypeScript module whose export is the chain, for viem and libraries based on it. */
function viemModule(facts: ChainFacts, places: ChainPlaces): string {
  const { name, slug, rpcUrl, webSocketUrl, explorerUrl, networkType } = places
  const chain = {
    id: facts.evmChainId,
    name,
    nativeCurrency: nativeCurrency(facts),
    rpcUrls: { default: { http: [rpcUrl], webSocket: [webSocketUrl] } },
    ...(explorerUrl === undefined
      ? {}
      : { blockExplorers: { default: { name: `${name} explorer`, url: explorerUrl, apiUrl: `${explorerUrl}/api` } } }),
    ...(facts.multicall3 === undefined
      ? {}
      : { contracts: { multicall3: { address: facts.multicall3, blockCreated: 0 } } }),
    blockTime: facts.blockIntervalMs,
    testnet: networkType !== 'mainnet',
  }
  // Keys without quotes, as people write them.
  const literal = JSON.stringify(chain, null, 2).replace(/^( *)"(\w+)":/gm, '$1$2:')
  return `import { defineChain } from 'viem'\n\nexport const ${/^[0-9]/.test(slug) ? '_' : ''}${slug} = defineChain(${literal})\n`
}
