import {
  type BlockId,
  type Evidence,
  SIGNED_MESSAGE_TYPES,
  type Vote,
  type VoteType,
} from '../../../chain/comet/types.ts'
import { bytesToUpperHex, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import { CometParamError, fromBase64, int64 } from '../method.ts'
import { base64, blockIdJson, formatTime, parseTime } from './values.ts'

const DUPLICATE_VOTE = 'tendermint/DuplicateVoteEvidence'

/**
 * Formats types.DuplicateVoteEvidence with its type name, as Go writes an interface; three of its
 * fields have no JSON names in Go.
 */
export function evidenceJson({ voteA, voteB, totalVotingPower, validatorPower, timestampMs }: Evidence) {
  return {
    type: DUPLICATE_VOTE,
    value: {
      vote_a: voteJson(voteA),
      vote_b: voteJson(voteB),
      TotalVotingPower: totalVotingPower.toString(),
      ValidatorPower: validatorPower.toString(),
      Timestamp: formatTime(timestampMs),
    },
  }
}

/** Formats types.Vote; this chain does not use vote extensions. */
export function voteJson(vote: Vote) {
  return {
    type: vote.type,
    height: String(vote.height),
    round: vote.round,
    block_id: blockIdJson(vote.blockId),
    timestamp: formatTime(vote.timestampMs),
    validator_address: bytesToUpperHex(vote.validatorAddress),
    validator_index: vote.validatorIndex,
    signature: base64(vote.signature),
    extension: null,
    extension_signature: null,
  }
}

/**
 * Reads evidence written by {@link evidenceJson} or by CometBFT.
 * @throws CometParamError
 */
export function readEvidenceJson(json: unknown): Evidence {
  const { type, value } = fieldsOf(json, 'evidence')
  if (type === undefined) throw new CometParamError('interface type cannot be empty')
  if (type !== DUPLICATE_VOTE) throw new CometParamError(`unknown type ${JSON.stringify(type)}`)
  const { vote_a, vote_b, TotalVotingPower, ValidatorPower, Timestamp } = fieldsOf(value, 'value')
  return {
    kind: 'duplicateVote',
    voteA: readVote(vote_a, 'vote_a'),
    voteB: readVote(vote_b, 'vote_b'),
    totalVotingPower: int64.fromJson(TotalVotingPower) ?? 0n,
    validatorPower: int64.fromJson(ValidatorPower) ?? 0n,
    timestampMs: readTime(Timestamp, 'Timestamp'),
  }
}

function readVote(json: unknown, path: string): Vote {
  const vote = fieldsOf(json, path)
  return {
    type: readVoteType(vote.type, `${path}.type`),
    height: readNumber(vote.height, `${path}.height`, 1),
    round: readNumber(vote.round, `${path}.round`, 0),
    blockId: readBlockId(vote.block_id, `${path}.block_id`),
    timestampMs: readTime(vote.timestamp, `${path}.timestamp`),
    validatorAddress: readHex(vote.validator_address, `${path}.validator_address`),
    validatorIndex: readNumber(vote.validator_index, `${path}.validator_index`, 0),
    signature: typeof vote.signature === 'string' ? fromBase64(vote.signature) : EMPTY_BYTES,
  }
}

function readBlockId(json: unknown, path: string): BlockId {
  const { hash, parts } = fieldsOf(json, path)
  const { total, hash: partsHash } = fieldsOf(parts, `${path}.parts`)
  return {
    hash: readHex(hash, `${path}.hash`),
    partSetHeader: {
      total: readNumber(total, `${path}.parts.total`, 0),
      hash: readHex(partsHash, `${path}.parts.hash`),
    },
  }
}

function readVoteType(json: unknown, path: string): VoteType {
  if (json === SIGNED_MESSAGE_TYPES.prevote || json === SIGNED_MESSAGE_TYPES.precommit) return json
  throw new CometParamError(`${path}: expected 1 or 2`)
}

function readNumber(json: unknown, path: string, min: number): number {
  const value = Number(int64.fromJson(json) ?? Number.NaN)
  if (Number.isSafeInteger(value) && value >= min) return value
  throw new CometParamError(`${path}: expected a whole number from ${min}`)
}

function readTime(json: unknown, path: string): number {
  const timeMs = typeof json === 'string' ? parseTime(json) : undefined
  if (timeMs === undefined) throw new CometParamError(`${path}: expected a time in whole milliseconds`)
  return timeMs
}

function readHex(json: unknown, path: string): Uint8Array {
  if (typeof json !== 'string' || !/^(?:[0-9a-f]{2})*$/i.test(json)) throw new CometParamError(`${path}: expected hex`)
  return new Uint8Array(Buffer.from(json, 'hex'))
}

/** Reads the fields of an object. @throws CometParamError for other JSON */
export function fieldsOf(json: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as Record<string, unknown>
  throw new CometParamError(`${path}: expected an object`)
}
