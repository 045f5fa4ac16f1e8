import { ExecutionTimeout } from '../../evm/engine.ts'
import { Journal } from '../../state/journal.ts'
import type { StateReader } from '../../state/reader.ts'
import type { RpcContext } from '../jsonrpc/method.ts'

type Limits = Pick<RpcContext, 'scope' | 'limits' | 'monotonicMs'>

/**
 * Returns a check of the request's deadline. Precompiles and native modules call it while they work
 * (`WorkMeter.pollWith`), since they give no other request a turn. It throws `ExecutionTimeout`.
 */
export function pollDeadline({ scope, limits, monotonicMs }: Limits): () => void {
  const untilMs = Math.min(scope.deadlineMs, monotonicMs() + limits.callTimeoutMs)
  return () => {
    if (monotonicMs() >= untilMs) throw new ExecutionTimeout('execution timeout')
  }
}

/**
 * Opens the world of one request, which discards it at the end; its work ends at {@link
 * pollDeadline}.
 */
export function openViewWorld(context: Limits, state: StateReader): Journal {
  const world = new Journal(state)
  world.native.work.pollWith(pollDeadline(context))
  return world
}
