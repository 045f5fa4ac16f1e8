import { readArguments } from './arguments.ts'
import { methodNotFound, type RpcLog, responseTooLarge, toRpcError } from './errorResponse.ts'
import type { MethodQueue, RpcContext } from './method.ts'
import type { MethodTable } from './methodTable.ts'
import { resultText } from './rawJson.ts'

/** The queues that view threads have. */
export type ViewQueue = Exclude<MethodQueue, 'socket' | 'quick'>

/** View threads, as a socket thread sees them. */
export interface ViewPool {
  /**
   * Runs a method in a view thread, on a head that is not behind the caller's. Gives the result's JSON text; rejects with
   * an error that has the name, code, message and data of an `RpcError`.
   */
  call(queue: ViewQueue, method: string, params: readonly unknown[]): Promise<string>
}

export interface ViewCall {
  readonly method: string
  readonly params: readonly unknown[]
}

/**
 * The view thread's side of {@link ViewPool}: reads the arguments, runs the method, writes the result.
 * @throws RpcError and nothing else
 */
export async function serveViewCall(
  methods: MethodTable,
  context: RpcContext,
  { method: name, params }: ViewCall,
  log: Pick<RpcLog, 'error'>,
): Promise<string> {
  try {
    const method = methods.get(name)
    if (method === undefined) throw methodNotFound(name)
    const text = resultText(await method.run(context, readArguments(method, params)))
    // A text that the client can not get need not travel to the other thread.
    if (text.length > context.limits.responseBytes) throw responseTooLarge()
    return text
  } catch (error) {
    throw toRpcError(error, log, { method: name })
  }
}
