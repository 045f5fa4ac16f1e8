/** What a JSON-RPC server answers. */
export interface RpcResponse {
  readonly jsonrpc: string
  readonly id: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** Asks over HTTP, with the request's fields as they are given; checks that the status is 200. */
export async function post(
  url: string,
  request: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<RpcResponse> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }),
  })
  if (response.status !== 200) throw new Error(`HTTP ${response.status}: ${await response.text()}`)
  return (await response.json()) as RpcResponse
}

/**
 * The result of a method.
 * @throws Error with the code and the text of an error answer
 */
export async function rpc<T = unknown>(url: string, method: string, ...params: readonly unknown[]): Promise<T> {
  return resultOf(method, await post(url, { method, params }))
}

/**
 * As {@link rpc}, over a connection of its own.
 * @throws Error with the code and the text of an error answer
 */
export async function rpcOnce<T = unknown>(url: string, method: string, ...params: readonly unknown[]): Promise<T> {
  return resultOf(method, await post(url, { method, params }, { connection: 'close' }))
}

function resultOf<T>(method: string, { result, error }: RpcResponse): T {
  if (error !== undefined) throw new Error(`${method}: ${error.code} ${error.message}`)
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
