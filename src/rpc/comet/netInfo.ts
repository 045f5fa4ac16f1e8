import type { PeerFacts } from '../../p2p/netInfo.ts'
import { nodeInfoJson } from './json/nodeInfoJson.ts'
import { formatTime } from './json/text.ts'
import type { CometNode } from './nodePort.ts'
import { type CometMethod, defineCometMethod } from './table.ts'

/** `net_info` (rpc/core/net.go): the connected peers that have shown the same genesis. */
export function createNetInfoMethod(node: Pick<CometNode, 'network'>, nowMs: () => number): CometMethod {
  return defineCometMethod({
    name: 'net_info',
    params: [],
    run: async () => {
      const { listening, listeners, peers } = await node.network()
      return {
        listening,
        listeners: listeners.map((address) => `Listener(@${address})`),
        n_peers: String(peers.length),
        peers: peers.map((peer) => peerJson(peer, nowMs())),
      }
    },
  })
}

/** rpc/core/types.Peer */
function peerJson({ node, isOutbound, remoteIp, connectedMs, sentBytes, receivedBytes }: PeerFacts, nowMs: number) {
  return {
    node_info: nodeInfoJson({ ...node, chainId: node.network }),
    is_outbound: isOutbound,
    connection_status: {
      Duration: nanoseconds(connectedMs),
      SendMonitor: monitorJson(sentBytes, connectedMs, nowMs),
      RecvMonitor: monitorJson(receivedBytes, connectedMs, nowMs),
      // The connection has streams instead, which keep no such counts.
      Channels: [],
    },
    remote_ip: remoteIp,
  }
}

/** libs/flowrate.Status. Only totals are measured; what is not is 0. */
function monitorJson(bytes: number, connectedMs: number, nowMs: number) {
  return {
    Start: formatTime(Math.floor(nowMs - connectedMs)),
    Bytes: String(bytes),
    Samples: '0',
    InstRate: '0',
    CurRate: '0',
    AvgRate: String(Math.round((bytes * 1000) / Math.max(1, connectedMs))),
    PeakRate: '0',
    BytesRem: '0',
    Duration: nanoseconds(connectedMs),
    Idle: '0',
    TimeRem: '0',
    Progress: 0,
    Active: true,
  }
}

function nanoseconds(ms: number): string {
  return (BigInt(Math.round(ms)) * 1_000_000n).toString()
}
