import { isNativeEntry } from '../chain/block/entries.ts'
import { MAX_BLOCK_TRANSACTIONS } from '../chain/comet/block.ts'
import { encodedTxSize } from '../chain/comet/wire.ts'
import { type ChainConfig, forkAt, nativeGasLimit } from '../chain/genesis/chainConfig.ts'
import { ExecutionTimeout } from '../evm/engine.ts'
import { floorDataGas, intrinsicGas } from '../evm/intrinsicGas.ts'
import type { PooledTransaction } from '../mempool/types.ts'
import { DEFAULT_AUTH_PARAMS } from '../modules/auth/params.ts'
import { SDK_ERRORS } from '../modules/sdkError.ts'
import { LANE_FULL } from '../modules/tx/applyNativeTransaction.ts'
import { type GasParams, laneGas } from '../modules/tx/nativeTransaction.ts'
import { bytesKey } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { type BlockExecution, POSTPONED } from './blockExecution.ts'
import { BuildTime } from './buildTime.ts'
import { type Entry, readEntry, type SenderLookup } from './entry.ts'
import type { EntryResult } from './executedBlock.ts'
import type { ExecutionDeadline } from './executionDeadline.ts'
import { endsNode } from './unforeseenError.ts'

/** Access to the mempool, which lives in another thread. */
export interface CandidateSource {
  /**
   * Returns the next best executable transactions for the block at this height: by effective tip,
   * nonces of one sender in order. An empty answer means that there are no more.
   */
  candidates(request: CandidateRequest): Promise<readonly PooledTransaction[]>
  /** Senders of transactions in the mempool: a block of another proposer holds mostly those. */
  readonly senders?: SenderLookup
  /**
   * Called with native transactions that cannot start on this state, and with transactions of
   * either kind that hit an unforeseen error. Only their execution shows this, so the mempool drops
   * them on this call.
   */
  readonly unexecutable?: (hashes: readonly Hash[]) => void
  /**
   * Called with transactions that were tried and had to be left out, because time or precompile gas did not suffice: the mempool offers each again after
   * some blocks, and when it is full, drops them first.
   */
  readonly postpone?: (hashes: readonly Hash[]) => void
}

export interface CandidateRequest {
  /** of the block that is built */
  readonly height: number
  /** whether to start over with the best transactions; otherwise those after the last answer */
  readonly isFirst: boolean
  /** wei per gas */
  readonly baseFeePerGas: bigint
  /** left in the block for EVM transactions */
  readonly gasLimit: bigint
  /** left in the block for native transactions */
  readonly nativeGasLimit: bigint
  readonly maxBytes: number
}

/** The least gas with which a transaction can start: an EVM transaction, and a native one (a signature and a short message). */
const MINIMUM_GAS = 21_000n
const MINIMUM_NATIVE_GAS = 5_000n

interface BuildLimits {
  /** bytes that data.txs may hold, see `encodedTxSize` */
  readonly maxTxBytes: number
  /** milliseconds after which no further transaction is begun, and the block is closed with those that it has */
  readonly budgetMs: number
  /** transactions that were postponed in this block and earlier ones */
  readonly postponed: PostponedTransactions
  /** transactions that hit unforeseen errors in this block and earlier ones */
  readonly defective: DefectiveTransactions
  /** transactions that took too long in this block and earlier ones */
  readonly slow: SlowTransactions
  /** takes a transaction that was stopped */
  readonly onStopped: (hash: Hash) => void
  /** stops the execution that it is set for */
  readonly executionDeadline: Pick<ExecutionDeadline, 'setIn'>
  /** takes an error in a transaction; it throws one that ends the node */
  readonly onError: (hash: Hash, error: unknown) => void
  /** milliseconds, monotonic */
  readonly now: () => number
}

/**
 * Error codes of temporary failures: the pool follows nonces, balances and the base fee, and offers
 * the transaction again.
 */
const PASSING_CODES: ReadonlySet<number> = new Set(
  [SDK_ERRORS.wrongSequence, SDK_ERRORS.insufficientFunds, SDK_ERRORS.insufficientFee].map(([code]) => code),
)

