import { ExecutionTimeout } from '../evm/engine.ts'
import { Journal } from '../state/journal.ts'
import type { RpcContext } from './method.ts'

/**
 * A world for one request, which throws it away. Precompiles and native modules, which let no other request have a turn while they work,
 * stop at the request's deadline: whatever reads or writes native entries then throws `ExecutionTimeout`.
 */
export function openViewWorld(
  { scope, limits, monotonicMs }: Pick<RpcContext, 'scope' | 'limits' | 'monotonicMs'>,
  state: ConstructorParameters<typeof Journal>[0],
): Journal {
  const world = new Journal(state)
  const untilMs = Math.min(scope.deadlineMs, monotonicMs() + limits.callTimeoutMs)
  world.native.work.pollWith(() => {
    if (monotonicMs() >= untilMs) throw new ExecutionTimeout('execution timeout')
  })
  return world
}
