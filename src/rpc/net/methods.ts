import { toQuantity } from '../format/json.ts'
import { defineMethod, type RpcMethod } from '../method.ts'

/** The EVM chain ID in decimal: the network's ID is the same. */
export const version = defineMethod({
  name: 'net_version',
  queue: 'socket',
  run: ({ chain }) => chain.evmChainId.toString(),
})

export const listening = defineMethod({
  name: 'net_listening',
  queue: 'socket',
  run: () => true,
})

export const peerCount = defineMethod({
  name: 'net_peerCount',
  queue: 'socket',
  run: (context) => toQuantity(context.peerCount()),
})

/** The `net` namespace. */
export const netMethods: readonly RpcMethod[] = [version, listening, peerCount]
