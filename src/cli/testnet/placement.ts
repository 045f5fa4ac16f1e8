/**
 * Where the nodes of a test network run: all on this machine, each with ports of its own from `startingPort` on; or each on a host
 * of its own, `<prefix>0` and on, with the usual ports.
 */
export type Placement =
  | { readonly kind: 'machine'; readonly startingPort: number }
  | { readonly kind: 'hosts'; readonly prefix: string }

export interface NodePlace {
  readonly name: string
  /** on this machine */
  readonly isLocal: boolean
  readonly rpcUrl: string
  /** host:port */
  readonly peerAddress: string
  readonly variables: Readonly<Record<string, string>>
}

/** Ports from one node's to the next's: RPC, peers, metrics, and round numbers for people. */
export const PORTS_A_NODE = 10
const LOOPBACK = '127.0.0.1'

/** The place of a node by its number. */
export function placeNode(placement: Placement, index: number): NodePlace {
  if (placement.kind === 'hosts') {
    const host = `${placement.prefix}${index}`
    return {
      name: host,
      isLocal: false,
      rpcUrl: `http://${host}:8080`,
      peerAddress: `${host}:26656`,
      variables: {},
    }
  }
  const port = placement.startingPort + index * PORTS_A_NODE
  return {
    name: `node${index}`,
    isLocal: true,
    rpcUrl: `http://${LOOPBACK}:${port}`,
    peerAddress: `${LOOPBACK}:${port + 1}`,
    variables: {
      RPC_HOST: LOOPBACK,
      RPC_PORT: String(port),
      P2P_HOST: LOOPBACK,
      P2P_PORT: String(port + 1),
      METRICS_PORT: String(port + 2),
    },
  }
}
