import { type ConsensusBlock, encodeBlock } from '../../chain/comet/block.ts'
import { encodedTxSize } from '../../chain/comet/wire.ts'
import type { JsonObject } from '../format/json.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import type { RpcMethod } from '../jsonrpc/method.ts'
import { blocksAt, placeOf } from '../jsonrpc/place.ts'
import type { ViewPool } from '../jsonrpc/runMethod.ts'
import {
  type CometChain,
  heightUnavailable,
  lowestBlock,
  lowestHeader,
  readHeight,
  readLightHeight,
  type WithChain,
} from './env.ts'
import { blockJson, commitJson, headerJson } from './json/block.ts'
import { blockIdJson, NO_BLOCK_ID_JSON } from './json/values.ts'
import { bytes, type CometMethod, cometFailure, defineCometMethod, hexBytes, int64 } from './method.ts'
import { callView, viewMethod } from './viewMethod.ts'

/** Most blocks in one answer of `blockchain`. */
const MAX_METAS = 20

/** A method as a function of the chain and its parameters. */
interface BlockMethod<A extends readonly never[]> {
  readonly run: (chain: CometChain, ...args: A) => JsonObject | null
  /** Returns the heights that it reads; a block's ID and commit are in the next block. */
  readonly reads: (chain: CometChain, ...args: A) => readonly number[]
}

function blockMethod<const A extends readonly unknown[]>(method: {
  readonly run: (chain: CometChain, ...args: A) => JsonObject | null
  readonly reads: (chain: CometChain, ...args: A) => readonly number[]
}): BlockMethod<never[]> {
  return method as unknown as BlockMethod<never[]>
}

const READS = {
  block: blockMethod({
    run: (chain, height?: bigint) => fullBlock(chain, readHeight(height, chain.headHeight, lowestBlock(chain))),
    reads: (chain, height?: bigint) => [readHeight(height, chain.headHeight, lowestBlock(chain))],
  }),
  block_by_hash: blockMethod({
    run: (chain, hash?: Uint8Array) => {
      const height = hash && chain.heightOfConsensusHash(hash)
      return fullBlock(chain, height === undefined || height < lowestBlock(chain) ? 0 : height)
    },
    reads: readsOfHash,
  }),
  header: blockMethod({
    run: (chain, height?: bigint) => {
      const block = requireBlock(chain, readHeight(height, chain.headHeight, lowestHeader(chain)))
      return { header: block === undefined ? null : headerJson(block.header) }
    },
    reads: (chain, height?: bigint) => [readHeight(height, chain.headHeight, lowestHeader(chain))],
  }),
  header_by_hash: blockMethod({
    run: (chain, hash?: Uint8Array) => {
      const height = hash && chain.heightOfConsensusHash(hash)
      const block = height === undefined ? undefined : chain.consensusBlock(height)
      return { header: block === undefined ? null : headerJson(block.header) }
    },
    reads: readsOfHash,
  }),
  commit: blockMethod({
    run: (chain, requested?: bigint) => {
      const height = readLightHeight(chain, requested, chain.headHeight)
      const retained = height < chain.base ? chain.lightBlock(height) : undefined
      const header = retained?.header ?? requireBlock(chain, height)?.header
      const commit = retained?.commit ?? (header && chain.seenCommit(height))
      if (header === undefined || commit === undefined) return null
      return {
        signed_header: { header: headerJson(header), commit: commitJson(commit) },
        // The commit of the newest block is the one that this node saw; the next block may contain
        // another.
        canonical: height < chain.headHeight,
      }
    },
    reads: (chain, requested?: bigint) => [readLightHeight(chain, requested, chain.headHeight)],
  }),
  blockchain: blockMethod({
    run: (chain, min: bigint = 0n, max: bigint = 0n) => {
      const [low, high] = readRange(min, max, lowestBlock(chain), chain.headHeight)
      const metas = []
      for (let height = high; height >= low; height--) metas.push(blockMeta(chain, height))
      return { last_height: String(chain.headHeight), block_metas: metas }
    },
    reads: (chain, min: bigint = 0n, max: bigint = 0n) => [
      readRange(min, max, lowestBlock(chain), chain.headHeight)[0],
    ],
  }),
} as const

function readsOfHash(chain: CometChain, hash?: Uint8Array): readonly number[] {
  return hash === undefined ? [] : chain.heightsOfConsensusHash(hash)
}

