import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'

/** An Ethereum block header of any fork; fields of later forks are undefined before theirs. */
export interface EthereumHeader {
  readonly parentHash: Hash
  readonly sha3Uncles: Hash
  readonly miner: Address
  readonly stateRoot: Hash
  readonly transactionsRoot: Hash
  readonly receiptsRoot: Hash
  /** 256 bytes */
  readonly logsBloom: Uint8Array
  readonly difficulty: bigint
  readonly number: number
  readonly gasLimit: bigint
  readonly gasUsed: bigint
  /** whole seconds */
  readonly timestamp: number
  readonly extraData: Uint8Array
  readonly mixHash: Hash
  /** 8 bytes */
  readonly nonce: Uint8Array
  /** since London */
  readonly baseFeePerGas: bigint | undefined
  /** since Shanghai */
  readonly withdrawalsRoot: Hash | undefined
  /** since Cancun */
  readonly blobGasUsed: bigint | undefined
  readonly excessBlobGas: bigint | undefined
  readonly parentBeaconBlockRoot: Hash | undefined
  /** since Prague */
  readonly requestsHash: Hash | undefined
}
