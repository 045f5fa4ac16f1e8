import { EventQueryError } from '../events/eventQuery.ts'
import { SearchError } from '../events/search.ts'
import type { JsonObject } from '../format/json.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { RpcError } from '../jsonrpc/errors.ts'
import { RawJson, type RpcContext, type RpcMethod } from '../jsonrpc/method.ts'
import type { ViewQueue } from '../jsonrpc/place.ts'
import type { ViewPool } from '../jsonrpc/runMethod.ts'
import { CometError, cometFailure } from './method.ts'

/*
 * The parts of CometBFT's methods that take too long for a socket thread: it reads the parameters
 * and calls a method that only view threads have, by a name that clients cannot use.
 */

/** Runs a method of a view thread. @throws CometError with the method's reason */
export async function callView(
  views: ViewPool,
  queue: ViewQueue,
  method: string,
  params: readonly unknown[],
  scope: CallScope,
): Promise<RawJson> {
  try {
    return new RawJson(await views.call(queue, method, params, scope))
  } catch (error) {
    // Compared by name: an error from another thread has lost its class.
    const { name, code, message, data } = error as Error & { readonly code?: number; readonly data?: unknown }
    if (name !== 'RpcError' || code === undefined) throw error
    throw typeof data === 'string' ? new CometError(code, message, data) : cometFailure(message)
  }
}

/** Declares a method of view threads, whose arguments the socket thread has already read. */
export function viewMethod<A extends readonly unknown[]>(
  name: string,
  runs: ViewQueue,
  run: (context: RpcContext, ...args: A) => JsonObject | null | Promise<JsonObject | null>,
): RpcMethod {
  const given = (value: unknown): unknown => value ?? undefined
  return {
    name,
    runs,
    params: [given, given],
    required: 0,
    run: async (context, args) => {
      try {
        return await run(context, ...(args as unknown as A))
      } catch (error) {
        if (error instanceof CometError) throw new RpcError(error.code, error.message, error.data)
        if (!(error instanceof SearchError) && !(error instanceof EventQueryError)) throw error
        const { code, message, data } = cometFailure(error.message)
        throw new RpcError(code, message, data)
      }
    },
  }
}
