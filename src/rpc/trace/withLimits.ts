import { runTrace } from '../debug/traces.ts'
import type { RpcContext } from '../jsonrpc/method.ts'
import type { TraceLimits } from './replayTraces.ts'

/** Runs within the limits of time and size that all traces have. @throws RpcError beyond them */
export function withLimits<T>(context: RpcContext, run: (limits: TraceLimits) => Promise<T>): Promise<T> {
  return runTrace(context, {}, run)
}
