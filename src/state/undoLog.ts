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

  /** Number of open checkpoints. */
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

  #pop(): number {
    const mark = this.#marks.pop()
    if (mark === undefined) throw new Error('no checkpoint is open')
    return mark
  }
}
