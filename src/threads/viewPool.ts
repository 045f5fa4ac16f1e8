import type { ViewPool } from '../rpc/viewCall.ts'
import type { Remote } from './port.ts'
import type { ViewService } from './view.ts'

/**
 * The view threads as one pool. With more than one, the first takes the cheap lane alone, so that no heavy call delays the
 * admission of a transaction; a heavy call goes to the thread with the fewest under way.
 */
export function createViewPool(views: readonly Remote<ViewService>[]): ViewPool {
  const [first, ...others] = views
  if (first === undefined) throw new Error('there is no view thread')
  const heavy = (others.length > 0 ? others : [first]).map((remote) => ({ remote, running: 0 }))
  return {
    call: async (lane, method, params) => {
      if (lane === 'cheap') return first.call(lane, method, params)
      const chosen = heavy.reduce((best, candidate) => (candidate.running < best.running ? candidate : best))
      chosen.running++
      try {
        return await chosen.remote.call(lane, method, params)
      } finally {
        chosen.running--
      }
    },
  }
}