/**
 * Fills a block with the mempool's candidates of both kinds, in their order, and executes each as it is chosen, until gas, bytes, time
 * or candidates run out. When a transaction cannot start, too little gas of its kind or for precompiles is left, it may take far longer
 * than there is time ({@link BuildTime}), it is stopped because it does, or it hits an unforeseen error, its sender's later ones are left
 * out of this block too. One that was stopped waits some blocks ({@link SlowTransactions}), and the block gets time for others; after an
 * unforeseen error it is never tried again. The time budget only limits what the proposer puts into the block; every node computes the
 * result from the block alone.
 * @returns the block's data.txs
 */
export async function fillBlock(
  execution: BlockExecution,
  source: CandidateSource,
  limits: BuildLimits,
  chain: Pick<ChainConfig, 'chainId' | 'evmChainId' | 'allowsUnprotected'>,
): Promise<Uint8Array[]> {
  const time = new BuildTime(limits.budgetMs, limits.now)
  const height = execution.seed.number
  const stoppedSenders = new Set<string>()
  const txs: Uint8Array[] = []
  const unexecutable: Hash[] = []
  const postponed: Hash[] = []
  const fullLane = execution.nativeGasLeft()
  const fullGas = execution.gasLeft()
  let bytesLeft = limits.maxTxBytes
  let isFirst = true
  const isFull = (): boolean =>
    txs.length >= MAX_BLOCK_TRANSACTIONS ||
    (execution.gasLeft() < MINIMUM_GAS && execution.nativeGasLeft() < MINIMUM_NATIVE_GAS)
  while (!isFull() && !time.isOver()) {
    const candidates = await source.candidates({
      baseFeePerGas: execution.seed.baseFeePerGas ?? 0n,
      height,
      isFirst,
      gasLimit: execution.gasLeft(),
      nativeGasLimit: execution.nativeGasLeft(),
      maxBytes: bytesLeft,
    })
    if (candidates.length === 0) break
    isFirst = false
    const known = execution.isParallel ? readCandidates(candidates, chain) : undefined
    if (known !== undefined) execution.announce([...known.values()])
    for (const { raw, hash, sender } of candidates) {
      if (isFull() || time.isOver()) break
      time.start()
      const isStopped = stoppedSenders.size > 0 && stoppedSenders.has(bytesKey(sender))
      const stopSender = () => stoppedSenders.add(bytesKey(sender))
      const size = encodedTxSize(raw.length)
      if (limits.defective.has(hash)) {
        unexecutable.push(hash)
        stopSender()
        continue
      }
      const precompileGas = execution.precompileGas()
      const isFutile = !precompileGas.isFresh && !limits.postponed.shouldRetry(hash, precompileGas.left)
      const isLarge = raw.length > LARGE_BYTES
      const isWaiting = limits.slow.isWaiting(hash, height) || (isLarge && !time.mayTryLarge())
      if (isFutile || isStopped || isWaiting || size > bytesLeft) {
        stopSender()
        continue
      }
      let result: EntryResult | undefined
      let gasLimit: bigint | undefined
      try {
        const entry = known?.get(raw) ?? readEntry(raw, chain, { hash, sender })
        if ('transaction' in entry) gasLimit = entry.transaction.gasLimit
        if (hasRoom(entry, execution) && time.suffices(gasLimit, fullGas - execution.gasLeft())) {
          limits.executionDeadline.setIn(time.execute())
          result = await execution.tryApply(entry, time.mayUndo(gasLimit))
          if (result.kind === 'evm') time.included()
        }
      } catch (error) {
        if (error instanceof ExecutionTimeout) {
          limits.onStopped(hash)
          const isHopeless = limits.slow.add(hash, height, time.stopped(gasLimit)) === 'hopeless'
          const left = isHopeless ? unexecutable : postponed
          left.push(hash)
        } else {
          limits.onError(hash, error)
          limits.defective.add(hash)
          unexecutable.push(hash)
        }
      } finally {
        limits.executionDeadline.setIn(Number.POSITIVE_INFINITY)
      }
      if (result === undefined || result.kind === 'skipped') {
        if (result?.reason === POSTPONED) {
          limits.postponed.add(hash, precompileGas.left)
          postponed.push(hash)
          time.undone()
        } else if (isLarge) time.failed()
        if (
          result !== undefined &&
          isNativeEntry(raw) &&
          !mayStartLater(result, execution.nativeGasLeft() < fullLane)
        ) {
          unexecutable.push(hash)
        }
        stopSender()
        continue
      }
      limits.postponed.delete(hash)
      limits.slow.delete(hash)
      bytesLeft -= size
      txs.push(raw)
    }
  }
  // They pay nothing: if they stayed in the mempool, each would take time again in every block.
  if (unexecutable.length > 0) source.unexecutable?.(unexecutable)
  if (postponed.length > 0) source.postpone?.(postponed)
  return txs
}

