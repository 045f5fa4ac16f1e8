import type { PooledTransaction } from '../mempool/types.ts'
import type { Hash } from '../primitives/hash.ts'
import type { SenderLookup } from './entry.ts'

/** What the application needs of the mempool, which lives in another thread. */
export interface CandidateSource {
  /**
   * The next best executable transactions for the block at this height: by effective tip, nonces of one sender in order. An
   * empty answer means that there are no more.
   */
  candidates(request: CandidateRequest): Promise<readonly PooledTransaction[]>
  /** Whose signatures the mempool knows: a block that others propose holds mostly those. */
  readonly senders?: SenderLookup
  /** Native transactions that no block can start as the chain stands: only running them shows it. They need not come again. */
  readonly unexecutable?: (hashes: readonly Hash[]) => void
}

export interface CandidateRequest {
  /** of the block that is built */
  readonly height: number
  /** starts over with the best ones; else what follows the last answer */
  readonly isFirst: boolean
  /** wei per gas */
  readonly baseFeePerGas: bigint
  /** left in the block for EVM transactions */
  readonly gasLimit: bigint
  /** left in the block for native transactions */
  readonly nativeGasLimit: bigint
  readonly maxBytes: number
}
