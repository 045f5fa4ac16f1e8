import { setMaxListeners } from 'node:events'
import type { CallRights } from '../../config/config.ts'
import { RPC_CODES, RpcError } from './errors.ts'

/** For whom a call is made and until when: it travels with the call to the thread that runs it. */
export interface CallScope extends CallRights {
  /** on the clock of {@link monotonicMs}: from then on nobody waits for the answer */
  readonly deadlineMs: number
  /** see `ClientAddresses`: whom the call counts for */
  readonly client: string
  /** aborted when the client is gone */
  readonly signal: AbortSignal
}

/** Who waits for answers at the other end of a connection. */
interface Caller {
  readonly signal: AbortSignal
  /** The client is gone: cancels all that runs or waits for it. */
  leave(): void
}

/** Milliseconds for one request, a whole batch included, from the moment when its last byte was read. */
export const REQUEST_TIMEOUT_MS = 30_000

/**
 * Milliseconds of a clock that nobody sets and that all threads of the process share. `performance.now` is no such clock: it counts from
 * the start of each thread.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}

export function createCaller(): Caller {
  const controller = new AbortController()
  // Each call that is under way listens: their number has a limit elsewhere.
  setMaxListeners(0, controller.signal)
  return { signal: controller.signal, leave: () => controller.abort(callCancelled()) }
}

/** The rights of ways in that have no settings for them. */
const USUAL_RIGHTS: CallRights = { jsTracers: false, traceDepth: Number.POSITIVE_INFINITY }

/** The scope of a request whose last byte was read at `arrivedMs`, by default now. */
export function scopeOf(client: string, signal: AbortSignal, arrivedMs = monotonicMs()): CallScope {
  return { ...USUAL_RIGHTS, deadlineMs: arrivedMs + REQUEST_TIMEOUT_MS, client, signal }
}

/** For what the node does for itself. */
export const OWN_SCOPE: CallScope = {
  ...USUAL_RIGHTS,
  deadlineMs: Number.POSITIVE_INFINITY,
  client: '',
  signal: createCaller().signal,
}

/** The answer to a client that is gone; one that only sends no more (a half-closed connection) may still read it. */
export function callCancelled(): RpcError {
  return new RpcError(RPC_CODES.timeout, 'request cancelled')
}
