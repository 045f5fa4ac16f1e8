import { bytesToBigInt, concatBytes } from '../primitives/bytes.ts'
import { decodeRLP, encodeRLP } from '../primitives/rlp.ts'
import type { WriteBatch } from '../storage/batch.ts'
import { Column, columnKey, heightBytes } from '../storage/columns.ts'
import { damagedIn } from '../storage/damage.ts'
import type { KeyReader } from '../storage/database.ts'
import { ed25519Address } from './consensus/ed25519.ts'
import type { RankedValidatorSet, ValidatorSet } from './consensus/types.ts'
import { incrementPriorities, validatorSetHash } from './consensus/validatorSet.ts'

/**
 * Priorities are stored at every 64th height and where the set changes. Those in between are computed, one step a height. So most
 * blocks store nothing, and reading any height takes at most 63 steps.
 */
const SEGMENT = 64

/**
 * Adds the validators of block `height` to the batch of the block that determined them: the whole set when it differs from that of the
 * previous height; priorities in that case and at every {@link SEGMENT}th height; otherwise nothing. Heights must come in order.
 * @param db contains the earlier heights
 * @param isChanged members or powers differ from the previous height
 */
export function writeValidators(
  batch: WriteBatch,
  db: KeyReader,
  {
    height,
    set,
    isChanged,
  }: { readonly height: number; readonly set: RankedValidatorSet; readonly isChanged: boolean },
): void {
  if (!isChanged && height % SEGMENT !== 0) return
  const hash = validatorSetHash(set)
  if (isChanged) batch.put(columnKey(Column.validatorSet, hash), encodeSet(set))
  batch.put(columnKey(Column.proposerPriorities, heightBytes(height)), encodePriorities(hash, set))
  const indexKey = segmentKey(height)
  batch.put(indexKey, concatBytes(db.get(indexKey) ?? new Uint8Array(), Uint8Array.of(height % SEGMENT)))
}

/** Validators of block `height` with their priorities; undefined where nothing is stored. The caller bounds the height. */
export function readValidators(db: KeyReader, height: number): RankedValidatorSet | undefined {
  const stored = readPriorities(db, height)
  if (stored === undefined) return undefined
  let set: RankedValidatorSet = {
    ...readSet(db, stored.hash),
    priorities: stored.priorities,
    proposer: stored.proposer,
  }
  // Single steps, as the blocks made them: each begins with rescaling and centring.
  for (let at = stored.height; at < height; at++) set = incrementPriorities(set, 1)
  return set
}

/** The same without priorities: only a few reads. */
export function readValidatorSet(db: KeyReader, height: number): ValidatorSet | undefined {
  const stored = readPriorities(db, height)
  return stored && readSet(db, stored.hash)
}

interface StoredPriorities {
  /** height of the newest record up to the requested height */
  readonly height: number
  readonly hash: Uint8Array
  readonly proposer: number
  readonly priorities: readonly bigint[]
}

function readPriorities(db: KeyReader, height: number): StoredPriorities | undefined {
  const offset = db.get(segmentKey(height))?.findLast((offset) => offset <= height % SEGMENT)
  if (offset === undefined) return undefined
  const storedHeight = height - (height % SEGMENT) + offset
  const bytes = db.get(columnKey(Column.proposerPriorities, heightBytes(storedHeight)))
  if (bytes === undefined) throw damaged(db, height)
  const [hash, proposer, ...priorities] = decodeRLP(bytes) as Uint8Array[]
  return {
    height: storedHeight,
    hash: hash!,
    proposer: Number(bytesToBigInt(proposer!)),
    priorities: priorities.map((priority) => fromZigzag(bytesToBigInt(priority))),
  }
}

function readSet(db: KeyReader, hash: Uint8Array): ValidatorSet {
  const bytes = db.get(columnKey(Column.validatorSet, hash))
  if (bytes === undefined) throw damagedIn(db, 'a validator set is missing')
  const validators = (decodeRLP(bytes) as [Uint8Array, Uint8Array][]).map(([publicKey, power]) => ({
    address: ed25519Address(publicKey),
    publicKey,
    power: bytesToBigInt(power),
  }))
  return { validators, totalPower: validators.reduce((sum, { power }) => sum + power, 0n) }
}

function encodeSet({ validators }: ValidatorSet): Uint8Array {
  return encodeRLP(validators.map(({ publicKey, power }) => [publicKey, power]))
}

function encodePriorities(hash: Uint8Array, { proposer, priorities }: RankedValidatorSet): Uint8Array {
  return encodeRLP([hash, BigInt(proposer), ...priorities.map(toZigzag)])
}

/** Maps small numbers of either sign to small unsigned ones (protobuf's sint64). */
function toZigzag(value: bigint): bigint {
  return value >= 0n ? value << 1n : (-value << 1n) - 1n
}

function fromZigzag(value: bigint): bigint {
  return (value & 1n) === 0n ? value >> 1n : -((value + 1n) >> 1n)
}

function segmentKey(height: number): Uint8Array {
  return columnKey(Column.proposerPrioritiesIndex, heightBytes(Math.floor(height / SEGMENT)))
}

function damaged(db: KeyReader, height: number): Error {
  return damagedIn(db, `the validators of block ${height} are missing`)
}
