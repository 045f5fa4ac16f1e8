import { bytesToHex } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { defineMethod, type RpcMethod } from '../method.ts'
import { readData } from '../params/values.ts'

export const clientVersion = defineMethod({
  name: 'web3_clientVersion',
  queue: 'socket',
  run: (context) => context.clientVersion,
})

/** keccak-256, not the SHA-3 that was standardized. */
export const sha3 = defineMethod({
  name: 'web3_sha3',
  queue: 'socket',
  params: [readData],
  run: (_, data) => bytesToHex(keccak256(data)),
})

/** The `web3` namespace. */
export const web3Methods: readonly RpcMethod[] = [clientVersion, sha3]
