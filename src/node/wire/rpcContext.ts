import type { MessagePort } from 'node:worker_threads'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import type { LogConfig, RpcLimits } from '../../config/config.ts'
import type { MempoolPort, TxPort } from '../../mempool/types.ts'
import type { TransactionDecoder } from '../../modules/tx/transactionDecoder.ts'
import type { NodeDescription } from '../../rpc/cosmos/queryPort.ts'
import type { LogCache } from '../../rpc/eth/logCache.ts'
import { type CallScope, monotonicMs, OWN_SCOPE } from '../../rpc/jsonrpc/callScope.ts'
import type { ExecutionHost, Retention, RpcContext } from '../../rpc/jsonrpc/method.ts'
import type { ContextLease } from '../../rpc/jsonrpc/runMethod.ts'
import type { SubmitPort } from '../../rpc/submit/submitPort.ts'
import { epochMs, type Tracer, type TracingChannel } from '../../telemetry/spans.ts'
import { readCopies } from '../roles/pool/poolCopies.ts'
import type { PoolClientService } from '../roles/pool/poolThread.ts'
import { connectAdmissions, createRecoveryBudget, type RecoverAuthorities } from './admissions.ts'
import { connect, notify } from './port.ts'
import { type Gate, getPeerCount, getSyncStatus, type NodeState, type PublishedHeight } from './sharedMemory.ts'
import type { ViewFeed, ViewLease } from './viewFeed.ts'

/** A thread's ends of its channels to the pool thread. */
interface PoolPorts {
  readonly calls: MessagePort
  readonly admissions: MessagePort
}

/** The start data common to view and socket threads. */
export interface RpcThreadData {
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
  readonly chain: ChainConfig
  readonly limits: RpcLimits
  readonly clientVersion: string
  readonly node: NodeDescription
  readonly retention: Retention
  readonly log: LogConfig
  /** to the pool thread */
  readonly pool: PoolPorts
  readonly publishedHeight: PublishedHeight
  readonly nodeState: NodeState
  readonly tracing: TracingChannel | undefined
}

interface ContextSourceOptions {
  readonly data: Pick<RpcThreadData, 'chain' | 'limits' | 'clientVersion' | 'retention' | 'nodeState'>
  readonly feed: ViewFeed
  readonly pool: TxPort
  /** the thread's */
  readonly decoder: TransactionDecoder
  readonly submissions: SubmitPort
  /** only in view threads */
  readonly execution?: (scope: CallScope) => ExecutionHost
  readonly logCache?: LogCache
}

interface ContextSource {
  /** @param scope by default the node's own */
  lease(scope?: CallScope): ContextLease
}

/**
 * Makes the context of each request, on this thread's newest head: what it reads stays open until the lease is released.
 */
export function createContextSource({
  data,
  feed,
  pool,
  decoder,
  submissions,
  execution,
  logCache,
}: ContextSourceOptions): ContextSource {
  const contextOf = (first: ViewLease, scope: CallScope): ContextLease => {
    let newest = first
    const context: RpcContext = {
      view: first.view,
      scope,
      txs: pool,
      decoder,
      submissions,
      chain: data.chain,
      limits: data.limits,
      clientVersion: data.clientVersion,
      retention: data.retention,
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
      monotonicMs,
      ...(execution === undefined ? {} : { execution: execution(scope) }),
      ...(logCache === undefined ? {} : { logCache }),
    }
    return {
      context,
      release: () => {
        newest.release()
        first.release()
      },
    }
  }
  return { lease: (scope = OWN_SCOPE) => contextOf(feed.lease(), scope) }
}

/** Connects a thread with the pool thread, for what that offers to clients. */
export function connectPool(
  { calls, admissions }: PoolPorts,
  tracer: Tracer | undefined,
  recoverAuthorities: RecoverAuthorities,
): TxPort & MempoolPort {
  const { get, pendingNonce, status, takeCopy, check, unconfirmed } = connect<PoolClientService>(calls)
  const add = connectAdmissions(admissions, recoverAuthorities, createRecoveryBudget())
  return {
    add: tracer === undefined ? add : traceAdmissions(add, tracer),
    get,
    pendingNonce,
    status,
    content: readCopies(takeCopy, (id) => notify<PoolClientService, 'releaseCopy'>(calls, 'releaseCopy', id)),
    check,
    unconfirmed,
  }
}

/** Records what a client waits for: the way to the pool, its check there, and the answer. */
function traceAdmissions(add: TxPort['add'], tracer: Tracer): TxPort['add'] {
  return async (transaction, client) => {
    const startMs = epochMs()
    const admission = await add(transaction, client)
    const { hash } = transaction
    if (tracer.follows(hash)) {
      tracer.transaction(hash, 'rpc.submit', { startMs, attributes: { 'coind.accepted': admission.accepted } })
    }
    return admission
  }
}

export function closePool({ calls, admissions }: PoolPorts): void {
  calls.close()
  admissions.close()
}
