import type { RpcMethod } from '../method.ts'
import { traceCall } from './traceCall.ts'
import { traceBlockByHash, traceBlockByNumber, traceTransaction } from './traceTransactions.ts'

/** The methods of the `debug` namespace that execute again what they are asked about. */
export const traceMethods: readonly RpcMethod[] = [traceBlockByHash, traceBlockByNumber, traceCall, traceTransaction]
