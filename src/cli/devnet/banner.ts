import { ACOIN_PER_COIN, INITIAL_SUPPLY_ACOIN } from '../../chain/genesisConstants.ts'
import type { Config } from '../../config/config.ts'
import { toBech32, toChecksumAddress } from '../../primitives/address.ts'
import type { RunningNode } from '../ports.ts'
import { DEVNET_ACCOUNTS, DEVNET_BALANCE_ACOIN, DEVNET_MNEMONIC } from './accounts.ts'

/** What `coind devnet` prints when the node is up: addresses to connect to, accounts, and the settings for MetaMask. */
export function devnetBanner(
  config: Pick<Config, 'chainId' | 'evmChainId' | 'homedir'>,
  node: Pick<RunningNode, 'rpcUrl' | 'wsUrl' | 'metricsUrl' | 'height'>,
): string {
  const chain = node.height === 0 ? 'a new chain' : `kept, at block ${node.height}`
  const accounts = DEVNET_ACCOUNTS.map(({ address, privateKey }, index) => {
    const balance = index === 0 ? INITIAL_SUPPLY_ACOIN : DEVNET_BALANCE_ACOIN
    return `  (${index}) ${toChecksumAddress(address)}  ${toBech32(address)}  ${(balance / ACOIN_PER_COIN).toLocaleString('en')} COIN
      private key ${privateKey}`
  })
  return `
coind devnet

  JSON-RPC      ${node.rpcUrl}
  WebSocket     ${node.wsUrl}
  Node status   ${new URL('/rpc/status', node.rpcUrl).href}
  Metrics       ${node.metricsUrl ?? 'off'}
  Chain ID      ${config.evmChainId} (0x${config.evmChainId.toString(16)}), native ${config.chainId}
  Data          ${config.homedir} (${chain}; --reset begins a new one)

Accounts and what the genesis gave them. FOR DEVELOPMENT ONLY: these private keys are public, everybody can
take what is sent to them on any network.

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
