/**
 * Prices of reads and writes of native entries, in gas. They do not depend on the contents of
 * memory or disk, or on transactions that a proposer left out of the block: every node counts the
 * same. At some 15 ns per gas they cover a read from LevelDB, the trie and directory updates of a
 * write, and a decoded directory page for each range.
 */
export const WORK_GAS = {
  read: 600,
  /** per byte of a value that is read */
  readByte: 1,
  write: 2_000,
  /** per byte of key and value that is written */
  writeByte: 4,
  /** to find the first key of a range */
  range: 4_000,
  /** per key that a range passes, also one that was deleted in this block */
  step: 100,
} as const

/**
 * Ends work half done: at a limit of gas ({@link WorkMeter.limited}), or at a deadline (the error
 * of {@link WorkMeter.pollWith}).
 */
export class WorkStopped extends Error {
  override readonly name: string = 'WorkStopped'
}

/** A limited run needed more work than its limit; only {@link WorkMeter.limited} throws and catches it. */
class MeterLimitReached extends WorkStopped {
  override readonly name = 'MeterLimitReached'
}

/** The result of a run with a limit; `exceeded`: it stopped half done, and the caller reverts what it did. */
export type LimitedRun<T> =
  | { readonly kind: 'done'; readonly value: T; readonly gas: bigint }
  | { readonly kind: 'exceeded' }

/** Gas of work between two polls of a deadline: about a quarter of a millisecond. */
const POLL_GAS = 20_000

/**
 * Counts the work of native modules in gas. A revert does not reduce it: work that is undone stays paid.
 *
 * - A message or a method of a precompile runs with a limit, the gas that it has left, and pays the larger of its fixed price and the
 *   counted work. Work is counted before it is done.
 * - Begin and end of a block compare {@link done} with a budget between and inside their items.
 * - A view, a proposer and a validator stop work that takes too long by {@link pollWith}.
 */
export class WorkMeter {
  #done = 0
  #limit = Number.POSITIVE_INFINITY
  #nextPoll = Number.POSITIVE_INFINITY
  #poll: (() => void) | undefined

  /** Gas of work so far; only differences have a meaning. */
  get done(): number {
    return this.#done
  }

  /** Gas of work left before the limit of the innermost run. */
  get left(): number {
    return this.#limit - this.#done
  }

  /**
   * Counts work that is about to be done, at most the limit of the run.
   * @throws an error that {@link limited} catches, at the limit; a {@link WorkStopped} at a deadline
   */
  add(gas: number): void {
    this.#done += gas
    if (this.#done > this.#limit) throw new MeterLimitReached('out of gas')
    if (this.#done > this.#nextPoll) {
      this.#nextPoll = this.#done + POLL_GAS
      this.#poll?.()
    }
  }

  /** Runs work with a limit in gas; limits of outer runs hold, too. */
  limited<T>(limit: bigint, run: () => T): LimitedRun<T> {
    const before = this.#done
    const outer = this.#limit
    const own = before + Number(limit)
    this.#limit = Math.min(outer, own)
    try {
      return { kind: 'done', value: run(), gas: BigInt(this.#done - before) }
    } catch (error) {
      // Beyond the limit of an outer run, that one stops too.
      if (!(error instanceof MeterLimitReached) || own > outer) throw error
      return { kind: 'exceeded' }
    } finally {
      this.#limit = outer
    }
  }

  /**
   * Has `poll` called from time to time while work is counted, until the next call of this; undefined: no more. It throws a
   * {@link WorkStopped} to end the work, at a point that differs between nodes: the caller drops the world or undoes the whole transaction.
   */
  pollWith(poll: (() => void) | undefined): void {
    this.#poll = poll
    this.#nextPoll = poll === undefined ? Number.POSITIVE_INFINITY : this.#done
  }
}
