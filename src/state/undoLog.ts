/**
 * Undo actions of a journal, in the order the changes were made, with nested checkpoints. Nothing is recorded while no
 * checkpoint is open, since nothing could be reverted.
 */
export class UndoLog {
  readonly #actions: (() => void)[] = []
  readonly #marks: number[] = []

  /** Number of open checkpoints. */
  get depth(): number {
    return this.#marks.length
  }

  record(undo: () => void): void {
    if (this.#marks.length > 0) this.#actions.push(undo)
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
    while (this.#actions.length > mark) this.#actions.pop()!()
  }

  #pop(): number {
    const mark = this.#marks.pop()
    if (mark === undefined) throw new Error('no checkpoint is open')
    return mark
  }
}