/**
 * Returns the EVM transactions by their bytes. One that hits an unforeseen error is not among them,
 * and hits it again in its turn. Native ones are read in their turn: reading a large one takes up
 * to 10 ms, and it pays only if the block includes it.
 */
function readCandidates(
  candidates: readonly PooledTransaction[],
  chain: Parameters<typeof readEntry>[1],
): ReadonlyMap<Uint8Array, Entry> {
  const entries = new Map<Uint8Array, Entry>()
  for (const { raw, hash, sender } of candidates) {
    if (isNativeEntry(raw)) continue
    try {
      entries.set(raw, readEntry(raw, chain, { hash, sender }))
    } catch (error) {
      if (endsNode(error)) throw error
    }
  }
  return entries
}

/** @param isLaneUsed whether transactions before it have used gas of its kind */
function mayStartLater(
  { reason, codespace, code }: Extract<EntryResult, { readonly kind: 'skipped' }>,
  isLaneUsed: boolean,
) {
  return reason === LANE_FULL.message ? isLaneUsed : codespace === 'sdk' && PASSING_CODES.has(code)
}

/** Whether the block may have enough gas left for an EVM transaction. For a native one its execution checks that first. */
function hasRoom(entry: Entry, execution: BlockExecution): boolean {
  return 'native' in entry || execution.gasLeft() >= MINIMUM_GAS
}

/** Transactions of more bytes are large: to read one takes up to 10 ms. */
const LARGE_BYTES = 4_096

/**
 * A postponed transaction is tried again when at least a sixteenth of the precompile gas limit more is left: this bounds the number of
 * tries.
 */
const STEPS = 16n
const MOST_TRANSACTIONS = 10_000

/**
 * Transactions that failed while a block was built because too little precompile gas was left, with
 * the gas that was left. A failed try takes time that no fee pays for, so each is tried again only
 * when clearly more is left. The list lasts as long as the process.
 */
export class PostponedTransactions {
  readonly #step: bigint
  readonly #leftWhenTried = new Map<string, bigint>()

  /** @param limit a block's precompile gas limit */
  constructor(limit: bigint) {
    this.#step = limit / STEPS
  }

  /** @param left precompile gas of a block where others have used some */
  shouldRetry(hash: Hash, left: bigint): boolean {
    const before = this.#leftWhenTried.get(bytesKey(hash))
    return before === undefined || left >= before + this.#step
  }

  /** @param left precompile gas of the block when the transaction began */
  add(hash: Hash, left: bigint): void {
    const { size } = this.#leftWhenTried
    if (size >= MOST_TRANSACTIONS) this.#leftWhenTried.delete(this.#leftWhenTried.keys().next().value!)
    this.#leftWhenTried.set(bytesKey(hash), left)
  }

  delete(hash: Hash): void {
    if (this.#leftWhenTried.size > 0) this.#leftWhenTried.delete(bytesKey(hash))
  }
}

/** After so many stops a transaction is hopeless. */
const MOST_STOPS = 4
/**
 * Milliseconds that a transaction must have had for its stop to count. A proposer whose blocks
 * other validators do not accept, or that reaches the transaction late in a block, has less time,
 * and an ordinary transaction may need more.
 */
const FAIR_MS = 50
/** Blocks for which a transaction waits after its first stop; twice as many after each further one. */
const FIRST_WAIT = 4
const MOST_SLOW = 10_000

/**
 * Transactions that were stopped because they took longer than there was time. A stop costs the proposer time that no fee pays for, so each
 * waits longer after each stop, and finally the pool drops it; sent again, it waits on. A busy machine may stop an ordinary transaction,
 * which is why one stop is not enough, and why one does not count that came after less than {@link FAIR_MS}. Lives as long as the process;
 * the oldest are forgotten.
 */
export class SlowTransactions {
  readonly #stops = new Map<string, { readonly count: number; readonly retryHeight: number }>()

