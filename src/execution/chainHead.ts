import type { EthereumHeader } from '../chain/block/ethereumBlock.ts'
import type { RankedValidatorSet, ValidatorSet } from '../chain/comet/types.ts'
import { createRankedSet, incrementPriorities, updateValidators } from '../chain/comet/validatorSet.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import type { HeadRecord } from '../chain/store/writeBlock.ts'
import type { ValidatorUpdate } from '../consensus/application.ts'
import type { Hash } from '../primitives/hash.ts'
import { damagedContents } from '../storage/damage.ts'

/** The newest published block, on which the next one builds. */
export interface ChainHead {
  readonly header: EthereumHeader
  /** keccak256(rlp(header)) */
  readonly hash: Hash
  /** consensus header hash; the genesis hash at height 0 */
  readonly consensusHash: Uint8Array
  /** consensus time, milliseconds since the epoch */
  readonly timeMs: number
  readonly record: HeadRecord
  readonly validators: HeadValidators
}

/** The validators of the newest block and of the two blocks after it. */
export interface HeadValidators {
  /** that signed it; at height 0 those of block 1 */
  readonly last: ValidatorSet
  /** of the next block */
  readonly next: RankedValidatorSet
  /** of the block after the next */
  readonly afterNext: RankedValidatorSet
}

/** Reads the head of a database that holds at least a genesis block. */
export function loadChainHead(
  reader: ChainReader,
  record: HeadRecord,
  genesis: { readonly genesisHash: Hash; readonly genesisTimeMs: number },
): ChainHead {
  const header = reader.header(record.height)
  const hash = reader.hash(record.height)
  if (header === undefined || hash === undefined) {
    throw damagedContents(`block ${record.height}, its newest, is missing`)
  }
  const { height } = record
  const last = reader.validatorSetAt(Math.max(height, 1))
  const next = reader.validatorsAt(height + 1)
  const afterNext = reader.validatorsAt(height + 2)
  if (last === undefined || next === undefined || afterNext === undefined) {
    throw new Error(`the database is damaged, or of an older version: it lacks the validators of block ${height + 1}`)
  }
  return {
    header,
    hash,
    consensusHash: record.decided?.blockId.hash ?? genesis.genesisHash,
    timeMs: reader.consensusBlock(record.height)?.header.timeMs ?? genesis.genesisTimeMs,
    record,
    validators: { last, next, afterNext },
  }
}

/**
 * Returns the validators at height 0, from those of the genesis (CometBFT state/state.go,
 * MakeGenesisState).
 */
export function genesisHeadValidators(
  validators: readonly { readonly publicKey: Uint8Array; readonly power: bigint }[],
): HeadValidators {
  const first = createRankedSet(validators)
  return { last: first, next: first, afterNext: incrementPriorities(first, 1) }
}

/**
 * Returns the updates that consensus can take: all of them, in any state that staking should make.
 * Where they are contradictory, one after another is tried, new powers first: each that fits is
 * accepted, so that no block ends in an error that every node has.
 */
export function acceptedUpdates(
  { afterNext }: Pick<HeadValidators, 'afterNext'>,
  updates: readonly ValidatorUpdate[],
): readonly ValidatorUpdate[] {
  const isPossible = (some: readonly ValidatorUpdate[]): boolean => {
    try {
      updateValidators(afterNext, some)
      return true
    } catch (error) {
      if (error instanceof TypeError) return false
      throw error
    }
  }
  if (isPossible(updates)) return updates
  const accepted: ValidatorUpdate[] = []
  for (const update of updates.toSorted((a, b) => Number(a.power === 0n) - Number(b.power === 0n))) {
    if (isPossible([...accepted, update])) accepted.push(update)
  }
  return accepted
}

/**
 * Returns the validators after one more block, whose execution returned `updates`. These take
 * effect two blocks later, because that block's header has already named the validators of the next
 * block (CometBFT state/execution.go, updateState).
 * @throws TypeError when the updates name a validator twice, remove an unknown one, or leave none or too much power
 */
export function advanceValidators(
  { next, afterNext }: HeadValidators,
  updates: readonly ValidatorUpdate[],
): HeadValidators {
  const updated = updates.length === 0 ? afterNext : updateValidators(afterNext, updates)
  return { last: next, next: afterNext, afterNext: incrementPriorities(updated, 1) }
}
