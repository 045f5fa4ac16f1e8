/** Makes one JSON-RPC call. @throws Error with the node's message */
export async function call<T>(url: string, method: string, params: readonly unknown[] = []): Promise<T> {
  return resultOf<T>(method, await post<Answer<T>>(url, requestBody(1, method, params)))
}

/** Makes several calls in one request, and returns the results in their order. @throws Error with the node's message */
export async function batchCall<T>(
  url: string,
  calls: readonly (readonly [method: string, params: readonly unknown[]])[],
): Promise<T[]> {
  const bodies = calls.map(([method, params], id) => requestBody(id, method, params))
  const answers = await post<readonly Answer<T>[]>(url, `[${bodies.join(',')}]`)
  const results: T[] = []
  for (const answer of answers) results[answer.id] = resultOf(calls[answer.id]![0], answer)
  return results
}

/** Returns the text of a request for `runLoad`. */
export function requestBody(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export interface Receipt {
  readonly status: string
  readonly gasUsed: string
  readonly blockNumber: string
  readonly contractAddress: string | null
}

/** Waits for a transaction's receipt. @throws Error when it failed or does not come within a minute */
export async function waitForReceipt(url: string, hash: string, pollMs = 50): Promise<Receipt> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    const receipt = await call<Receipt | null>(url, 'eth_getTransactionReceipt', [hash]).catch(nullWhileIndexing)
    if (receipt !== null) {
      if (receipt.status !== '0x1') throw new Error(`transaction ${hash} failed`)
      return receipt
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  throw new Error(`transaction ${hash} is in no block after a minute`)
}

/**
 * Returns null for geth's error before it has begun its index of transactions with the first block:
 * it has no receipts until then.
 */
function nullWhileIndexing(error: Error): null {
  if (error.message.includes('transaction indexing is in progress')) return null
  throw error
}

/** Returns a block's number as a parameter. */
export function blockParameter(number: number): string {
  return `0x${number.toString(16)}`
}

interface Answer<T> {
  readonly id: number
  readonly result: T
  readonly error?: { readonly message: string }
}

function resultOf<T>(method: string, { result, error }: Answer<T>): T {
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

async function post<T>(url: string, body: string): Promise<T> {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return (await response.json()) as T
}
