import type { ChainReader } from '../../chain/store/store.ts'
import type { MempoolPort } from '../../mempool/types.ts'
import type { NetInfo } from '../../p2p/netInfo.ts'
import type { ContextLease } from '../jsonrpc/runMethod.ts'
import type { Verifier } from '../submit/submitTransaction.ts'
import type { RoundStateJson } from './json/roundState.ts'
import { cometFailure } from './method.ts'

/** The blocks that the methods show. */
export type CometChain = Pick<
  ChainReader,
  | 'headHeight'
  | 'packedBelow'
  | 'heightsOfConsensusHash'
  | 'heightsOfTransaction'
  | 'hash'
  | 'header'
  | 'base'
  | 'oldestBlock'
  | 'consensusBlock'
  | 'blockId'
  | 'seenCommit'
  | 'lightBlock'
  | 'nextLightBlock'
  | 'validatorsAt'
  | 'validatorSetAt'
  | 'heightOfConsensusHash'
>

/** Runs `read` on the newest published blocks. */
export type WithChain = <T>(read: (chain: CometChain) => T) => T

/** What the methods that take and show transactions need of the node. */
export interface CometMempool {
  readonly verify: Verifier
  readonly pool: MempoolPort
  /** on the newest head */
  readonly lease: () => ContextLease
  /** takes errors of work that no request waits for */
  readonly onError: (error: unknown) => void
}

/** What the methods need from the threads of consensus and of the network, without keeping these busy: reads are of copies. */
export interface CometNode {
  /** The state of the current height, at most about a second old; undefined while consensus does not run. */
  roundState(): Promise<RoundStateJson | undefined>
  /** at most about a second old */
  network(): Promise<NetInfo>
  /** @param evidence protobuf of tendermint.types.DuplicateVoteEvidence that was found valid; it may be known already */
  addEvidence(evidence: Uint8Array): void
}

/** Lowest block that is shown with its transactions: the head always is, also right after a restore, when no block has results yet. */
export function lowestBlock({ oldestBlock, headHeight }: Pick<CometChain, 'oldestBlock' | 'headHeight'>): number {
  return Math.max(1, Math.min(oldestBlock, headHeight))
}

/**
 * Lowest block whose header and commit are there: below {@link lowestBlock} where transactions were dropped, or the node began with a snapshot
 * (then some of them without validators, until it has fetched these).
 */
export function lowestHeader({ base }: Pick<CometChain, 'base'>): number {
  return Math.max(1, base)
}

/**
 * The height that a client asks for, by default the latest (rpc/core/env.go, getHeight).
 * @throws CometError when there is no such height yet, or it is no longer kept
 */
export function readHeight(height: bigint | undefined, latest: number, lowest: number): number {
  if (height === undefined) return latest
  if (height <= 0n) throw cometFailure(`height must be greater than 0, but got ${height}`)
  if (height > latest) {
    throw cometFailure(`height ${height} must be less than or equal to the current blockchain height ${latest}`)
  }
  if (height < lowest) throw heightUnavailable(Number(height), lowest)
  return Number(height)
}

export function heightUnavailable(height: number, lowest: number): Error {
  return cometFailure(`height ${height} is not available, lowest height is ${lowest}`)
}

/**
 * The height that a client asks for, where some light blocks are there also below the lowest header.
 * @throws CometError as {@link readHeight}; it names the next light block, with which a light client may go on
 */
export function readLightHeight(chain: CometChain, height: bigint | undefined, latest: number): number {
  const wanted = readHeight(height, latest, 1)
  const lowest = lowestHeader(chain)
  const next = chain.nextLightBlock(wanted)
  if (next === wanted) return wanted
  const also = next < lowest ? `, next light block is ${next}` : ''
  throw cometFailure(`height ${wanted} is not available, lowest height is ${lowest}${also}`)
}

const DEFAULT_PER_PAGE = 30
const MAX_PER_PAGE = 100

/** Where a page begins and ends among `total` (rpc/core/env.go, validatePage and validatePerPage). @throws CometError */
export function readPage(
  page: bigint | undefined,
  requestedPerPage: bigint | undefined,
  total: number,
): { readonly start: number; readonly end: number } {
  const perPage = readPerPage(requestedPerPage)
  const pages = Math.max(1, Math.ceil(total / perPage))
  if (page !== undefined && (page < 1n || page > pages)) {
    throw cometFailure(`page should be within [1, ${pages}] range, given ${page}`)
  }
  const start = (Number(page ?? 1n) - 1) * perPage
  return { start, end: Math.min(start + perPage, total) }
}

function readPerPage(requested: bigint | undefined): number {
  if (requested === undefined || requested < 1n) return DEFAULT_PER_PAGE
  return requested > MAX_PER_PAGE ? MAX_PER_PAGE : Number(requested)
}
