import type { Address } from '../primitives/address.ts'
import type { Log } from './log.ts'

export interface Receipt {
  readonly type: 0 | 1 | 2 | 3 | 4
  /** 1 success, 0 failure; a 32-byte state root before Byzantium */
  readonly status: 0 | 1 | Uint8Array
  readonly gasUsed: bigint
  readonly cumulativeGasUsed: bigint
  readonly effectiveGasPrice: bigint
  readonly logs: readonly Log[]
  /** 256 bytes */
  readonly logsBloom: Uint8Array
  /** address of the created contract (set for a failed creation too, as geth does) */
  readonly contractAddress: Address | undefined
  readonly blobGasUsed: bigint | undefined
  readonly blobGasPrice: bigint | undefined
}
