import type { Chain } from 'viem'
import type { Status } from '../api.ts'

/* How the chain is described to wallets: by what the operator has set, and by the address of these pages. */

/** Base unit of the coin in native messages. */
export const DENOM = 'acoin'
const DECIMALS = 18
/** Path of keys, of both kinds of wallets: Ethereum's. */
const COIN_TYPE = 60
const PREFIX = 'coin'

/** Settings that wallets need. */
export interface WalletChain {
  /** of the native layer, such as `coin_76287-1` */
  readonly id: string
  readonly evmId: number
  readonly name: string
  readonly symbol: string
  /** public RPC address, without a slash at its end */
  readonly rpcUrl: string
  /** address of these pages, without a slash at its end */
  readonly explorerUrl: string
}

/**
 * The chain as the explorer tells it; undefined while it does not know which chain it is, or has no RPC address for wallets.
 * @param origin of these pages
 */
export function walletChain(status: Status, origin: string): WalletChain | undefined {
  const { chainId, evmChainId, publicRpcUrl, chainName, coinSymbol } = status
  if (chainId === null || evmChainId === null || publicRpcUrl === null) return undefined
  return {
    id: chainId,
    evmId: evmChainId,
    name: chainName,
    symbol: coinSymbol,
    rpcUrl: publicRpcUrl.replace(/\/+$/, ''),
    explorerUrl: origin,
  }
}

/** For Ethereum wallets: `wallet_addEthereumChain` (EIP-3085) is built from it. */
export function ethereumChain({ evmId, name, symbol, rpcUrl, explorerUrl }: WalletChain): Chain {
  return {
    id: evmId,
    name,
    nativeCurrency: { name: symbol, symbol, decimals: DECIMALS },
    rpcUrls: { default: { http: [rpcUrl] } },
    // MetaMask refuses the whole chain for an explorer without TLS, except one on this machine.
    ...(isSecure(explorerUrl) && { blockExplorers: { default: { name: `${name} explorer`, url: explorerUrl } } }),
  }
}

function isSecure(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || hostname === 'localhost' || hostname === '127.0.0.1'
}

/** Parameters of Keplr's `experimentalSuggestChain`. docs/wallets.md says what the features are for. */
export interface KeplrChainInfo {
  readonly chainId: string
  readonly chainName: string
  readonly rpc: string
  readonly rest: string
  /** where Keplr sends people for what it does not do itself */
  readonly walletUrlForStaking: string
  readonly evm: { readonly chainId: number; readonly rpc: string }
  readonly bip44: { readonly coinType: number }
  readonly bech32Config: Readonly<Record<string, string>>
  readonly stakeCurrency: KeplrCurrency
  readonly currencies: readonly KeplrCurrency[]
  readonly feeCurrencies: readonly (KeplrCurrency & { readonly gasPriceStep: Readonly<Record<string, number>> })[]
  readonly features: readonly string[]
}

interface KeplrCurrency {
  readonly coinDenom: string
  readonly coinMinimalDenom: string
  readonly coinDecimals: number
}

/** acoin per gas, when Keplr cannot ask for the base fee: 1 gwei is that of a quiet chain. */
const GAS_PRICES = { low: 2_000_000_000, average: 3_000_000_000, high: 5_000_000_000 } as const

export function keplrChainInfo({ id, evmId, name, symbol, rpcUrl, explorerUrl }: WalletChain): KeplrChainInfo {
  const currency = { coinDenom: symbol, coinMinimalDenom: DENOM, coinDecimals: DECIMALS }
  return {
    chainId: id,
    chainName: name,
    rpc: cometUrl(rpcUrl),
    rest: rpcUrl,
    walletUrlForStaking: `${explorerUrl}/staking`,
    evm: { chainId: evmId, rpc: rpcUrl },
    bip44: { coinType: COIN_TYPE },
    bech32Config: {
      bech32PrefixAccAddr: PREFIX,
      bech32PrefixAccPub: `${PREFIX}pub`,
      bech32PrefixValAddr: `${PREFIX}valoper`,
      bech32PrefixValPub: `${PREFIX}valoperpub`,
      bech32PrefixConsAddr: `${PREFIX}valcons`,
      bech32PrefixConsPub: `${PREFIX}valconspub`,
    },
    stakeCurrency: currency,
    currencies: [currency],
    feeCurrencies: [{ ...currency, gasPriceStep: GAS_PRICES }],
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

/** Where CometBFT's RPC is. */
export function cometUrl(rpcUrl: string): string {
  return `${rpcUrl}/rpc`
}
