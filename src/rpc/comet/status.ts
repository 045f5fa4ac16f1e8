import { BLOCK_PROTOCOL } from '../../chain/consensus/block.ts'
import type { ChainReader } from '../../chain/reader.ts'
import { toBuffer } from '../../primitives/bytes.ts'
import type { CometMethod } from './table.ts'

/** What does not change while the node runs. */
export interface NodeIdentity {
  /** lowercase hex of sha256(ed25519 public key)[:20] of the peer key */
  readonly id: string
  /** native chain ID */
  readonly chainId: string
  readonly moniker: string
  /** of the software, without `v` */
  readonly version: string
  /** host:port that peers are told */
  readonly listenAddress: string
  /** PUBLIC_RPC_URL; empty when it is not set */
  readonly rpcAddress: string
}

/** The node's own consensus key. */
export interface OwnValidator {
  /** 20 bytes */
  readonly address: Uint8Array
  /** ed25519, 32 bytes */
  readonly publicKey: Uint8Array
  /** 0 when it is not a validator */
  readonly power: bigint
}

export interface StatusOptions {
  readonly identity: NodeIdentity
  readonly validator: () => OwnValidator
  /** runs `read` on the newest published blocks */
  readonly withChain: <T>(read: (chain: StatusChain) => T) => T
  readonly isCatchingUp: () => boolean
}

type StatusChain = Pick<ChainReader, 'headHeight' | 'oldestBlock' | 'consensusBlock' | 'blockId'>

/** CometBFT's p2p protocol and the channels of its reactors, as a node of 0.38 shows them. */
const P2P_PROTOCOL = '8'
const CHANNELS = '40202122233038606100'

interface BlockSummary {
  readonly height: number
  readonly hash: string
  readonly appHash: string
  readonly time: string
}

/** Go's zero time stands for no block. */
const NO_BLOCK: BlockSummary = { height: 0, hash: '', appHash: '', time: '0001-01-01T00:00:00Z' }

/** CometBFT's `status` (rpc/core/status.go of 0.38). The height is "0" before the first block. */
export function createStatusMethod({ identity, validator, withChain, isCatchingUp }: StatusOptions): CometMethod {
  // A block is decoded once, not for each request.
  let latest = NO_BLOCK
  let earliest = NO_BLOCK
  const summarize = (chain: StatusChain, height: number, known: BlockSummary): BlockSummary =>
    height === known.height ? known : summaryOf(chain, height)

  return {
    name: 'status',
    run: () => {
      withChain((chain) => {
        latest = summarize(chain, chain.headHeight, latest)
        earliest = summarize(chain, Math.min(Math.max(1, chain.oldestBlock), chain.headHeight), earliest)
      })
      const { address, publicKey, power } = validator()
      return {
        node_info: {
          protocol_version: { p2p: P2P_PROTOCOL, block: String(BLOCK_PROTOCOL), app: '0' },
          id: identity.id,
          listen_addr: identity.listenAddress,
          network: identity.chainId,
          version: identity.version,
          channels: CHANNELS,
          moniker: identity.moniker,
          other: { tx_index: 'on', rpc_address: identity.rpcAddress },
        },
        sync_info: {
          latest_block_hash: latest.hash,
          latest_app_hash: latest.appHash,
          latest_block_height: String(latest.height),
          latest_block_time: latest.time,
          earliest_block_hash: earliest.hash,
          earliest_app_hash: earliest.appHash,
          earliest_block_height: String(earliest.height),
          earliest_block_time: earliest.time,
          catching_up: isCatchingUp(),
        },
        validator_info: {
          address: upperHex(address),
          pub_key: { type: 'tendermint/PubKeyEd25519', value: toBuffer(publicKey).toString('base64') },
          voting_power: power.toString(),
        },
      }
    },
  }
}

/** CometBFT's `health`: an empty object as long as the node answers. */
export const healthMethod: CometMethod = { name: 'health', run: () => ({}) }

function summaryOf(chain: StatusChain, height: number): BlockSummary {
  const block = height === 0 ? undefined : chain.consensusBlock(height)
  if (block === undefined) return { ...NO_BLOCK, height }
  return {
    height,
    hash: upperHex(chain.blockId(height)?.hash ?? new Uint8Array(0)),
    appHash: upperHex(block.header.appHash),
    time: formatTime(block.header.timeMs),
  }
}

/** RFC 3339 as Go writes it: no trailing zeros in the fraction. */
function formatTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/\.?0*Z$/, 'Z')
}

function upperHex(bytes: Uint8Array): string {
  return toBuffer(bytes).toString('hex').toUpperCase()
}
