import type { MempoolPort, TxPort } from '../mempool/types.ts'
import type { ExecutionHost, RpcContext } from '../rpc/method.ts'
import type { ContextLease } from '../rpc/runMethod.ts'
import { connectAdmissions } from './admissions.ts'
import { getPeerCount, getSyncStatus } from './nodeState.ts'
import type { PoolService } from './pool.ts'
import { connect } from './port.ts'
import type { PoolPorts, RpcThreadData } from './rpcData.ts'
import type { ViewFeed, ViewLease } from './viewFeed.ts'

export interface ContextSourceOptions {
  readonly data: Pick<RpcThreadData, 'chain' | 'limits' | 'clientVersion' | 'nodeState'>
  readonly feed: ViewFeed
  readonly pool: TxPort
  /** only in view threads */
  readonly execution?: ExecutionHost
}

export interface ContextSource {
  /** a context on this thread's newest head */
  lease(): ContextLease
}

/** What the pool thread offers to clients. */
export function connectPool({ calls, admissions }: PoolPorts): TxPort & MempoolPort {
  const { get, pendingNonce, status, content, contentFrom, check, unconfirmed } = connect<PoolService>(calls)
  return { add: connectAdmissions(admissions), get, pendingNonce, status, content, contentFrom, check, unconfirmed }
}

export function closePool({ calls, admissions }: PoolPorts): void {
  calls.close()
  admissions.close()
}

/** Makes the context of each request: what it reads stays open until the lease is released. */
export function createContextSource({ data, feed, pool, execution }: ContextSourceOptions): ContextSource {
  const contextOf = (first: ViewLease): ContextLease => {
    let newest = first
    const context: RpcContext = {
      view: first.view,
      txs: pool,
      chain: data.chain,
      limits: data.limits,
      clientVersion: data.clientVersion,
      peerCount: () => getPeerCount(data.nodeState),
      syncing: () => getSyncStatus(data.nodeState, newest.view.chain.headHeight),
      nextView: async (timeoutMs) => {
        const lease = await feed.next(newest.view.chain.headHeight, timeoutMs)
        if (lease === undefined) return undefined
        if (newest !== first) newest.release()
        newest = lease
        return lease.view
      },
      now: () => Date.now(),
      ...(execution === undefined ? {} : { execution }),
    }
    return {
      context,
      release: () => {
        newest.release()
        first.release()
      },
    }
  }
  return { lease: () => contextOf(feed.lease()) }
}
