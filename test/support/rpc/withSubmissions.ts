import { createTransactionDecoder } from '../../../src/modules/tx/transactionDecoder.ts'
import type { RpcContext } from '../../../src/rpc/jsonrpc/method.ts'
import { createSubmitPort } from '../../../src/rpc/submit/submitPort.ts'

type Submissions = Pick<RpcContext, 'decoder' | 'submissions'>

/** The decoder of a chain, and the port for submissions to a pool. */
export function submissionsOf({ chain, limits, txs: pool }: Pick<RpcContext, 'chain' | 'limits' | 'txs'>): Submissions {
  const decoder = createTransactionDecoder(chain)
  return { decoder, submissions: createSubmitPort({ decoder, limits, pool }) }
}

/** Adds {@link submissionsOf} the context itself. */
export function withSubmissions(context: Omit<RpcContext, keyof Submissions>): RpcContext {
  return { ...context, ...submissionsOf(context) }
}
