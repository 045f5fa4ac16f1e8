import type { ChainReader } from '../../chain/store.ts'
import { cometFailure } from './table.ts'

/** The blocks that the methods show. */
export type CometChain = Pick<
  ChainReader,
  | 'headHeight'
  | 'hash'
  | 'header'
  | 'oldestBlock'
  | 'consensusBlock'
  | 'blockId'
  | 'seenCommit'
  | 'validatorsAt'
  | 'validatorSetAt'
  | 'heightOfConsensusHash'
>

/** Runs `read` on the newest published blocks. */
export type WithChain = <T>(read: (chain: CometChain) => T) => T

/** Lowest block that is kept with its transactions. */
export function lowestBlock({ oldestBlock }: Pick<CometChain, 'oldestBlock'>): number {
  return Math.max(1, oldestBlock)
}

/**
 * The height that a client asks for, by default the latest (rpc/core/env.go, getHeight).
 * @throws CometError when there is no such height (yet, any more)
 */
export function readHeight(height: bigint | undefined, latest: number, lowest: number): number {
  if (height === undefined) return latest
  if (height <= 0n) throw cometFailure(`height must be greater than 0, but got ${height}`)
  if (height > latest) {
    throw cometFailure(`height ${height} must be less than or equal to the current blockchain height ${latest}`)
  }
  if (height < lowest) throw notKept(Number(height), lowest)
  return Number(height)
}

export function notKept(height: number, lowest: number): Error {
  return cometFailure(`height ${height} is not available, lowest height is ${lowest}`)
}
