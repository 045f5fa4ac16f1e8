import { join } from 'node:path'
import type { Exchange, Reply, RpcCase } from './exchanges.ts'
import { gradeReply } from './grade.ts'
import { openrpcValidator } from './openrpc.ts'

/**
 * Sends the cases over HTTP, in their order: what one sends is in the pool for the next ones. Gives what is wrong, by the names of cases.
 * @param suite where the OpenRPC document is (`openrpc`), which validates every result too
 */
export async function gradeCases(
  url: string,
  cases: readonly RpcCase[],
  suite: string,
): Promise<ReadonlyMap<string, string>> {
  const validate = openrpcValidator(join(suite, 'openrpc'))
  const faults = new Map<string, string>()
  // Some replies that the suite expects are against its own document.
  const invalidity = (method: string, actual: Reply, expected: Reply): string | undefined => {
    if (!('result' in actual && 'result' in expected) || validate(method, expected.result) !== undefined)
      return undefined
    return validate(method, actual.result)
  }
  for (const { name, specOnly, exchanges } of cases) {
    for (const { request, reply } of exchanges) {
      const actual = await post(url, request)
      const fault = gradeReply(actual, reply, specOnly) ?? invalidity(request.method, actual, reply)
      if (fault !== undefined) faults.set(name, `${request.method}: ${fault}`)
    }
  }
  return faults
}

async function post(url: string, request: Exchange['request']): Promise<Reply> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }),
  })
  const { result, error } = (await response.json()) as { readonly result?: unknown; readonly error?: never }
  return error === undefined ? { result } : { error }
}
