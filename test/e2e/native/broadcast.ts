import type { TestNode } from '../startNode.ts'

/** What became of a native transaction. */
interface Broadcast {
  /** upper-case hex */
  readonly hash: string
  /** of the block that has it; 0 when it was refused */
  readonly height: number
  /** of the refusal, or of its execution */
  readonly code: number
  readonly codespace: string
  readonly log: string
  readonly gasUsed: bigint
}

interface TxResultJson {
  readonly code: number
  readonly codespace: string
  readonly log: string
  readonly gas_used: string
}

/** Sends the bytes of a `TxRaw` and waits for its block. */
export async function broadcast(node: Pick<TestNode, 'url'>, raw: Uint8Array): Promise<Broadcast> {
  const { check_tx, tx_result, hash, height } = await cometCall<{
    readonly check_tx: TxResultJson
    readonly tx_result: TxResultJson
    readonly hash: string
    readonly height: string
  }>(node, 'broadcast_tx_commit', { tx: Buffer.from(raw).toString('base64') })
  const { code, codespace, log, gas_used } = check_tx.code === 0 ? tx_result : check_tx
  return { hash, height: Number(height), code, codespace, log, gasUsed: BigInt(gas_used) }
}

/** Sends the bytes of a `TxRaw` to the pool: 0 when it was taken, else the code of its refusal. */
export async function broadcastSync(node: Pick<TestNode, 'url'>, raw: Uint8Array): Promise<number> {
  const tx = Buffer.from(raw).toString('base64')
  return (await cometCall<{ readonly code: number }>(node, 'broadcast_tx_sync', { tx })).code
}

/** The result of a method of CometBFT's RPC. @throws Error with the server's error */
async function cometCall<T>(
  node: Pick<TestNode, 'url'>,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<T> {
  const response = await fetch(new URL('rpc', node.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as { readonly result: T; readonly error?: unknown }
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}
