import type { ChainConfig } from '../chain/chainConfig.ts'
import { encodedTxSize } from '../chain/consensus/wire.ts'
import { SDK_ERRORS } from '../modules/sdkError.ts'
import { LANE_FULL } from '../modules/tx/applyNativeTransaction.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { type BlockExecution, POSTPONED } from './blockExecution.ts'
import type { CandidateSource } from './candidateSource.ts'
import { type Entry, readEntry } from './entry.ts'
import type { EntryResult } from './executionResults.ts'
import type { PostponedTransactions } from './postponedTransactions.ts'

/** Gas below which no transaction can start: of Ethereum's, and of native ones (a signature and a short message). */
const MINIMUM_GAS = 21_000n
const MINIMUM_NATIVE_GAS = 5_000n

export interface BuildLimits {
  /** bytes that data.txs may hold, see `encodedTxSize` */
  readonly maxTxBytes: number
  /** milliseconds that building may take before the block is closed with what it has */
  readonly budgetMs: number
  /** of the blocks before and this one */
  readonly postponed: PostponedTransactions
  /** milliseconds, monotonic */
  readonly now: () => number
}

/** Why a native transaction may start in the next block all the same: the pool learns of nonces, balances and the base fee. */
const PASSING_CODES: ReadonlySet<number> = new Set(
  [SDK_ERRORS.wrongSequence, SDK_ERRORS.insufficientFunds, SDK_ERRORS.insufficientFee].map(([code]) => code),
)

/**
 * Fills a block from the mempool with transactions of both kinds in its order, executing as it chooses, until gas, bytes,
 * time or candidates run out. A sender's transaction that cannot start, or that the gas left of its kind or for precompiles
 * does not suffice for, ends that sender's turn in this block. The time budget is the proposer's own choice: what the block holds, not how long it took, decides the result.
 * @returns the block's data.txs
 */
export async function fillBlock(
  execution: BlockExecution,
  source: CandidateSource,
  limits: BuildLimits,
  chain: Pick<ChainConfig, 'chainId' | 'evmChainId'>,
): Promise<Uint8Array[]> {
  const deadline = limits.now() + limits.budgetMs
  const stoppedSenders = new Set<string>()
  const txs: Uint8Array[] = []
  const unexecutable: Hash[] = []
  const fullLane = execution.nativeGasLeft()
  let bytesLeft = limits.maxTxBytes
  let isFirst = true
  const isFull = (): boolean => execution.gasLeft() < MINIMUM_GAS && execution.nativeGasLeft() < MINIMUM_NATIVE_GAS
  while (!isFull() && limits.now() < deadline) {
    const candidates = await source.candidates({
      baseFeePerGas: execution.seed.baseFeePerGas ?? 0n,
      height: execution.seed.number,
      isFirst,
      gasLimit: execution.gasLeft(),
      nativeGasLimit: execution.nativeGasLeft(),
      maxBytes: bytesLeft,
    })
    if (candidates.length === 0) break
    isFirst = false
    for (const { raw, hash, sender } of candidates) {
      if (isFull() || limits.now() >= deadline) break
      const key = bytesKey(sender)
      const size = encodedTxSize(raw.length)
      const precompileGas = execution.precompileGas()
      const isFutile = !precompileGas.isFresh && !limits.postponed.shouldRetry(hash, precompileGas.left)
      if (isFutile || stoppedSenders.has(key) || size > bytesLeft) {
        stoppedSenders.add(key)
        continue
      }
      const entry = readEntry(raw, chain, { hash, sender })
      if (!hasRoom(entry, execution)) {
        stoppedSenders.add(key)
        continue
      }
      const result = await execution.tryApply(entry)
      if (result.kind === 'skipped') {
        if (result.reason === POSTPONED) limits.postponed.add(hash, precompileGas.left)
        if ('native' in entry && !mayStartLater(result, execution.nativeGasLeft() < fullLane)) unexecutable.push(hash)
        stoppedSenders.add(key)
        continue
      }
      limits.postponed.delete(hash)
      bytesLeft -= size
      txs.push(raw)
    }
  }
  // Else each of them would take its time again in every block, and cost its sender nothing.
  if (unexecutable.length > 0) source.unexecutable?.(unexecutable)
  return txs
}

/** @param isLaneUsed whether transactions before it have used gas of its kind */
function mayStartLater(
  { reason, codespace, code }: Extract<EntryResult, { readonly kind: 'skipped' }>,
  isLaneUsed: boolean,
) {
  return reason === LANE_FULL.message ? isLaneUsed : codespace === 'sdk' && PASSING_CODES.has(code)
}

/** Whether what is left of the gas for EVM transactions may suffice. A native one is asked as it is tried, before anything else. */
function hasRoom(entry: Entry, execution: BlockExecution): boolean {
  return 'native' in entry || execution.gasLeft() >= MINIMUM_GAS
}