  isWaiting(hash: Hash, height: number): boolean {
    const stops = this.#stops.size === 0 ? undefined : this.#stops.get(bytesKey(hash))
    return stops !== undefined && height < stops.retryHeight
  }

  /** Takes a transaction that was stopped in the block at `height`, after so many milliseconds. */
  add(hash: Hash, height: number, afterMs: number): 'waits' | 'hopeless' {
    const key = bytesKey(hash)
    const count = (this.#stops.get(key)?.count ?? 0) + (afterMs < FAIR_MS ? 0 : 1)
    this.#stops.delete(key)
    if (this.#stops.size >= MOST_SLOW) this.#stops.delete(this.#stops.keys().next().value!)
    this.#stops.set(key, { count, retryHeight: height + FIRST_WAIT * 2 ** Math.max(0, count - 1) })
    return count < MOST_STOPS ? 'waits' : 'hopeless'
  }

  /** Takes a transaction that is in a block. */
  delete(hash: Hash): void {
    if (this.#stops.size > 0) this.#stops.delete(bytesKey(hash))
  }
}

/** Maximum number of transactions that are remembered because they hit an unforeseen error. */
const MOST_DEFECTIVE = 10_000

/**
 * Transactions that hit an unforeseen error while a block was built. They pay nothing, so they are
 * not tried again, although clients and peers may resend them. The list lasts as long as the
 * process; the oldest entries are dropped.
 */
export class DefectiveTransactions {
  readonly #hashes = new Set<string>()

  has(hash: Hash): boolean {
    return this.#hashes.size > 0 && this.#hashes.has(bytesKey(hash))
  }

  add(hash: Hash): void {
    if (this.#hashes.size >= MOST_DEFECTIVE) this.#hashes.delete(this.#hashes.values().next().value!)
    this.#hashes.add(bytesKey(hash))
  }
}

/**
 * Returns why a proposed block's entries are invalid, without executing it: an entry that cannot
 * start on any state (bytes, signature, chain ID, intrinsic gas), or entries that together use more
 * than the block's gas even at their minimum. An entry that could start on some state may fail when
 * it is executed.
 * @param nativeCosts from the state before the block
 */
export function checkEntries(
  entries: readonly Entry[],
  height: number,
  chain: Pick<ChainConfig, 'forks' | 'blockGasLimit' | 'maxBlockBytes'>,
  nativeCosts: GasParams = DEFAULT_AUTH_PARAMS,
): string | undefined {
  const fork = forkAt(chain, height)
  let bytes = 0
  let gas = 0n
  let nativeGas = 0n
  for (const [position, entry] of entries.entries()) {
    if ('reason' in entry) return `transaction ${position}: ${entry.reason}`
    if ('native' in entry) {
      bytes += entry.native.raw.length
      nativeGas += laneGas(entry.native, nativeCosts)
      continue
    }
    const { transaction } = entry
    const intrinsic = intrinsicGas(transaction, fork)
    const floor = floorDataGas(transaction.data, fork)
    const minimum = intrinsic > floor ? intrinsic : floor
    if (transaction.gasLimit < minimum) {
      return `transaction ${position}: intrinsic gas too low: gas ${transaction.gasLimit}, minimum needed ${minimum}`
    }
    bytes += transaction.raw.length
    gas += leastGasUsed(intrinsic, floor)
  }
  if (bytes > chain.maxBlockBytes) return `the transactions take ${bytes} bytes, at most ${chain.maxBlockBytes} fit`
  if (gas > chain.blockGasLimit) return `the transactions need ${gas} gas, the block has ${chain.blockGasLimit}`
  const lane = nativeGasLimit(chain.blockGasLimit)
  if (nativeGas > lane) return `the native transactions need ${nativeGas} gas, the block has ${lane} for them`
  return undefined
}

/** EIP-3529: at most a fifth of the gas is refunded; EIP-7623: the price of the data is a minimum. */
function leastGasUsed(intrinsic: bigint, floor: bigint): bigint {
  const charged = intrinsic - intrinsic / 5n
  return charged > floor ? charged : floor
}
