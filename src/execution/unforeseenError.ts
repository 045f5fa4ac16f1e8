import { entryHash } from '../chain/block/entries.ts'
import { isMachineFailure, ShadowMismatchError } from '../evm/engines/errorKinds.ts'
import { isVersionError } from '../modules/upgrade/beginUpgrade.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'

/**
 * An unforeseen error during the execution of a block (`src/evm/engines/errorKinds.ts` says which
 * errors those are). Its cost depends on where it occurred:
 *
 * - `build`, in a transaction: the transaction has no effect, the block continues without it, and
 *   the pool drops it. At the block's beginning or end: this node proposes no block in this round.
 * - `check`: this node does not vote for the block. If two thirds still decide it, it is executed
 *   again.
 * - `decided`: the node stops, see {@link DecidedBlockError}.
 *
 * So a transaction that hits a bug on every node never gets into a block, no matter which node
 * proposes, and the chain continues.
 */
export interface UnforeseenReport {
  readonly place: 'build' | 'check' | 'decided'
  readonly height: number
  /** undefined: it was not in a transaction, but at the block's beginning or end */
  readonly transaction: Hash | undefined
  readonly error: unknown
}

/** Whether an error stops the node wherever it occurs, since no current work can be saved. */
export function endsNode(error: unknown): boolean {
  return isMachineFailure(error) || error instanceof ShadowMismatchError || isVersionError(error)
}

/** An unforeseen error, with the transaction in which it came up. */
class TransactionDefect extends Error {
  override readonly name = 'TransactionDefect'
  readonly transaction: Hash

  constructor(transaction: Hash, cause: unknown) {
    super(`transaction ${bytesToHex(transaction)} cannot be executed`, { cause })
    this.transaction = transaction
  }
}

/**
 * Returns the error to throw for an error of this entry of data.txs: the error itself when it stops
 * the node.
 */
export function withTransaction(raw: Uint8Array, error: unknown): unknown {
  return endsNode(error) || error instanceof TransactionDefect ? error : new TransactionDefect(entryHash(raw), error)
}

/**
 * Returns the report of an error that does not end the node; a {@link TransactionDefect} in it is
 * taken apart.
 */
export function reportOf(report: UnforeseenReport): UnforeseenReport {
  const { error } = report
  if (!(error instanceof TransactionDefect)) return report
  return { ...report, transaction: error.transaction, error: error.cause }
}

/**
 * The validators have decided a block that this node cannot execute. It stores nothing of the block and stops. The message is the whole
 * report, with the stack, since only the message of an error reaches the thread that logs it.
 */
export class DecidedBlockError extends Error {
  override readonly name = 'DecidedBlockError'

  constructor({ height, transaction, error }: UnforeseenReport) {
    const where =
      transaction === undefined ? 'outside of its transactions' : `in transaction ${bytesToHex(transaction)}`
    const text = error instanceof Error ? (error.stack ?? String(error)) : String(error)
    super(
      [
        `block ${height} was decided, but this node cannot execute it: unexpected error ${where}`,
        text,
        'The cause is a defect of coind or of this machine. The block was not stored. Start the node again once. If it stops at this ' +
          'block again, keep the data directory, report this text, and wait for a version that fixes it.',
      ].join('\n'),
      { cause: error },
    )
  }
}
