import { setMaxListeners } from 'node:events'
import type { CallRights } from '../../config/config.ts'
import { RPC_CODES, RpcError } from './errors.ts'

/** The client and the deadline of a call, which travel with it to the thread that runs it. */
export interface CallScope extends CallRights {
  /** on the clock of {@link monotonicMs}: from then on the answer is not needed */
  readonly deadlineMs: number
  /** the client that the call counts for, see `ClientAddresses` */
  readonly client: string
  /** aborted when the client has left */
  readonly signal: AbortSignal
}

/** The client at the other end of a connection. */
interface Caller {
  readonly signal: AbortSignal
  /** Reports that the client has left: cancels everything that runs or waits for it. */
  leave(): void
}

/**
 * Milliseconds for one request, including a whole batch, from the moment when its last byte was
 * read.
 */
export const REQUEST_TIMEOUT_MS = 30_000

/**
 * Returns milliseconds of a monotonic clock that all threads of the process share.
 * `performance.now` does not work: it counts from the start of each thread.
 */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}

export function createCaller(): Caller {
  const controller = new AbortController()
  // Each running call listens; their number is limited elsewhere.
  setMaxListeners(0, controller.signal)
  return { signal: controller.signal, leave: () => controller.abort(callCancelled()) }
}

/** The rights of callers on interfaces that have no settings for them. */
const USUAL_RIGHTS: CallRights = { jsTracers: false, traceDepth: Number.POSITIVE_INFINITY }

/** Returns the scope of a request whose last byte was read at `arrivedMs`, by default now. */
export function scopeOf(client: string, signal: AbortSignal, arrivedMs = monotonicMs()): CallScope {
  return { ...USUAL_RIGHTS, deadlineMs: arrivedMs + REQUEST_TIMEOUT_MS, client, signal }
}

/** Scope of the node's own work. */
export const OWN_SCOPE: CallScope = {
  ...USUAL_RIGHTS,
  deadlineMs: Number.POSITIVE_INFINITY,
  client: '',
  signal: createCaller().signal,
}

/**
 * Returns the answer to a client that has left; one that only stopped sending (a half-closed
 * connection) may still read it.
 */
export function callCancelled(): RpcError {
  return new RpcError(RPC_CODES.timeout, 'request cancelled')
}
