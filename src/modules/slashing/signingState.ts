import type { ReadContext } from '../context.ts'
import { getValidatorByConsensus } from '../staking/validators.ts'
import { maxMissed, SLASHING_PARAMS } from './params.ts'
import { getSigningRecord, missedCount, windowIndex } from './signingInfo.ts'

/** One validator's signing by the state, in numbers for metrics. */
export interface SigningState {
  /** whether a validator has one of the keys */
  readonly isKnown: boolean
  readonly isJailed: boolean
  /** whether one of the keys has signed twice */
  readonly isTombstoned: boolean
  /** blocks that it missed in its window */
  readonly missed: number
  /** blocks of a window */
  readonly window: number
  /** missed blocks that jail it when there are more */
  readonly missedLimit: number
  /** place of the newest block in the window */
  readonly position: number
}

/**
 * Returns the signing state of the validator with one of these keys; there are two while it rotates
 * its key. Reads a few entries.
 * @param addresses consensus addresses
 */
export function signingStateOf({ world, block }: ReadContext, addresses: readonly Uint8Array[]): SigningState {
  const { native } = world
  const params = SLASHING_PARAMS.get(native)
  const records = addresses.map((address) => getSigningRecord(native, address))
  const own = addresses.find((address) => getValidatorByConsensus(native, address) !== undefined)
  const record = own && getSigningRecord(native, own)
  return {
    isKnown: own !== undefined,
    isJailed: own !== undefined && getValidatorByConsensus(native, own)!.jailed,
    isTombstoned: records.some((found) => found?.tombstoned === true),
    missed: own === undefined ? 0 : missedCount(native, own),
    window: Number(params.signedBlocksWindow),
    missedLimit: Number(maxMissed(params)),
    position: record === undefined ? 0 : windowIndex(record, block.height, params.signedBlocksWindow),
  }
}
