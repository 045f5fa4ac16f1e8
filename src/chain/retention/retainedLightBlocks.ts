import { concatBytes, equalBytes } from '../../primitives/bytes.ts'
import type { WriteBatch } from '../../storage/batch.ts'
import { Column, columnKey, HEIGHT_BYTES, heightBytes, readHeight } from '../../storage/columns.ts'
import { damagedIn } from '../../storage/damage.ts'
import type { KeyReader } from '../../storage/database.ts'
import type { ConsensusBlock } from '../comet/block.ts'
import { verifyCommitLightTrusting } from '../comet/commit.ts'
import { decodeLightBlock, encodeLightBlock, type LightBlock } from '../comet/lightBlock.ts'
import type { Commit, ValidatorSet } from '../comet/types.ts'
import { validatorSetHash } from '../comet/validatorSet.ts'

/*
 * Light blocks that a node retains permanently when it drops headers, so that a light client can
 * verify any later header with the light blocks of such nodes alone. The choice follows from the
 * blocks, so all nodes retain the same ones; a node that started from a snapshot does so from the
 * first multiple of 1,000 on.
 */

/** Light blocks at multiples of this height are retained. */
const RETAINED_INTERVAL = 1_000

const BOUNDS_KEY = columnKey(Column.chainMeta, new TextEncoder().encode('light'))

/** Returns the retained light block of a height, if its header was dropped. */
export function readRetainedLightBlock(db: KeyReader, height: number): LightBlock | undefined {
  const bytes = db.get(columnKey(Column.lightBlock, heightBytes(height)))
  return bytes && decodeLightBlock(bytes)
}

/**
 * Returns the lowest height from `height` on that {@link readRetainedLightBlock} has; undefined without
 * such a height.
 */
export function nextRetainedHeight(db: KeyReader, height: number): number | undefined {
  const bounds = readBounds(db)
  if (bounds === undefined || height > bounds.highest) return undefined
  if (height <= bounds.lowest) return bounds.lowest
  // The multiple of 1,000 after it stays, if it is not above the highest.
  const interval = intervalOf(height)
  const inInterval = readOffsets(db, interval).find((offset) => interval * RETAINED_INTERVAL + offset >= height)
  return inInterval === undefined ? (interval + 1) * RETAINED_INTERVAL : interval * RETAINED_INTERVAL + inInterval
}

/** Reads parts of blocks that are still there. */
interface KeptSource {
  /** is asked for the same block several times */
  readonly consensusBlock: (height: number) => ConsensusBlock | undefined
  readonly validatorSetAt: (height: number) => ValidatorSet | undefined
}

/**
 * Adds to a batch the retained light blocks of blocks whose headers are dropped, in the order of
 * their heights. A light block is retained
 *
 * - when it is the first one, and at each multiple of 1,000 ({@link RETAINED_INTERVAL}),
 * - when otherwise it or the next one could not be verified from the last retained one, because
 *   validators with a third of that one's power or less have signed it. So the block before a
 *   sudden change of the validators, which announces them, is retained too.
 */
export class LightBlockKeeper {
  readonly #db: KeyReader
  readonly #batch: WriteBatch
  readonly #source: KeptSource
  /** validators of the last retained light block; undefined before the first one */
  #last: { readonly validators: ValidatorSet; readonly hash: Uint8Array } | undefined
  #bounds: { readonly lowest: number; readonly highest: number } | undefined
  /** of the interval that was written to last */
  #offsets: { readonly interval: number; bytes: Uint8Array } | undefined

  constructor(db: KeyReader, batch: WriteBatch, source: KeptSource) {
    this.#db = db
    this.#batch = batch
    this.#source = source
    this.#bounds = readBounds(db)
    if (this.#bounds !== undefined) {
      const { highest } = this.#bounds
      const last = readRetainedLightBlock(db, highest)
      if (last === undefined) throw damagedIn(db, `the light block of ${highest} is missing`)
      this.#setLast(last.validators)
    }
  }

  /** Decides on the next height. The headers of the three heights after it are still there. */
  pass(height: number): void {
    // Blocks whose headers are dropped once more were decided on before.
    if (height === 0 || height <= (this.#bounds?.highest ?? 0)) return
    const isRetained = height % RETAINED_INTERVAL === 0 || !this.#isProvable(height) || !this.#isProvable(height + 1)
    if (isRetained) this.#keep(height)
  }

  /**
   * Whether the last retained light block proves this height for a light client that does not have
   * the previous height.
   */
  #isProvable(height: number): boolean {
    if (this.#last === undefined) return false
    const { validatorsHash, chainId } = this.#block(height).header
    // More than two thirds of the same validators signed it.
    if (equalBytes(validatorsHash, this.#last.hash)) return true
    // The signatures were verified when the block was decided.
    return verifyCommitLightTrusting(chainId, this.#last.validators, this.#commit(height), () => true).valid
  }

  #keep(height: number): void {
    const validators = this.#source.validatorSetAt(height)
    // A chain that started from a snapshot has no blocks before it.
    if (validators === undefined) return
    const block = { header: this.#block(height).header, commit: this.#commit(height), validators }
    const interval = intervalOf(height)
    if (this.#offsets?.interval !== interval) {
      const known = this.#db.get(indexKey(interval))
      this.#offsets = { interval, bytes: known ?? new Uint8Array() }
    }
    const offset = height % RETAINED_INTERVAL
    this.#offsets.bytes = concatBytes(this.#offsets.bytes, Uint8Array.of(offset >>> 8, offset))
    this.#batch.put(columnKey(Column.lightBlock, heightBytes(height)), encodeLightBlock(block))
    this.#batch.put(indexKey(interval), this.#offsets.bytes)
    this.#bounds = { lowest: this.#bounds?.lowest ?? height, highest: height }
    this.#batch.put(BOUNDS_KEY, concatBytes(heightBytes(this.#bounds.lowest), heightBytes(height)))
    this.#setLast(validators)
  }

  #setLast(validators: ValidatorSet): void {
    this.#last = { validators, hash: validatorSetHash(validators) }
  }

  #commit(height: number): Commit {
    return this.#block(height + 1).lastCommit
  }

  #block(height: number): ConsensusBlock {
    const block = this.#source.consensusBlock(height)
    if (block === undefined) throw damagedIn(this.#db, `block ${height} is missing`)
    return block
  }
}

function readBounds(db: KeyReader): { readonly lowest: number; readonly highest: number } | undefined {
  const bytes = db.get(BOUNDS_KEY)
  return bytes && { lowest: readHeight(bytes, 0), highest: readHeight(bytes, HEIGHT_BYTES) }
}

function intervalOf(height: number): number {
  return Math.floor(height / RETAINED_INTERVAL)
}

function indexKey(interval: number): Uint8Array {
  return columnKey(Column.lightBlockIndex, heightBytes(interval))
}

/** Ascending. */
function readOffsets(db: KeyReader, interval: number): readonly number[] {
  const bytes = db.get(indexKey(interval)) ?? new Uint8Array()
  return Array.from({ length: bytes.length / 2 }, (_, at) => (bytes[2 * at]! << 8) | bytes[2 * at + 1]!)
}
