import type { AppliedTransaction, CallMessage } from '../../evm/transition.ts'

/** The outcome of a message: it ran, or it could not start, with geth's reason. */
export type CallOutcome =
  | ({ readonly kind: 'applied' } & AppliedTransaction)
  | { readonly kind: 'skipped'; readonly reason: string }

/** The newest block, as a call sees it that is tried in a socket thread. */
interface ShortHead {
  readonly height: number
  /** Runs a message on the state after the block and discards what it changed. Ends the attempt where it reaches a limit. */
  run(message: CallMessage): CallOutcome
}

/** How a method that runs `short` is tried, see `createShortCalls`. */
export interface ShortForm<Context, Args extends readonly unknown[]> {
  /** What the call works on, which tells calls that take long from others; undefined: it is not tried. @param params as they came */
  target(params: readonly unknown[]): string | undefined
  /** The result's JSON text; undefined: the call needs more than the head. @throws RpcError, which is the call's answer */
  attempt(head: ShortHead, context: Context, ...args: Args): string | undefined
}
