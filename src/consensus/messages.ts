import { decodePart, encodePart, PART_SIZE, type Part } from '../chain/comet/partSet.ts'
import type { Proposal, Vote } from '../chain/comet/types.ts'
import { decodeProposal, decodeVote, encodeProposal, encodeVote } from '../chain/comet/vote.ts'
import { ConsensusDecodingError, fail } from '../chain/comet/wire.ts'
import { toBuffer } from '../primitives/bytes.ts'
import { type BitSet, isCanonicalBitSet } from './bitSet.ts'
import { STEPS, type Step } from './roundStateView.ts'

/** A message on the consensus stream between two nodes. */
export type ConsensusMessage =
  | StatusMessage
  | { readonly kind: 'proposal'; readonly proposal: Proposal }
  | { readonly kind: 'part'; readonly height: number; readonly round: number; readonly part: Part }
  | { readonly kind: 'vote'; readonly vote: Vote }

/** A node's position and the messages that it has, so that its peers can send those that it lacks. */
export interface StatusMessage {
  readonly kind: 'status'
  readonly height: number
  readonly round: number
  readonly step: Step
  /** whether it has the round's proposal */
  readonly hasProposal: boolean
  /** the block whose parts it collects, and the parts that it has; undefined: no block */
  readonly parts: { readonly total: number; readonly hash: Uint8Array; readonly have: BitSet } | undefined
  /** votes of the round that it has, by validator index */
  readonly prevotes: BitSet
  readonly precommits: BitSet
  /**
   * round of the proof of lock that its proposal names, and that round's prevotes for the block
   * that it has; undefined: no proof
   */
  readonly pol: { readonly round: number; readonly prevotes: BitSet } | undefined
  /** votes of the previous height, in the round of its commit; undefined at the first height */
  readonly lastCommit: LastCommitStatus | undefined
  /** indices of this height's validators with which this node exchanges messages directly, itself included */
  readonly directValidators: BitSet
}

/** Which votes of the previous height's commit round a node has; the three sets have the same size. */
export interface LastCommitStatus {
  readonly round: number
  readonly precommits: BitSet
  /**
   * Validators from which it has a prevote, or a precommit, but not for the decided block. A node
   * that has such a validator's vote for the decided block sends it: the two votes are evidence.
   */
  readonly otherPrevotes: BitSet
  readonly otherPrecommits: BitSet
}

/** kind (1 byte) | height (6, big-endian) | body */
const HEADER_LENGTH = 7

const MAX_HEIGHT = 2 ** 48 - 1

/** CometBFT types/vote_set.go, MaxVotesCount: no validator set is larger. */
const MAX_VALIDATORS = 10_000
const MAX_SET_LENGTH = MAX_VALIDATORS / 8

/** CometBFT types/part_set.go, MaxBlockPartsCount: the parts of a block of 100 MB. */
const MAX_PARTS = 1601

const MAX_ROUND = 0x7fff_ffff
const HASH_LENGTH = 32

/** Bits of the flags: the first is a value, the others show which optional groups follow. */
const FLAGS = { hasProposal: 1, parts: 2, pol: 4, lastCommit: 8 } as const
const ALL_FLAGS = 15

/** Number of bytes before the bit sets of a status, and before the set of each optional group. */
const FIXED = { status: 8, parts: 2 + HASH_LENGTH, pol: 4, lastCommit: 6 } as const

/** The longest encoded status. */
const MAX_STATUS_LENGTH =
  FIXED.status + FIXED.parts + Math.ceil(MAX_PARTS / 8) + FIXED.pol + FIXED.lastCommit + 7 * MAX_SET_LENGTH

/** The number of each kind on the wire, and its longest body, which is checked before decoding. */
const KINDS = {
  status: { number: 1, maxBody: MAX_STATUS_LENGTH },
  // With all fields at their longest it has about 210 bytes.
  proposal: { number: 2, maxBody: 256 },
  // round (4), part, and a Merkle proof: 2 + 34 bytes for each of at most 20 aunts
  part: { number: 3, maxBody: 4 + PART_SIZE + 1024 },
  vote: { number: 4, maxBody: 256 },
} as const

export type MessageKind = keyof typeof KINDS

/** The longest encoded message; no frame of the consensus streams is longer. */
export const MAX_MESSAGE_LENGTH = HEADER_LENGTH + Math.max(...Object.values(KINDS).map(({ maxBody }) => maxBody))

/**
 * Returns the bytes of a message on the consensus stream.
 * @throws RangeError when the decoder would refuse a part for its size
 */
export function encodeConsensusMessage(message: ConsensusMessage): Uint8Array {
  const { number, maxBody } = KINDS[message.kind]
  const body = encodeBody(message)
  const height = messageHeight(message)
  if (body.length > maxBody || height > MAX_HEIGHT) throw new RangeError(`a ${message.kind} is too large to send`)
  const bytes = new Uint8Array(HEADER_LENGTH + body.length)
  bytes[0] = number
  writeHeight(bytes, height)
  bytes.set(body, HEADER_LENGTH)
  return bytes
}

/**
 * Decodes a message of {@link encodeConsensusMessage}; each message has only one encoding. Its byte strings are views of `bytes`.
 * Nothing is verified.
 * @throws ConsensusDecodingError
 */
export function decodeConsensusMessage(bytes: Uint8Array): ConsensusMessage {
  const { kind, height } = peekMessage(bytes)
  const message = decodeBody(kind, height, bytes.subarray(HEADER_LENGTH))
  if (messageHeight(message) !== height) fail(`a ${kind} names two heights`)
  return message
}

