/** One JSON-RPC call. @throws Error with the node's message */
export async function call<T>(url: string, method: string, params: readonly unknown[] = []): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as { result: T; error?: { message: string } }
  if (error !== undefined) throw new Error(`${method}: ${error.message}`)
  return result
}

/** Text of a request for {@link runLoad}. */
export function requestBody(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export interface Receipt {
  readonly status: string
  readonly blockNumber: string
  readonly contractAddress: string | null
}

/** Waits until every transaction has a receipt; one request asks for all that are missing. */
export async function waitForReceipts(url: string, hashes: readonly string[], pollMs: number): Promise<void> {
  for (let missing = hashes; missing.length > 0; ) {
    const calls = missing.map((hash, id) => requestBody(id, 'eth_getTransactionReceipt', [hash]))
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: `[${calls.join(',')}]`,
    })
    const answers = (await response.json()) as readonly { readonly id: number; readonly result: unknown }[]
    const without = new Set(answers.filter(({ result }) => result === null).map(({ id }) => id))
    missing = missing.filter((_, id) => without.has(id))
    if (missing.length > 0) await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/** Waits for a transaction's receipt. @throws Error when it failed or does not come within a minute */
export async function waitForReceipt(url: string, hash: string, pollMs = 50): Promise<Receipt> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
    const receipt = await call<Receipt | null>(url, 'eth_getTransactionReceipt', [hash])
    if (receipt !== null) {
      if (receipt.status !== '0x1') throw new Error(`transaction ${hash} failed`)
      return receipt
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
  throw new Error(`transaction ${hash} is in no block after a minute`)
}
