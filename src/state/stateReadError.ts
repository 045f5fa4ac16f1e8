/**
 * The stored state could not be read: a failing disk, a damaged database, or a reader used after its time. No code that runs
 * can cause it, so it must never become the outcome of a transaction.
 */
export class StateReadError extends Error {
  override readonly name = 'StateReadError'

  constructor(cause: unknown) {
    super(`the state cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
