import type { ValidatorIdentity } from '../../consensus/validatorKeys.ts'
import { bytesToUpperHex, equalBytes } from '../../primitives/bytes.ts'
import { latestHeight } from './consensus.ts'
import { type CometChain, lowestBlock, type WithChain } from './env.ts'
import { type NodeInfo, nodeInfoJson } from './json/nodeInfo.ts'
import { formatTime, publicKeyJson } from './json/values.ts'
import { type CometMethod, defineCometMethod } from './method.ts'

/** The node's information that does not change while it runs. */
export type NodeIdentity = NodeInfo

interface StatusOptions {
  readonly identity: NodeIdentity
  /** the node's own consensus keys, whether a validator's or not; two while it rotates its key */
  readonly validator: readonly ValidatorIdentity[]
  readonly withChain: WithChain
  readonly isCatchingUp: () => boolean
}

interface BlockSummary {
  readonly height: number
  readonly hash: string
  readonly appHash: string
  readonly time: string
}

/** Shown before the first block, with Go's zero time. */
const NO_BLOCK: BlockSummary = { height: 0, hash: '', appHash: '', time: '0001-01-01T00:00:00Z' }

/**
 * Creates CometBFT's `status` (rpc/core/status.go of 0.38). The height is "0" before the first
 * block.
 */
export function createStatusMethod({ identity, validator, withChain, isCatchingUp }: StatusOptions): CometMethod {
  // A block is decoded once, not for each request; so is the validator set.
  let latest = NO_BLOCK
  let earliest = NO_BLOCK
  let own = { height: -1, power: 0n, key: validator[0]! }
  const summarize = (chain: CometChain, height: number, known: BlockSummary): BlockSummary =>
    height === known.height ? known : summaryOf(chain, height)

  return defineCometMethod({
    name: 'status',
    params: [],
    run: () => {
      const catchingUp = isCatchingUp()
      withChain((chain) => {
        latest = summarize(chain, chain.headHeight, latest)
        earliest = summarize(chain, Math.min(lowestBlock(chain), chain.headHeight), earliest)
        const height = latestHeight(chain.headHeight, catchingUp)
        if (height !== own.height) own = { height, ...keyAt(chain, height, validator) }
      })
      return {
        node_info: nodeInfoJson(identity),
        sync_info: {
          latest_block_hash: latest.hash,
          latest_app_hash: latest.appHash,
          latest_block_height: String(latest.height),
          latest_block_time: latest.time,
          earliest_block_hash: earliest.hash,
          earliest_app_hash: earliest.appHash,
          earliest_block_height: String(earliest.height),
          earliest_block_time: earliest.time,
          catching_up: catchingUp,
        },
        validator_info: {
          address: bytesToUpperHex(own.key.address),
          pub_key: publicKeyJson(own.key.publicKey),
          voting_power: own.power.toString(),
        },
      }
    },
  })
}

/** CometBFT's `health`: an empty object as long as the node answers. */
export const healthMethod: CometMethod = defineCometMethod({ name: 'health', params: [], run: () => ({}) })

function summaryOf(chain: CometChain, height: number): BlockSummary {
  const block = height === 0 ? undefined : chain.consensusBlock(height)
  if (block === undefined) return { ...NO_BLOCK, height }
  return {
    height,
    hash: bytesToUpperHex(chain.blockId(height)?.hash ?? new Uint8Array(0)),
    appHash: bytesToUpperHex(block.header.appHash),
    time: formatTime(block.header.timeMs),
  }
}

/**
 * Returns the key that is in the height's validator set, and its power; otherwise the first key and
 * 0.
 */
function keyAt(
  chain: CometChain,
  height: number,
  keys: readonly ValidatorIdentity[],
): { readonly key: ValidatorIdentity; readonly power: bigint } {
  const set = chain.validatorSetAt(height)
  for (const key of keys) {
    const found = set?.validators.find(({ address }) => equalBytes(address, key.address))
    if (found !== undefined) return { key, power: found.power }
  }
  return { key: keys[0]!, power: 0n }
}
