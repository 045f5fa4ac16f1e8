import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { RLPInput, RLPItem } from '../../primitives/rlp.ts'
import type { RankedValidatorSet, ValidatorSet } from '../comet/types.ts'
import { incrementPriorities, validatorSetHash } from '../comet/validatorSet.ts'

/** There is a record at least at every multiple of this height. So no more than 63 turns lead from a record to any height. */
export const RECORD_INTERVAL = 64

/**
 * The proposer priorities of one height. With the validator set they determine those of the
 * following heights, turn by turn, up to the next record. Each node stores records in its database
 * (src/chain/store/validatorRecords.ts), and in the state
 * (src/modules/consensus/validatorRanks.ts).
 */
export interface RankRecord {
  readonly height: number
  /** header.validators_hash of the set */
  readonly hash: Uint8Array
  /** position in the set */
  readonly proposer: number
  /** in the set's order */
  readonly priorities: readonly bigint[]
}

/**
 * Whether there is a record at `height`.
 * @param isChanged members or powers differ from the height before
 */
export function isRecorded(height: number, isChanged: boolean): boolean {
  return isChanged || height % RECORD_INTERVAL === 0
}

export function rankRecordAt(height: number, set: RankedValidatorSet): RankRecord {
  const { proposer, priorities } = set
  return { height, hash: validatorSetHash(set), proposer, priorities }
}

/** Returns the record without its height, as a list for RLP. */
export function rankFields({ hash, proposer, priorities }: Omit<RankRecord, 'height'>): readonly RLPInput[] {
  return [hash, BigInt(proposer), ...priorities.map(toZigzag)]
}

/** @param fields as {@link rankFields} made them */
export function readRankFields(height: number, fields: readonly RLPItem[]): RankRecord {
  const [hash, proposer, ...priorities] = fields as readonly Uint8Array[]
  return {
    height,
    hash: hash!,
    proposer: Number(bytesToBigInt(proposer!)),
    priorities: priorities.map((priority) => fromZigzag(bytesToBigInt(priority))),
  }
}

/**
 * Returns the validators of `height` with their priorities.
 * @param set whose hash the record has
 * @param height that of the record or a later one, before the next record
 */
export function ranksAt(record: RankRecord, set: ValidatorSet, height: number): RankedValidatorSet {
  const { validators, totalPower } = set
  const { priorities, proposer } = record
  let ranked: RankedValidatorSet = { validators, totalPower, priorities, proposer }
  // Single turns, as the blocks took them: each begins with rescaling and centring.
  for (let at = record.height; at < height; at++) ranked = incrementPriorities(ranked, 1)
  return ranked
}

/** Maps small numbers of either sign to small unsigned ones (protobuf's sint64). */
function toZigzag(value: bigint): bigint {
  return value >= 0n ? value << 1n : (-value << 1n) - 1n
}

function fromZigzag(value: bigint): bigint {
  return (value & 1n) === 0n ? value >> 1n : -((value + 1n) >> 1n)
}
