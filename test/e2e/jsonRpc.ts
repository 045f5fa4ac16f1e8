/** An error object that a node answered with. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number

  constructor(method: string, { code, message }: { readonly code: number; readonly message: string }) {
    super(`${method}: ${message} (${code})`)
    this.code = code
  }
}

/** The node stops and takes no more requests. */
export class NodeStopping extends Error {
  override readonly name = 'NodeStopping'
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
 * @throws JsonRpcError, NodeStopping; whatever `fetch` throws when the node is not there
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
  if (response.status === 503) throw new NodeStopping('the node is stopping')
  const answers = (await response.json()) as readonly Answer[]
  if (!Array.isArray(answers)) throw new Error(`no answer to a batch: ${response.status} ${JSON.stringify(answers)}`)
  const byId = new Map(answers.map((answer) => [answer.id, answer]))
  return calls.map(({ method }, id) => {
    const answer = byId.get(id)
    if (answer === undefined) throw new Error(`${method}: no answer in ${JSON.stringify(answers).slice(0, 200)}`)
    return answer.error === undefined ? answer.result : new JsonRpcError(method, answer.error)
  })
}
