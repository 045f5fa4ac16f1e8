import { decodePart, encodePart, PART_SIZE } from '../chain/consensus/partSet.ts'
import { decodeProposal, decodeVote, encodeProposal, encodeVote } from '../chain/consensus/vote.ts'
import { ConsensusDecodingError, fail } from '../chain/consensus/wire.ts'
import { toBuffer } from '../primitives/bytes.ts'
import type { ConsensusMessage } from './message.ts'
import { decodeStatus, encodeStatus, MAX_STATUS_LENGTH } from './statusCodec.ts'

/** kind (1 byte) | height (6, big-endian) | body */
const HEADER_LENGTH = 7

const MAX_HEIGHT = 2 ** 48 - 1

/** Wire numbers of the kinds, and how long a body can be: checked before anything of it is decoded. */
const KINDS = {
  status: { number: 1, maxBody: MAX_STATUS_LENGTH },
  // All fields at their longest are some 210 bytes.
  proposal: { number: 2, maxBody: 256 },
  // round (4), part, and a Merkle proof: 2 + 34 bytes for each of at most 20 aunts
  part: { number: 3, maxBody: 4 + PART_SIZE + 1024 },
  vote: { number: 4, maxBody: 256 },
} as const

export type MessageKind = keyof typeof KINDS

/** Of an encoded message; no frame of the consensus stream is longer. */
export const MAX_MESSAGE_LENGTH = HEADER_LENGTH + Math.max(...Object.values(KINDS).map(({ maxBody }) => maxBody))

/**
 * The bytes of a message on the consensus stream.
 * @throws RangeError when it holds something that the decoder would refuse for its size
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
 * What {@link encodeConsensusMessage} encoded; a message has one encoding. Byte strings in it are views on `bytes`.
 * Nothing of it is verified.
 * @throws ConsensusDecodingError
 */
export function decodeConsensusMessage(bytes: Uint8Array): ConsensusMessage {
  const { kind, height } = peekMessage(bytes)
  const message = decodeBody(kind, height, bytes.subarray(HEADER_LENGTH))
  if (messageHeight(message) !== height) fail(`a ${kind} names two heights`)
  return message
}

/**
 * Kind and height, which decide what becomes of a message, without decoding it.
 * @throws ConsensusDecodingError when it is of no kind, or longer than its kind can be
 */
export function peekMessage(bytes: Uint8Array): { readonly kind: MessageKind; readonly height: number } {
  if (bytes.length < HEADER_LENGTH) throw new ConsensusDecodingError(`${bytes.length} bytes are no message`)
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
      return fail(`${number} is no kind of message`)
  }
}

/** The height that a message is about. */
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
