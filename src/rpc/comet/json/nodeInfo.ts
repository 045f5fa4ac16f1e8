import { BLOCK_PROTOCOL } from '../../../chain/comet/block.ts'

/** Public information about a node. */
export interface NodeInfo {
  /** 40 hex digits */
  readonly id: string
  /** native chain ID */
  readonly chainId: string
  readonly moniker: string
  /** of its software, without `v` */
  readonly version: string
  /** host:port for peers */
  readonly listenAddress: string
  /** PUBLIC_RPC_URL; empty when it is not set */
  readonly rpcAddress: string
  /** whether blocks are found by their events */
  readonly isIndexed: boolean
}

/**
 * The version by which clients choose their decoder (CosmJS: connectComet). The formats were
 * compared with this release.
 */
export const COMET_VERSION = '0.38.19'
/** CometBFT's p2p protocol and the channels of its reactors, as a node of 0.38 shows them. */
const P2P_PROTOCOL = '8'
const CHANNELS = '40202122233038606100'

/**
 * Formats p2p.DefaultNodeInfo. `version` is that of the formats; the software's own is next to the
 * RPC address.
 */
export function nodeInfoJson({ id, chainId, moniker, version, listenAddress, rpcAddress, isIndexed }: NodeInfo) {
  return {
    protocol_version: { p2p: P2P_PROTOCOL, block: String(BLOCK_PROTOCOL), app: '0' },
    id,
    listen_addr: listenAddress,
    network: chainId,
    version: COMET_VERSION,
    channels: CHANNELS,
    moniker,
    other: { tx_index: isIndexed ? 'on' : 'off', rpc_address: rpcAddress, coind_version: version },
  }
}
