import type { AppliedTransaction, CallMessage } from '../../evm/transition.ts'

/** The outcome of a message: it ran, or it could not start (with geth's reason). */
export type CallOutcome =
  | ({ readonly kind: 'applied' } & AppliedTransaction)
  | { readonly kind: 'skipped'; readonly reason: string }

/** The newest block, for a call that is tried in a socket thread. */
interface ShortHead {
  readonly height: number
  /**
   * Runs a message on the state after the block and discards its changes. Ends the attempt when it
   * reaches a limit.
   */
  run(message: CallMessage): CallOutcome
}

/** How a method that runs as `short` is tried, see `createShortCalls`. */
export interface ShortForm<Context, Args extends readonly unknown[]> {
  /**
   * Names the function that the call runs, to remember functions that take long; undefined: the
   * call is not tried.
   * @param params as the client sent them
   */
  target(params: readonly unknown[]): string | undefined
  /**
   * Returns the result's JSON text; undefined: the call needs more than the head.
   * @throws RpcError, which is the call's answer
   */
  attempt(head: ShortHead, context: Context, ...args: Args): string | undefined
}
