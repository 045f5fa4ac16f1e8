import { ExecutionTimeout } from '../../evm/engine.ts'
import { Journal } from '../../state/journal.ts'
import type { StateReader } from '../../state/reader.ts'
import type { RpcContext } from '../jsonrpc/method.ts'

type Limits = Pick<RpcContext, 'scope' | 'limits' | 'monotonicMs'>

/**
 * The deadline of a request for work that lets no other request have a turn: precompiles and native modules poll it while they work
 * (`WorkMeter.pollWith`). It throws `ExecutionTimeout`.
 */
export function pollDeadline({ scope, limits, monotonicMs }: Limits): () => void {
  const untilMs = Math.min(scope.deadlineMs, monotonicMs() + limits.callTimeoutMs)
  return () => {
    if (monotonicMs() >= untilMs) throw new ExecutionTimeout('execution timeout')
  }
}

/** A world for one request, which throws it away; work in it ends at {@link pollDeadline}. */
export function openViewWorld(context: Limits, state: StateReader): Journal {
  const world = new Journal(state)
  world.native.work.pollWith(pollDeadline(context))
  return world
}
