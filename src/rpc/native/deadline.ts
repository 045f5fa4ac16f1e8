import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RpcContext } from '../method.ts'
import { GRPC_CODES, QueryError } from './queryError.ts'

/**
 * Lets the thread's other calls have a turn; for queries whose work depends on how much there is.
 * @throws QueryError (rejects) when the query's time is over
 */
export function pauseUntilDeadline({ now, limits }: Pick<RpcContext, 'now' | 'limits'>): () => Promise<void> {
  const deadlineMs = now() + limits.callTimeoutMs
  return async () => {
    await nextTurn()
    if (now() > deadlineMs) {
      throw new QueryError(GRPC_CODES.deadlineExceeded, 'the query takes too long; ask for less, without a total')
    }
  }
}
