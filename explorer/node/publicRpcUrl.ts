import type { NodeClient } from './nodeClient.ts'

/** How long an answer of the node stays, in milliseconds: it changes when the operator starts the node with another setting. */
const MAX_AGE_MS = 60_000

interface NodeStatus {
  readonly node_info: { readonly other: { readonly rpc_address: string } }
}

/**
 * The RPC address that browsers and wallets get: the explorer's setting, else PUBLIC_RPC_URL of the node, else undefined.
 * Answers to clients never wait for the request to the node: the result is the address that is known now.
 * @param configured EXPLORER_PUBLIC_RPC_URL
 * @param nowMs a clock that never goes back
 */
export function createPublicRpcUrl(
  configured: string | undefined,
  node: Pick<NodeClient, 'comet'>,
  nowMs: () => number = () => performance.now(),
): () => string | undefined {
  if (configured !== undefined) return () => configured
  let known: string | undefined
  let askedMs = Number.NEGATIVE_INFINITY
  const ask = async (): Promise<void> => {
    const [{ node_info }] = (await node.comet([{ method: 'status', params: {} }])) as [NodeStatus]
    known = webAddress(node_info.other.rpc_address)
  }
  return () => {
    if (nowMs() - askedMs >= MAX_AGE_MS) {
      askedMs = nowMs()
      // A node that is away for a moment still has the address that it had.
      ask().catch(() => undefined)
    }
    return known
  }
}

/** The node checks its own setting; this one may be behind a proxy, or another program. */
function webAddress(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url.href : undefined
}
