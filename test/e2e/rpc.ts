/** What a JSON-RPC server answers. */
interface RpcResponse {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: unknown
  readonly error?: RpcProblem
}

interface RpcProblem {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** An error object that a node answered with. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number
  readonly data: unknown

  constructor(method: string, { code, message, data }: RpcProblem) {
    super(`${method}: ${code} ${message}`)
    this.code = code
    this.data = data
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

type Headers = Readonly<Record<string, string>>

/** A node that takes longer has lost the request. */
const ANSWER_TIMEOUT_MS = 30_000

/**
 * Asks over HTTP, with the request's fields as they are given.
 * @throws NodeStopping; Error for another status than 200; whatever `fetch` throws when the node is not there or does not answer
 */
export async function post(
  url: string,
  request: Readonly<Record<string, unknown>>,
  headers: Headers = {},
): Promise<RpcResponse> {
  return (await send(url, { jsonrpc: '2.0', id: 1, ...request }, headers)) as RpcResponse
}

/**
 * The result of a method.
 * @throws JsonRpcError, and as {@link post}
 */
export async function rpc<T = unknown>(url: string, method: string, ...params: readonly unknown[]): Promise<T> {
  return resultOf(method, await post(url, { method, params }))
}

/**
 * As {@link rpc}, over a connection of its own.
 * @throws as {@link rpc}
 */
export async function rpcOnce<T = unknown>(url: string, method: string, ...params: readonly unknown[]): Promise<T> {
  return resultOf(method, await post(url, { method, params }, { connection: 'close' }))
}

/**
 * The results of calls in one batch, in their order; an error is a value, a {@link JsonRpcError}.
 * @throws as {@link post}
 */
export async function rpcBatch(url: string, calls: readonly RpcCall[]): Promise<readonly unknown[]> {
  if (calls.length === 0) return []
  const answers = await send(
    url,
    calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })),
  )
  if (!Array.isArray(answers)) throw new Error(`no answer to a batch: ${JSON.stringify(answers)}`)
  const byId = new Map((answers as readonly RpcResponse[]).map((answer) => [answer.id, answer]))
  return calls.map(({ method }, id) => {
    const answer = byId.get(id)
    if (answer === undefined) throw new Error(`${method}: no answer in ${JSON.stringify(answers).slice(0, 200)}`)
    return answer.error === undefined ? answer.result : new JsonRpcError(method, answer.error)
  })
}

async function send(url: string, body: unknown, headers: Headers = {}): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  })
  if (response.status === 503) throw new NodeStopping('the node is stopping')
  if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${await response.text()}`)
  return response.json()
}

function resultOf<T>(method: string, { result, error }: RpcResponse): T {
  if (error !== undefined) throw new JsonRpcError(method, error)
  return result as T
}

/**
 * Asks again until the answer is there.
 * @throws Error after `timeoutMs` without one
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  timeoutMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  while (Date.now() < deadline) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${what}: not within ${timeoutMs} ms`)
}

/** Receipt as JSON-RPC has it. */
export interface RpcReceipt {
  readonly status: string
  readonly blockHash: string
  readonly blockNumber: string
  readonly contractAddress: `0x${string}` | null
  readonly gasUsed: string
  readonly logs: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[]
}

/** Waits until the transaction is in a block. */
export function mined(url: string, hash: string, timeoutMs?: number): Promise<RpcReceipt> {
  return until(`receipt of ${hash}`, () => rpc<RpcReceipt | null>(url, 'eth_getTransactionReceipt', hash), timeoutMs)
}
