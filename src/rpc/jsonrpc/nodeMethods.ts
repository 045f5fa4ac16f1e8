import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { readData } from '../params/values.ts'
import { defineMethod, type RpcMethod } from './method.ts'

/** The EVM chain ID in decimal, which is also the network's ID. */
export const version = defineMethod({
  name: 'net_version',
  runs: 'socket',
  run: ({ chain }) => chain.evmChainId.toString(),
})

export const listening = defineMethod({
  name: 'net_listening',
  runs: 'socket',
  run: () => true,
})

export const peerCount = defineMethod({
  name: 'net_peerCount',
  runs: 'socket',
  run: (context) => toQuantity(context.peerCount()),
})

/** The `net` namespace. */
export const netMethods: readonly RpcMethod[] = [version, listening, peerCount]

export const clientVersion = defineMethod({
  name: 'web3_clientVersion',
  runs: 'socket',
  run: (context) => context.clientVersion,
})

/** keccak-256, not the SHA-3 that was standardized. */
export const sha3 = defineMethod({
  name: 'web3_sha3',
  runs: 'socket',
  params: [readData],
  run: (_, data) => bytesToHex(keccak256(data)),
})

/** The `web3` namespace. */
export const web3Methods: readonly RpcMethod[] = [clientVersion, sha3]
