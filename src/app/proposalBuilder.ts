import { encodedTxSize } from '../chain/consensus/consensusParams.ts'
import { decodeTransaction } from '../chain/transactionCodec.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { BlockExecution } from './blockExecution.ts'
import type { CandidateSource } from './candidateSource.ts'

/** Gas below which no transaction can start. */
const MINIMUM_GAS = 21_000n

export interface BuildLimits {
  /** bytes that data.txs may hold, see `encodedTxSize` */
  readonly maxTxBytes: number
  /** milliseconds that building may take before the block is closed with what it has */
  readonly budgetMs: number
  /** milliseconds, monotonic */
  readonly now: () => number
}

/**
 * Fills a block from the mempool, executing as it chooses, until gas, bytes, time or candidates run out. A sender's
 * transaction that cannot start ends that sender's turn in this block. The time budget is the proposer's own choice: what
 * the block holds, not how long it took, decides the result.
 * @returns the block's data.txs
 */
export async function fillBlock(
  execution: BlockExecution,
  source: CandidateSource,
  limits: BuildLimits,
): Promise<Uint8Array[]> {
  const deadline = limits.now() + limits.budgetMs
  const stoppedSenders = new Set<string>()
  const txs: Uint8Array[] = []
  let bytesLeft = limits.maxTxBytes
  let isFirst = true
  while (execution.gasLeft() >= MINIMUM_GAS && limits.now() < deadline) {
    const candidates = await source.candidates({
      baseFeePerGas: execution.seed.baseFeePerGas ?? 0n,
      height: execution.seed.number,
      isFirst,
      gasLimit: execution.gasLeft(),
      maxBytes: bytesLeft,
    })
    if (candidates.length === 0) break
    isFirst = false
    for (const { raw, hash, sender } of candidates) {
      if (execution.gasLeft() < MINIMUM_GAS || limits.now() >= deadline) break
      const key = bytesKey(sender)
      const size = encodedTxSize(raw.length)
      if (stoppedSenders.has(key) || size > bytesLeft) {
        stoppedSenders.add(key)
        continue
      }
      const result = await execution.tryApply({ transaction: decodeTransaction(raw, hash), sender })
      if (result.kind === 'skipped') {
        stoppedSenders.add(key)
        continue
      }
      bytesLeft -= size
      txs.push(raw)
    }
  }
  return txs
}
