import { createWalletClient, custom, http, publicActions } from 'viem'
import { createConfig, injected } from 'wagmi'
import {
  connect,
  disconnect,
  type GetConnectionReturnType,
  getConnection,
  getConnectorClient,
  reconnect,
  switchChain,
  watchConnection,
} from 'wagmi/actions'
import type { Cost, Wallet } from './action.ts'
import { ethereumChain, type WalletChain } from './chain.ts'
import { ethereumCall } from './ethereumCalls.ts'

/* Wallets that announce themselves by EIP-6963, and one that only is in `window.ethereum`. All requests go through the wallet. */

/** Gas that a transaction gets beyond its estimate, in percent: what is not used is given back. */
const SPARE_PERCENT = 25n
const TRANSFER_GAS = 21_000n

/** A wallet that is installed in this browser. */
export interface FoundWallet {
  readonly id: string
  readonly name: string
  /** a picture as a data: URL */
  readonly icon?: string
}

export interface EthereumWallets {
  /** Wallets that have announced themselves until now. */
  find(): readonly FoundWallet[]
  /** @param isQuiet without asking its owner: nothing happens where the wallet has not agreed before */
  connect(id: string, isQuiet: boolean): Promise<void>
  disconnect(): Promise<void>
  addChain(id: string): Promise<void>
}

/** @param onChange called with the wallet that is connected now, after each change of its account or chain */
export function ethereumWallets(own: WalletChain, onChange: (wallet: Wallet | undefined) => void): EthereumWallets {
  const chain = ethereumChain(own)
  const config = createConfig({
    chains: [chain],
    connectors: [injected()],
    // wagmi wants one; the clients below ask the wallet.
    transports: { [chain.id]: http(own.rpcUrl) },
  })
  watchConnection(config, { onChange: (connection) => onChange(walletOf(connection)) })

  const walletOf = (connection: GetConnectionReturnType): Wallet | undefined => {
    if (connection.status !== 'connected') return undefined
    const { address, connector, chainId } = connection
    const client = async () => (await getConnectorClient(config, { chainId: chain.id })).extend(publicActions)
    return {
      name: connector.name,
      address,
      isOnChain: chainId === chain.id,
      switchChain: async () => {
        await switchChain(config, { chainId: chain.id, connector })
      },
      estimate: async (action): Promise<Cost> => {
        const asked = await client()
        const [estimate, price] = await Promise.all([
          asked.estimateGas({ account: address, ...ethereumCall(action, address) }),
          asked.getGasPrice(),
        ])
        // What a plain transfer takes never changes.
        const gas = estimate === TRANSFER_GAS ? estimate : (estimate * (100n + SPARE_PERCENT)) / 100n
        return { gas, fee: estimate * price }
      },
      submit: async (action, { gas }) => {
        const asked = createWalletClient({ account: address, chain, transport: custom(await providerOf(connector.id)) })
        return asked.sendTransaction({ ...ethereumCall(action, address), gas })
      },
    }
  }

  const connectorOf = (id: string) => {
    const connector = config.connectors.find((each) => each.id === id)
    if (connector === undefined)
      throw new Error('this wallet is no longer available in this browser: connect another one')
    return connector
  }
  const providerOf = async (id: string) => (await connectorOf(id).getProvider()) as Parameters<typeof custom>[0]

  return {
    find: () => {
      const announced = config.connectors.filter(({ id }) => id !== 'injected')
      const found = announced.length === 0 && 'ethereum' in window ? config.connectors : announced
      return found.map(({ id, name, icon }) => ({
        id,
        name: id === 'injected' ? 'Browser wallet' : name,
        ...(icon !== undefined && { icon: icon.trim() }),
      }))
    },
    connect: async (id, isQuiet) => {
      const connector = connectorOf(id)
      const known = getConnection(config)
      // Wallets may connect by themselves, when their owner has told them so.
      if (known.status === 'connected' && known.connector.uid === connector.uid) onChange(walletOf(known))
      else if (isQuiet) await reconnect(config, { connectors: [connector] })
      else await connect(config, { connector })
    },
    disconnect: () => disconnect(config),
    addChain: async (id) => {
      await createWalletClient({ transport: custom(await providerOf(id)) }).addChain({ chain })
    },
  }
}
