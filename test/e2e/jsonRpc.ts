/** An error object that a node answered with. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number

  constructor(method: string, { code, message }: { readonly code: number; readonly message: string }) {
    super(`${method}: ${message} (${code})`)
    this.code = code
  }
}

export interface RpcCall {
  readonly method: string
  readonly params: readonly unknown[]
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** A node that takes longer has lost the request. */
const ANSWER_TIMEOUT_MS = 30_000

/**
 * The result of one call over HTTP.
 * @throws JsonRpcError; whatever `fetch` throws when the node is not there
 */
export async function callRpc(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const [answer] = await callBatch(url, [{ method, params }])
  if (answer instanceof JsonRpcError) throw answer
  return answer
}

/** The results of calls in one batch, in their order; an error is a value. */
export async function callBatch(url: string, calls: readonly RpcCall[]): Promise<readonly unknown[]> {
  if (calls.length === 0) return []
  const body = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  })
  const answers = (await response.json()) as readonly Answer[]
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  return calls.map(({ method }, id) => {
    const answer = byId.get(id)
    if (answer === undefined) throw new Error(`${method}: no answer in ${JSON.stringify(answers).slice(0, 200)}`)
    return answer.error === undefined ? answer.result : new JsonRpcError(method, answer.error)
  })
}
