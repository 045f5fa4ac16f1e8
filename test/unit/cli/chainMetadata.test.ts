import { createWalletClient, custom, defineChain } from 'viem'
import { describe, expect, it } from 'vitest'
import { keplrChainInfo } from '../../../explorer/web/src/wallet/chain.ts'
import { exampleGenesis } from '../../../scripts/exampleGenesis.ts'
import { parseGenesis } from '../../../src/chain/genesis/genesis.ts'
import { type ChainPlaces, describeChain } from '../../../src/cli/chainMetadata.ts'

const GENESIS = parseGenesis(exampleGenesis())
const PLACES: ChainPlaces = {
  rpcUrl: 'https://rpc.example.org',
  webSocketUrl: 'wss://rpc.example.org',
  cometUrl: 'https://rpc.example.org/rpc',
  restUrl: 'https://rpc.example.org',
  grpcAddress: 'grpc.example.org:443',
  explorerUrl: 'https://scan.example.org',
  websiteUrl: 'https://example.org',
  faucetUrl: undefined,
  iconUrl: undefined,
  name: 'COIN testnet',
  slug: 'cointestnet',
  networkType: 'testnet',
}

const json = (format: Exclude<Parameters<typeof describeChain>[0], 'viem'>, places = PLACES): unknown =>
  JSON.parse(describeChain(format, GENESIS, places))

/** The chain that the module for viem defines. */
function viemChain(text: string): ReturnType<typeof defineChain> {
  const body = /^import \{ defineChain \} from 'viem'\n\nexport const cointestnet = (.*)\n$/s.exec(text)?.[1]
  return new Function('defineChain', `return ${body}`)(defineChain) as ReturnType<typeof defineChain>
}

describe('describeChain', () => {
  it('keplr: as the pages of the explorer suggest the chain', () => {
    const suggested = keplrChainInfo({
      id: 'coin_76287-1',
      evmId: 76287,
      name: 'COIN testnet',
      symbol: 'COIN',
      rpcUrl: 'https://rpc.example.org',
      explorerUrl: 'https://scan.example.org',
    })
    expect(json('keplr')).toEqual(suggested)
    expect(suggested).toMatchObject({
      walletUrlForStaking: 'https://scan.example.org/staking',
      features: expect.arrayContaining(['force-enable-evm-ledger', 'query:/cosmos/bank/v1beta1/spendable_balances']),
    })
    expect(json('keplr', { ...PLACES, explorerUrl: undefined })).not.toHaveProperty('walletUrlForStaking')
  })

  it('viem: a module whose chain viem gives to a wallet as the parameters for MetaMask are', async () => {
    const chain = viemChain(describeChain('viem', GENESIS, PLACES))
    expect(chain).toMatchObject({
      id: 76287,
      blockTime: 400,
      testnet: true,
      contracts: { multicall3: { address: '0xcA11bde05977b3631167028862bE2a173976CA11', blockCreated: 0 } },
      rpcUrls: { default: { http: ['https://rpc.example.org'], webSocket: ['wss://rpc.example.org'] } },
    })
    const requests: unknown[] = []
    const wallet = createWalletClient({
      transport: custom({
        request: async (request: unknown) => {
          requests.push(request)
          return null
        },
      }),
    })
    await wallet.addChain({ chain })
    expect(requests).toEqual([{ method: 'wallet_addEthereumChain', params: json('metamask') }])
  })

  it('metamask: no explorer without TLS, but on this machine', () => {
    const explorers = ['http://scan.example.org', 'http://localhost:8090', undefined].map((explorerUrl) => {
      const [parameters] = json('metamask', { ...PLACES, explorerUrl }) as [{ blockExplorerUrls?: string[] }]
      return parameters.blockExplorerUrls
    })
    expect(explorers).toEqual([undefined, ['http://localhost:8090'], undefined])
  })

  it('chain-registry and assetlist', () => {
    expect(json('chain-registry')).toMatchObject({
      $schema: '../../chain.schema.json',
      chain_name: 'cointestnet',
      chain_id: 'coin_76287-1',
      network_type: 'testnet',
      bech32_prefix: 'coin',
      slip44: 60,
      fees: { fee_tokens: [{ denom: 'acoin', fixed_min_gas_price: 1e9, average_gas_price: 3e9 }] },
      staking: { staking_tokens: [{ denom: 'acoin' }], lock_duration: { time: '1814400s' } },
      apis: { grpc: [{ address: 'grpc.example.org:443' }], rpc: [{ address: 'https://rpc.example.org/rpc' }] },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the registry's own placeholder
      explorers: [{ tx_page: 'https://scan.example.org/tx/${txHash}' }],
    })
    expect(json('chain-registry', { ...PLACES, networkType: 'mainnet' })).toMatchObject({
      $schema: '../chain.schema.json',
    })
    expect(json('assetlist')).toEqual({
      $schema: '../../assetlist.schema.json',
      chain_name: 'cointestnet',
      assets: [
        {
          description: 'The native token of the chain',
          denom_units: [
            { denom: 'acoin', exponent: 0 },
            { denom: 'COIN', exponent: 18 },
          ],
          type_asset: 'sdk.coin',
          base: 'acoin',
          name: 'COIN',
          display: 'COIN',
          symbol: 'COIN',
        },
      ],
    })
  })

  it('eip155', () => {
    expect(json('eip155')).toEqual({
      name: 'COIN testnet',
      chain: 'COIN',
      rpc: ['https://rpc.example.org', 'wss://rpc.example.org'],
      faucets: [],
      nativeCurrency: { name: 'COIN', symbol: 'COIN', decimals: 18 },
      infoURL: 'https://example.org',
      shortName: 'cointestnet',
      chainId: 76287,
      networkId: 76287,
      slip44: 1,
      explorers: [{ name: 'COIN testnet explorer', url: 'https://scan.example.org', standard: 'EIP3091' }],
    })
    expect(
      json('eip155', { ...PLACES, networkType: 'mainnet', websiteUrl: undefined, explorerUrl: undefined }),
    ).toMatchObject({
      infoURL: 'https://rpc.example.org',
      slip44: 60,
    })
  })
})
