import { RpcError } from '../../../src/rpc/jsonrpc/errors.ts'
import { type RpcContext, type RpcMethod, readArguments, resultText } from '../../../src/rpc/jsonrpc/method.ts'
import { textOf } from '../../../src/rpc/jsonrpc/resultText.ts'

/** Reads parameters as the dispatcher does and runs the method; the result has gone through JSON. */
export async function invoke(method: RpcMethod, context: RpcContext, ...params: unknown[]): Promise<unknown> {
  return JSON.parse(textOf(resultText(await method.run(context, readArguments(method, params)))))
}

/** The error object that a call is answered with. */
export async function invokeError(method: RpcMethod, context: RpcContext, ...params: unknown[]): Promise<unknown> {
  try {
    await invoke(method, context, ...params)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const { code, message, data } = error
    return data === undefined ? { code, message } : { code, message, data }
  }
  throw new Error('the call succeeded')
}