/**
 * Returns the kind and height of an encoded message, so that it can be dropped before it is
 * decoded.
 * @throws ConsensusDecodingError when the kind is unknown, or the message is longer than its kind allows
 */
export function peekMessage(bytes: Uint8Array): { readonly kind: MessageKind; readonly height: number } {
  if (bytes.length < HEADER_LENGTH) throw new ConsensusDecodingError(`${bytes.length} bytes are not a message`)
  const kind = kindOf(bytes[0]!)
  const bodyLength = bytes.length - HEADER_LENGTH
  if (bodyLength > KINDS[kind].maxBody) fail(`a ${kind} has ${bodyLength} bytes`)
  const height = readHeight(bytes)
  if (height < 1) fail(`a ${kind} has height ${height}`)
  return { kind, height }
}

function kindOf(number: number): MessageKind {
  switch (number) {
    case KINDS.status.number:
      return 'status'
    case KINDS.proposal.number:
      return 'proposal'
    case KINDS.part.number:
      return 'part'
    case KINDS.vote.number:
      return 'vote'
    default:
      return fail(`${number} is not a kind of message`)
  }
}

/** Returns the height that a message is about. */
export function messageHeight(message: ConsensusMessage): number {
  switch (message.kind) {
    case 'status':
    case 'part':
      return message.height
    case 'proposal':
      return message.proposal.height
    case 'vote':
      return message.vote.height
  }
}

function encodeBody(message: ConsensusMessage): Uint8Array {
  switch (message.kind) {
    case 'status':
      return encodeStatus(message)
    case 'proposal':
      return encodeProposal(message.proposal)
    case 'vote':
      return encodeVote(message.vote)
    case 'part': {
      const part = encodePart(message.part)
      const body = new Uint8Array(4 + part.length)
      toBuffer(body).writeUInt32BE(message.round)
      body.set(part, 4)
      return body
    }
  }
}

function decodeBody(kind: MessageKind, height: number, body: Uint8Array): ConsensusMessage {
  switch (kind) {
    case 'status':
      return decodeStatus(height, body)
    case 'proposal':
      return { kind, proposal: decodeProposal(body) }
    case 'vote':
      return { kind, vote: decodeVote(body) }
    case 'part': {
      if (body.length < 4) return fail('a part has no round')
      const round = toBuffer(body).readUInt32BE()
      if (round > 0x7fff_ffff) fail(`round ${round} is out of range`)
      return { kind, height, round, part: decodePart(body.subarray(4)) }
    }
  }
}

function writeHeight(bytes: Uint8Array, height: number): void {
  let rest = height
  for (let at = 6; at >= 1; at--) {
    bytes[at] = rest % 256
    rest = Math.floor(rest / 256)
  }
}

function readHeight(bytes: Uint8Array): number {
  let height = 0
  for (let at = 1; at <= 6; at++) height = height * 256 + bytes[at]!
  return height
}

/**
 * Encodes a status without its height: round u32 | step u8 | flags u8 | validators u16 | prevotes |
 * precommits | direct validators | parts: total u16, hash, bits | proof of lock: round u32,
 * prevotes | last commit: round u32, validators u16, precommits, other prevotes, other precommits.
 * Integers are big-endian; a set takes as many bytes as its size needs. The flags show which of the
 * last three groups are present.
 * @throws RangeError when the sets of the same validators, or the number and set of parts, differ in size
 */
export function encodeStatus(status: StatusMessage): Uint8Array {
  const { prevotes, precommits, directValidators, parts, pol, lastCommit } = status
  const { size } = prevotes
  if (precommits.size !== size || directValidators.size !== size || (pol?.prevotes.size ?? size) !== size) {
    throw new RangeError('sets of one status differ in size')
  }
  const last = lastCommit && [lastCommit.precommits, lastCommit.otherPrevotes, lastCommit.otherPrecommits]
  if (last?.some((set) => set.size !== lastCommit!.precommits.size)) {
    throw new RangeError('sets of a last commit differ in size')
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
    for (const set of last!) put(set.bytes)
  }
  return bytes
}

function encodedLength({ prevotes, parts, pol, lastCommit }: StatusMessage): number {
  const setLength = prevotes.bytes.length
  let length = FIXED.status + 3 * setLength
  if (parts !== undefined) length += FIXED.parts + parts.have.bytes.length
  if (pol !== undefined) length += FIXED.pol + setLength
  if (lastCommit !== undefined) length += FIXED.lastCommit + 3 * lastCommit.precommits.bytes.length
  return length
}

/**
 * Decodes a status of {@link encodeStatus}; sets and hash are views of `bytes`.
 * @throws ConsensusDecodingError when the bytes are not a valid status
 */
function decodeStatus(height: number, bytes: Uint8Array): StatusMessage {
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

function readLastCommit(reader: StatusReader): LastCommitStatus {
  const round = reader.round()
  const size = reader.count(MAX_VALIDATORS, 'validators')
  const precommits = reader.bits(size)
  return { round, precommits, otherPrevotes: reader.bits(size), otherPrecommits: reader.bits(size) }
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

  /** Reads a count of at least one. */
  count(maximum: number, what: string): number {
    const count = this.uint(2)
    return count >= 1 && count <= maximum ? count : fail(`a status has ${count} ${what}`)
  }

  bits(size: number): BitSet {
    const set = { size, bytes: this.bytes(Math.ceil(size / 8)) }
    return isCanonicalBitSet(set) ? set : fail('a set has bits that it has no room for')
  }
}
