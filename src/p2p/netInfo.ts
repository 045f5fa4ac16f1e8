import { formatPeerAddress, type PeerAddress } from './peerAddress.ts'
import type { Session } from './session.ts'

/** Data of a node for CometBFT's RPC (p2p/node_info.go). */
interface NodeFacts {
  readonly id: string
  /** host:port */
  readonly listenAddress: string
  /** native chain ID */
  readonly network: string
  readonly version: string
  readonly moniker: string
  /** other.rpc_address; empty: none */
  readonly rpcAddress: string
}

/** Data of a connected peer for CometBFT's /net_info. */
export interface PeerFacts {
  readonly node: NodeFacts
  readonly isOutbound: boolean
  /** IP address of the connection's other side */
  readonly remoteIp: string
  readonly connectedMs: number
  readonly receivedBytes: number
  readonly sentBytes: number
  /** bytes waiting to be sent */
  readonly queuedBytes: number
  /** consensus address, 20 bytes, of the validator that it has proved to be */
  readonly validatorAddress: Uint8Array | undefined
}

export interface NetInfo {
  readonly listening: boolean
  /** host:port each */
  readonly listeners: readonly string[]
  readonly peers: readonly PeerFacts[]
}

export function peerFacts(session: Session, nowMs: number): PeerFacts {
  const { id, hello, remote, meter, queues, isOutbound, validatorAddress } = session
  const seen: PeerAddress = { host: remote.host, port: hello.listenPort }
  return {
    node: {
      id,
      listenAddress: hello.externalAddress === '' ? formatPeerAddress(seen) : hello.externalAddress,
      network: hello.chainId,
      version: hello.version,
      moniker: hello.moniker,
      rpcAddress: hello.rpcAddress,
    },
    isOutbound,
    remoteIp: remote.host,
    connectedMs: nowMs - meter.openedMs,
    receivedBytes: meter.received,
    sentBytes: meter.sent,
    queuedBytes: (queues?.consensus.bytes ?? 0) + (queues?.parts.bytes ?? 0),
    validatorAddress,
  }
}
