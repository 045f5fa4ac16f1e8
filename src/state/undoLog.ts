/** Restores the previous value in `target`. */
type Undo<Target, Value> = (target: Target, previous: Value) => void

/**
 * Undo actions of a journal, in the order the changes were made, with nested checkpoints. Nothing is recorded while no
 * checkpoint is open, since nothing could be reverted.
 */
export class UndoLog {
  /** three items for each change: undo function, target, previous value */
  readonly #actions: unknown[] = []
  readonly #marks: number[] = []
  /** number of checkpoints that `commit` and `revert` cannot close, see {@link enclose} */
  #enclosed = 0

  /** Returns the number of open checkpoints. */
  get depth(): number {
    return this.#marks.length
  }

  /** @param undo one shared function for each kind of change, so that recording a change allocates no closure */
  record<Target, Value>(undo: Undo<Target, Value>, target: Target, previous: Value): void {
    if (this.#marks.length > 0) this.#actions.push(undo, target, previous)
  }

  checkpoint(): void {
    this.#marks.push(this.#actions.length)
  }

  /**
   * Keeps the changes since the last checkpoint.
   * @throws Error (a bug) when none is open
   */
  commit(): void {
    this.#pop()
    if (this.#marks.length === 0) this.#actions.length = 0
  }

  /**
   * Undoes the changes since the last checkpoint, newest first.
   * @throws Error (a bug) when none is open
   */
  revert(): void {
    const mark = this.#pop()
    const actions = this.#actions
    while (actions.length > mark) {
      const previous = actions.pop()
      const target = actions.pop()
      const undo = actions.pop() as Undo<unknown, unknown>
      undo(target, previous)
    }
  }

  /**
   * Opens a checkpoint that only {@link keep} and {@link abandon} close.
   * @returns the argument for these two
   */
  enclose(): number {
    const outer = this.#enclosed
    this.checkpoint()
    this.#enclosed = this.#marks.length
    return outer
  }

  /**
   * Keeps the changes since {@link enclose}.
   * @throws Error (a bug) when a checkpoint in it is still open
   */
  keep(outer: number): void {
    if (this.#marks.length > this.#enclosed) throw new Error('a checkpoint is still open')
    this.#enclosed = outer
    this.commit()
  }

  /** Undoes the changes since {@link enclose}, whatever checkpoints are open in it. */
  abandon(outer: number): void {
    while (this.#marks.length > this.#enclosed) this.revert()
    this.#enclosed = outer
    this.revert()
  }

  #pop(): number {
    if (this.#marks.length <= this.#enclosed) throw new Error('no checkpoint is open')
    return this.#marks.pop()!
  }
}
