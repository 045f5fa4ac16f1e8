import type { Hardfork } from '../chain/genesis/hardfork.ts'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'

/** The rules that hold for one block. */
export interface Rules {
  readonly fork: Hardfork
  readonly chainId: bigint
}

/** The block's values that code can read. */
export interface BlockContext {
  readonly number: number
  /** whole seconds */
  readonly timestamp: number
  /** consensus time for precompiles, milliseconds since the epoch; opcodes don't see it */
  readonly timeMs: number
  readonly gasLimit: bigint
  readonly coinbase: Address
  /** wei per gas; undefined before London */
  readonly baseFeePerGas: bigint | undefined
  /** PREVRANDAO; before Paris the block's difficulty is given in `difficulty` instead */
  readonly prevRandao: Hash
  readonly difficulty: bigint
  readonly blobBaseFee: bigint
  /** BLOCKHASH: hash of one of the 256 blocks before this one, undefined outside that window */
  readonly blockHash: (number: number) => Hash | undefined
}
