import { fail } from '../chain/consensus/wire.ts'
import { toBuffer } from '../primitives/bytes.ts'
import { isCanonicalBitSet } from './bitSet.ts'
import { STEPS, type Step } from './input.ts'
import type { BitSet, StatusMessage } from './message.ts'

/** CometBFT types/vote_set.go, MaxVotesCount: no validator set is larger. */
const MAX_VALIDATORS = 10_000
const MAX_SET_LENGTH = MAX_VALIDATORS / 8

/** CometBFT types/part_set.go, MaxBlockPartsCount: the parts of a block of 100 MB. */
const MAX_PARTS = 1601

const MAX_ROUND = 0x7fff_ffff
const HASH_LENGTH = 32

/** The first is a value of its own, the others say which groups follow. */
const FLAGS = { hasProposal: 1, parts: 2, pol: 4, lastCommit: 8 } as const
const ALL_FLAGS = 15

/** Bytes before the sets, and before the set of each optional group. */
const FIXED = { status: 8, parts: 2 + HASH_LENGTH, pol: 4, lastCommit: 6 } as const

/** Of an encoded status. */
export const MAX_STATUS_LENGTH =
  FIXED.status + FIXED.parts + Math.ceil(MAX_PARTS / 8) + FIXED.pol + FIXED.lastCommit + 5 * MAX_SET_LENGTH

/**
 * A status without its height: round u32 | step u8 | flags u8 | validators u16 | prevotes | precommits | direct validators
 * | parts: total u16, hash, bits | proof of lock: round u32, prevotes | last commit: round u32, validators u16, precommits.
 * Integers are big-endian; a set takes as many bytes as its size needs. The flags say which of the last three are there.
 * @throws RangeError when sets of the same validators, or number and set of parts, differ in size
 */
export function encodeStatus(status: StatusMessage): Uint8Array {
  const { prevotes, precommits, directValidators, parts, pol, lastCommit } = status
  const { size } = prevotes
  if (precommits.size !== size || directValidators.size !== size || (pol?.prevotes.size ?? size) !== size) {
    throw new RangeError('sets of one status differ in size')
  }
  if (parts !== undefined && parts.have.size !== parts.total) throw new RangeError('parts of a status are miscounted')
  const bytes = new Uint8Array(encodedLength(status))
  const buffer = toBuffer(bytes)
  const flags =
    (status.hasProposal ? FLAGS.hasProposal : 0) |
    (parts === undefined ? 0 : FLAGS.parts) |
    (pol === undefined ? 0 : FLAGS.pol) |
    (lastCommit === undefined ? 0 : FLAGS.lastCommit)
  let at = buffer.writeUInt32BE(status.round)
  at = buffer.writeUInt8(status.step, at)
  at = buffer.writeUInt8(flags, at)
  at = buffer.writeUInt16BE(size, at)
  const put = (part: Uint8Array): void => {
    bytes.set(part, at)
    at += part.length
  }
  put(prevotes.bytes)
  put(precommits.bytes)
  put(directValidators.bytes)
  if (parts !== undefined) {
    at = buffer.writeUInt16BE(parts.total, at)
    put(parts.hash)
    put(parts.have.bytes)
  }
  if (pol !== undefined) {
    at = buffer.writeUInt32BE(pol.round, at)
    put(pol.prevotes.bytes)
  }
  if (lastCommit !== undefined) {
    at = buffer.writeUInt32BE(lastCommit.round, at)
    at = buffer.writeUInt16BE(lastCommit.precommits.size, at)
    put(lastCommit.precommits.bytes)
  }
  return bytes
}

function encodedLength({ prevotes, parts, pol, lastCommit }: StatusMessage): number {
  const setLength = prevotes.bytes.length
  let length = FIXED.status + 3 * setLength
  if (parts !== undefined) length += FIXED.parts + parts.have.bytes.length
  if (pol !== undefined) length += FIXED.pol + setLength
  if (lastCommit !== undefined) length += FIXED.lastCommit + lastCommit.precommits.bytes.length
  return length
}

/**
 * What {@link encodeStatus} encoded; sets and hash are views on `bytes`.
 * @throws ConsensusDecodingError when it is anything else
 */
export function decodeStatus(height: number, bytes: Uint8Array): StatusMessage {
  const reader = new StatusReader(bytes)
  const round = reader.round()
  const step = toStep(reader.uint(1))
  const flags = reader.uint(1)
  if (flags > ALL_FLAGS) fail(`flags of a status are ${flags}`)
  const validators = reader.count(MAX_VALIDATORS, 'validators')
  const status: StatusMessage = {
    kind: 'status',
    height,
    round,
    step,
    hasProposal: (flags & FLAGS.hasProposal) !== 0,
    prevotes: reader.bits(validators),
    precommits: reader.bits(validators),
    directValidators: reader.bits(validators),
    parts: (flags & FLAGS.parts) === 0 ? undefined : readParts(reader),
    pol: (flags & FLAGS.pol) === 0 ? undefined : { round: reader.round(), prevotes: reader.bits(validators) },
    lastCommit: (flags & FLAGS.lastCommit) === 0 ? undefined : readLastCommit(reader),
  }
  if (status.pol !== undefined && status.pol.round >= round) fail('a proof of lock is not of an earlier round')
  if (reader.at !== bytes.length) fail('bytes follow a status')
  return status
}

function readParts(reader: StatusReader): NonNullable<StatusMessage['parts']> {
  const total = reader.count(MAX_PARTS, 'parts')
  return { total, hash: reader.bytes(HASH_LENGTH), have: reader.bits(total) }
}

function readLastCommit(reader: StatusReader): NonNullable<StatusMessage['lastCommit']> {
  const round = reader.round()
  return { round, precommits: reader.bits(reader.count(MAX_VALIDATORS, 'validators')) }
}

function toStep(step: number): Step {
  return step >= STEPS.newHeight && step <= STEPS.commit ? (step as Step) : fail(`there is no step ${step}`)
}

class StatusReader {
  readonly #bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  bytes(length: number): Uint8Array {
    const end = this.at + length
    if (end > this.#bytes.length) fail('a status is cut off')
    const bytes = this.#bytes.subarray(this.at, end)
    this.at = end
    return bytes
  }

  uint(length: number): number {
    let value = 0
    for (const byte of this.bytes(length)) value = value * 256 + byte
    return value
  }

  round(): number {
    const round = this.uint(4)
    return round <= MAX_ROUND ? round : fail(`round ${round} is out of range`)
  }

  /** How many of something there are: at least one. */
  count(maximum: number, what: string): number {
    const count = this.uint(2)
    return count >= 1 && count <= maximum ? count : fail(`a status has ${count} ${what}`)
  }

  bits(size: number): BitSet {
    const set = { size, bytes: this.bytes(Math.ceil(size / 8)) }
    return isCanonicalBitSet(set) ? set : fail('a set has bits that it has no room for')
  }
}