/**
 * Creates `block`, `block_by_hash`, `header`, `header_by_hash`, `commit` and `blockchain`
 * (rpc/core/blocks.go). When BLOCK_HISTORY has dropped a block's transactions, its header and
 * commit are still there. Calls that need an older block than the newest few, which has to be
 * decoded whole, run in a view thread ({@link blockViewMethods}).
 */
export function createBlockMethods(withChain: WithChain, views: ViewPool): readonly CometMethod[] {
  const runOrMove = (name: keyof typeof READS, args: readonly unknown[], scope: CallScope): unknown => {
    const { run, reads } = READS[name]
    return withChain((chain) => {
      const place = placeOf('socket', blocksAt('body', reads(chain, ...(args as never[]))), chain)
      return place === 'socket' ? run(chain, ...(args as never[])) : callView(views, place, viewName(name), args, scope)
    })
  }
  const height = { name: 'height', type: int64 } as const
  return [
    defineCometMethod({ name: 'block', params: [height], run: (at, scope) => runOrMove('block', [at], scope) }),
    defineCometMethod({
      name: 'block_by_hash',
      params: [{ name: 'hash', type: bytes }],
      run: (hash, scope) => runOrMove('block_by_hash', [hash], scope),
    }),
    defineCometMethod({ name: 'header', params: [height], run: (at, scope) => runOrMove('header', [at], scope) }),
    defineCometMethod({
      name: 'header_by_hash',
      params: [{ name: 'hash', type: hexBytes }],
      run: (hash, scope) => runOrMove('header_by_hash', [hash], scope),
    }),
    defineCometMethod({ name: 'commit', params: [height], run: (at, scope) => runOrMove('commit', [at], scope) }),
    defineCometMethod({
      name: 'blockchain',
      params: [
        { name: 'minHeight', type: int64 },
        { name: 'maxHeight', type: int64 },
      ],
      run: (min, max, scope) => runOrMove('blockchain', [min, max], scope),
    }),
  ]
}

/** The same methods in view threads. */
export const blockViewMethods: readonly RpcMethod[] = Object.entries(READS).map(([name, { run }]) =>
  viewMethod(viewName(name), 'cheap', ({ view }, ...args: readonly unknown[]) => run(view.chain, ...(args as never[]))),
)

function viewName(name: string): string {
  return `comet/${name}`
}

/** @param height 0: there is no such block */
function fullBlock(chain: CometChain, height: number) {
  const block = height === 0 ? undefined : chain.consensusBlock(height)
  if (block === undefined) return { block_id: NO_BLOCK_ID_JSON, block: null }
  return { block_id: blockIdJson(chain.blockId(height)!), block: blockJson(block) }
}

/**
 * Returns a block; undefined before the first one.
 * @throws CometError when the block is not retained
 */
function requireBlock(chain: CometChain, height: number): ConsensusBlock | undefined {
  if (height === 0) return undefined
  const block = chain.consensusBlock(height)
  if (block === undefined) throw heightUnavailable(height, lowestHeader(chain))
  return block
}

/** Reads the range as rpc/core/blocks.go (filterMinMax); 0: not given. */
function readRange(min: bigint, max: bigint, lowest: number, head: number): readonly [low: number, high: number] {
  if (min < 0n || max < 0n) throw cometFailure('heights must be non-negative')
  const high = max === 0n || max > head ? head : Number(max)
  const wanted = min === 0n ? 1n : min
  const low = Math.max(wanted > head ? Number.POSITIVE_INFINITY : Number(wanted), lowest, high - MAX_METAS + 1)
  if (low > high) {
    const shown = low === Number.POSITIVE_INFINITY ? min : low
    throw cometFailure(`min height ${shown} can't be greater than max height ${high}`)
  }
  return [low, high]
}

/** Formats types.BlockMeta. */
function blockMeta(chain: CometChain, height: number) {
  const block = chain.consensusBlock(height)!
  return {
    block_id: blockIdJson(chain.blockId(height)!),
    block_size: String(blockSize(block)),
    header: headerJson(block.header),
    num_txs: String(block.txs.length),
  }
}

/** Returns the bytes of the encoded block, without encoding its transactions again. */
function blockSize(block: ConsensusBlock): number {
  const rest = encodeBlock({ ...block, txs: [] }).length
  const data = block.txs.reduce((sum, tx) => sum + encodedTxSize(tx.length), 0)
  // The field is present without transactions too: its tag and the length 0, two bytes.
  return rest - 2 + encodedTxSize(data)
}
