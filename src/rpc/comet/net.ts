import { canonicalJson, toCometGenesis } from '../../chain/genesis/genesis.ts'
import type { Genesis } from '../../chain/genesis/genesisSchema.ts'
import type { PeerFacts } from '../../p2p/netInfo.ts'
import { RawJson } from '../jsonrpc/method.ts'
import type { CometNode } from './env.ts'
import { nodeInfoJson } from './json/nodeInfo.ts'
import { formatTime } from './json/values.ts'
import { type CometMethod, cometFailure, defineCometMethod, uint } from './method.ts'

/** Creates `net_info` (rpc/core/net.go): the connected peers that have reported the same genesis. */
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

/** Formats rpc/core/types.Peer. */
function peerJson({ node, isOutbound, remoteIp, connectedMs, sentBytes, receivedBytes }: PeerFacts, nowMs: number) {
  return {
    // Peers do not report whether they have an index.
    node_info: nodeInfoJson({ ...node, chainId: node.network, isIndexed: true }),
    is_outbound: isOutbound,
    connection_status: {
      Duration: nanoseconds(connectedMs),
      SendMonitor: monitorJson(sentBytes, connectedMs, nowMs),
      RecvMonitor: monitorJson(receivedBytes, connectedMs, nowMs),
      // A connection of libp2p has streams instead of channels, without such counts.
      Channels: [],
    },
    remote_ip: remoteIp,
  }
}

/** Formats libs/flowrate.Status. Only totals are measured; the other fields are 0. */
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

/** rpc/core/env.go, genesisChunkSize: bytes of JSON in one chunk */
const CHUNK_BYTES = 16 * 1024 * 1024

/**
 * Creates `genesis` and `genesis_chunked` (rpc/core/net.go): the members of genesis.json, so that
 * the genesis hash can be computed, and CometBFT's `consensus_params` and `validators`, which
 * repeat some of them.
 * @param readGenesis called once, for the first request
 */
export function createGenesisMethods(readGenesis: () => Genesis): readonly CometMethod[] {
  let cached: Buffer | undefined
  const text = (): Buffer => {
    cached ??= Buffer.from(canonicalJson(toCometGenesis(readGenesis())))
    return cached
  }
  return [
    defineCometMethod({
      name: 'genesis',
      params: [],
      run: () => {
        if (text().length > CHUNK_BYTES) {
          throw cometFailure('genesis response is large, please use the genesis_chunked API instead')
        }
        return new RawJson(`{"genesis":${text().toString()}}`)
      },
    }),
    defineCometMethod({
      name: 'genesis_chunked',
      params: [{ name: 'chunk', type: uint }],
      run: (requested = 0n) => {
        const total = Math.ceil(text().length / CHUNK_BYTES)
        if (requested >= total) throw cometFailure(`there are ${total - 1} chunks, ${requested} is invalid`)
        const start = Number(requested) * CHUNK_BYTES
        return {
          chunk: requested.toString(),
          total: String(total),
          data: text().toString('base64', start, Math.min(start + CHUNK_BYTES, text().length)),
        }
      },
    }),
  ]
}
