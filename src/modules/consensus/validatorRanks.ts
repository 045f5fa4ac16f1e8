import type { RankedValidatorSet, ValidatorSet } from '../../chain/comet/types.ts'
import { validatorSetHash } from '../../chain/comet/validatorSet.ts'
import {
  isRecorded,
  type RankRecord,
  RECORD_INTERVAL,
  rankFields,
  rankRecordAt,
  ranksAt,
  readRankFields,
} from '../../chain/store/rankRecord.ts'
import { bytesToBigInt, equalBytes } from '../../primitives/bytes.ts'
import { decodeRLP, encodeRLP, type RLPItem } from '../../primitives/rlp.ts'
import type { NativeStore } from '../../state/world.ts'
import { moduleStoreKey } from '../storeKey.ts'

/*
 * Proposer priorities in the state. A consensus header commits to the validators, not to their priorities. A node that starts from a
 * snapshot needs those too, so they are an entry under the state root. It holds the newest two records: that of a change belongs to the
 * second block from now, and the next block still has the validators of the record before.
 */

/** RLP: height ‖ fields of the older record, then of the newer */
const RANKS_KEY = moduleStoreKey('consensus', new TextEncoder().encode('ValidatorRanks'))

/** The two blocks after the one whose state is meant, which has determined the validators of the second. */
interface NextSets<Set extends ValidatorSet> {
  readonly next: Set
  readonly afterNext: Set
}

/**
 * Writes the priorities that block `height` has determined, at its end. The first block that does,
 * or one that finds no records, writes the records of both blocks after it; a later one writes only
 * where the priorities do not follow from existing records.
 * @param enableHeight height of the first block that does, 0 for none
 * (`ChainConfig.validatorRanksHeight`)
 * @param isChanged members or powers of `afterNext` differ from `next`
 */
export function recordRanks(
  native: Pick<NativeStore, 'get' | 'set'>,
  enableHeight: number,
  {
    height,
    next,
    afterNext,
    isChanged,
  }: NextSets<RankedValidatorSet> & { readonly height: number; readonly isChanged: boolean },
): void {
  if (enableHeight === 0 || height < enableHeight) return
  const isFirst = height === enableHeight
  if (!isFirst && !isRecorded(height + 2, isChanged)) return
  const isWritten = !isFirst && native.get(RANKS_KEY) !== undefined
  const older = isWritten ? readRecords(native)[1] : rankRecordAt(height + 1, next)
  const newer = rankRecordAt(height + 2, afterNext)
  native.set(RANKS_KEY, encodeRLP([older, newer].map((record) => [BigInt(record.height), ...rankFields(record)])))
}

/**
 * Returns the validators of the two blocks after block `height` with their priorities, from the
 * state after that block.
 * @param sets without priorities: from headers that were verified
 * @throws Error when the state holds no priorities, or those of other validators
 */
export function ranksAfter(
  native: Pick<NativeStore, 'get'>,
  height: number,
  sets: NextSets<ValidatorSet>,
): NextSets<RankedValidatorSet> {
  const records = readRecords(native)
  const ranksOf = (at: number, set: ValidatorSet): RankedValidatorSet => {
    const record = records.findLast((found) => found.height <= at)
    if (
      record === undefined ||
      at - record.height >= RECORD_INTERVAL ||
      record.proposer >= set.validators.length ||
      record.priorities.length !== set.validators.length ||
      !equalBytes(record.hash, validatorSetHash(set))
    ) {
      throw new Error(
        `the state after block ${height} does not hold the proposer priorities of the validators of block ${at}`,
      )
    }
    return ranksAt(record, set, at)
  }
  return { next: ranksOf(height + 1, sets.next), afterNext: ranksOf(height + 2, sets.afterNext) }
}

function readRecords(native: Pick<NativeStore, 'get'>): readonly [older: RankRecord, newer: RankRecord] {
  const bytes = native.get(RANKS_KEY)
  if (bytes === undefined) {
    throw new Error(
      'the state holds no proposer priorities: those of a chain do from the height on that its genesis.json names in ' +
        'consensus.params.validator_ranks.enable_height',
    )
  }
  const [older, newer] = (decodeRLP(bytes) as readonly (readonly RLPItem[])[]).map(([height, ...fields]) =>
    readRankFields(Number(bytesToBigInt(height as Uint8Array)), fields),
  )
  return [older!, newer!]
}
