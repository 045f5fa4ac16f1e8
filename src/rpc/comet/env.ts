import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { MempoolPort } from '../../mempool/types.ts'
import type { NetInfo } from '../../p2p/netInfo.ts'
import type { ContextLease } from '../jsonrpc/runMethod.ts'
import type { SubmitPort } from '../submit/submitPort.ts'
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

/** The node's interfaces for methods that accept and show transactions. */
export interface CometMempool {
  readonly submissions: SubmitPort
  readonly pool: MempoolPort
  /** a context on the newest head */
  readonly lease: () => ContextLease
  /** takes errors of work that no request waits for */
  readonly onError: (error: unknown) => void
}

/**
 * Data of the consensus and network threads for the methods. Reads are of copies, so these threads
 * do no work for them.
 */
export interface CometNode {
  /**
   * Returns the state of the current height, at most about a second old; undefined while consensus
   * does not run.
   */
  roundState(): Promise<RoundStateJson | undefined>
  /** Returns the state of the network, at most about a second old. */
  network(): Promise<NetInfo>
  /**
   * @param evidence protobuf of tendermint.types.DuplicateVoteEvidence that was found valid; it may
   *   be known already
   */
  addEvidence(evidence: Uint8Array): void
}

/**
 * Returns the lowest block that is shown with its transactions. The head always is, even right
 * after a restore, when no block has results yet.
 */
export function lowestBlock({ oldestBlock, headHeight }: Pick<CometChain, 'oldestBlock' | 'headHeight'>): number {
  return Math.max(1, Math.min(oldestBlock, headHeight))
}

/**
 * Returns the lowest block whose header and commit are stored. It is below {@link lowestBlock}
 * where transactions were dropped, or when the node started from a snapshot (then some blocks lack
 * their validators until the node has fetched these).
 */
export function lowestHeader({ base }: Pick<CometChain, 'base'>): number {
  return Math.max(1, base)
}

/**
 * Returns the height that a client requests, by default the latest (rpc/core/env.go, getHeight).
 * @throws CometError when there is no such height yet, or it is not retained
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
 * Returns the height that a client requests, where some light blocks below the lowest header are
 * stored too.
 * @throws CometError as {@link readHeight}; its text names the next light block, from which a light
 *   client may continue
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

/**
 * Returns where a page begins and ends among `total` (rpc/core/env.go, validatePage and
 * validatePerPage).
 * @throws CometError
 */
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
