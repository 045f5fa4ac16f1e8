import type { NativePort } from '../rpc/native/query.ts'
import type { ViewPool, ViewQueue } from '../rpc/viewCall.ts'
import type { Remote } from './port.ts'
import type { ViewService } from './view.ts'

/**
 * The view threads as one pool. With more than one, the first takes the cheap queue alone, so that no heavy call delays the
 * admission of a transaction; a heavy call goes to the thread with the fewest under way.
 */
export function createViewPool(views: readonly Remote<ViewService>[]): ViewPool & NativePort {
  const [first, ...others] = views
  if (first === undefined) throw new Error('there is no view thread')
  const heavy = (others.length > 0 ? others : [first]).map((remote) => ({ remote, running: 0 }))
  const inQueue = async <T>(queue: ViewQueue, task: (view: Remote<ViewService>) => Promise<T>): Promise<T> => {
    if (queue === 'cheap') return task(first)
    const chosen = heavy.reduce((best, candidate) => (candidate.running < best.running ? candidate : best))
    chosen.running++
    try {
      return await task(chosen.remote)
    } finally {
      chosen.running--
    }
  }
  return {
    call: (queue, method, params) => inQueue(queue, (view) => view.call(queue, method, params)),
    query: (queue, call) => inQueue(queue, (view) => view.query(queue, call)),
  }
}
