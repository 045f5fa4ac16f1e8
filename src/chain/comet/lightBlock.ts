import { equalBytes } from '../../primitives/bytes.ts'
import { type VerifySignature, verifyEd25519 } from '../../primitives/ed25519.ts'
import type { ProtobufFields, ProtobufWriter } from '../../primitives/protobuf.ts'
import { BLOCK_PROTOCOL, type ConsensusHeader, HEADER_CODEC, headerHash } from './block.ts'
import { COMMIT_CODEC, verifyCommit } from './commit.ts'
import type { Commit, Validator, ValidatorSet } from './types.ts'
import { createValidatorSet, validatorSetHash, writePublicKey } from './validatorSet.ts'
import { decodeMessage, encodeMessage, fail, type MessageCodec, toSized } from './wire.ts'

/** The parts of a block that a light client needs to check that its validators decided it. */
export interface LightBlock {
  readonly header: ConsensusHeader
  /** for this header */
  readonly commit: Commit
  /**
   * validators of the header's height, without proposer and priorities: no hash covers these, so
   * they could not be checked
   */
  readonly validators: ValidatorSet
}

/** CometBFT types/vote_set.go, MaxVotesCount */
export const MAX_LIGHT_BLOCK_VALIDATORS = 10_000

/** More than the longest encoding has: about 700 bytes, and 180 for each validator. */
const MAX_LIGHT_BLOCK_BYTES = 2 << 20

/**
 * Returns the Protobuf bytes of tendermint.types.LightBlock, without proposer, priorities and total
 * power.
 */
export function encodeLightBlock(block: LightBlock): Uint8Array {
  return encodeMessage(LIGHT_BLOCK_CODEC, block)
}

/**
 * Reads a light block that {@link encodeLightBlock} wrote. Other fields of CometBFT's messages are
 * refused, since a light block that is passed from node to node must have one encoding.
 * {@link checkLightBlock} checks whether its parts belong together.
 * @throws ConsensusDecodingError
 */
export function decodeLightBlock(bytes: Uint8Array): LightBlock {
  if (bytes.length > MAX_LIGHT_BLOCK_BYTES) fail(`light block: ${bytes.length} bytes are over ${MAX_LIGHT_BLOCK_BYTES}`)
  return decodeMessage(LIGHT_BLOCK_CODEC, bytes)
}

/**
 * Returns why header, commit and validators do not belong together, or are of another chain;
 * undefined when they do. No signature is checked (CometBFT types/light.go, ValidateBasic).
 */
export function checkLightBlock({ header, commit, validators }: LightBlock, chainId: string): string | undefined {
  if (header.chainId !== chainId) return `the header is of the chain ${JSON.stringify(header.chainId)}, not ${chainId}`
  if (header.version.block !== BLOCK_PROTOCOL) return `the header has block protocol ${header.version.block}, not 11`
  if (commit.height !== header.height) return `the commit is for height ${commit.height}, the header ${header.height}`
  if (!equalBytes(commit.blockId.hash, headerHash(header))) return 'the commit is for another header'
  if (!equalBytes(header.validatorsHash, validatorSetHash(validators)))
    return 'the validators are not those of the header'
  return undefined
}

/**
 * Returns why a light block does not prove that its own validators decided it; undefined when it
 * does: its parts belong together ({@link checkLightBlock}), more than two thirds of the power
 * signed it, and every other signature is valid too. Whether these are the chain's validators is
 * another question, which a light client answers.
 */
export function verifyLightBlock(
  block: LightBlock,
  chainId: string,
  verify: VerifySignature = verifyEd25519,
): string | undefined {
  const problem = checkLightBlock(block, chainId)
  if (problem !== undefined) return problem
  const { header, commit, validators } = block
  const verdict = verifyCommit({ chainId, height: header.height, blockId: commit.blockId, validators }, commit, verify)
  return verdict.valid ? undefined : verdict.reason
}

/** tendermint.types.LightBlock */
const LIGHT_BLOCK_CODEC: MessageCodec<LightBlock> = {
  name: 'light block',
  write: (writer, block) => writer.message(1, writeSignedHeader, block).message(2, writeValidatorSet, block.validators),
  read: (fields) => ({
    ...fields.message(1, readSignedHeader),
    validators: fields.message(2, readValidatorSet),
  }),
}

type SignedHeader = Pick<LightBlock, 'header' | 'commit'>

/** Writes tendermint.types.SignedHeader. */
function writeSignedHeader(writer: ProtobufWriter, { header, commit }: SignedHeader): void {
  writer.message(1, HEADER_CODEC.write, header).message(2, COMMIT_CODEC.write, commit)
}

function readSignedHeader(fields: ProtobufFields): SignedHeader {
  return { header: fields.message(1, HEADER_CODEC.read), commit: fields.message(2, COMMIT_CODEC.read) }
}

/**
 * Returns the Protobuf bytes of tendermint.types.ValidatorSet, without proposer, priorities and
 * total power.
 */
export function encodeValidatorSet(set: ValidatorSet): Uint8Array {
  return encodeMessage(VALIDATOR_SET_CODEC, set)
}

/** @throws ConsensusDecodingError */
export function decodeValidatorSet(bytes: Uint8Array): ValidatorSet {
  return decodeMessage(VALIDATOR_SET_CODEC, bytes)
}

/** tendermint.types.ValidatorSet */
const VALIDATOR_SET_CODEC: MessageCodec<ValidatorSet> = {
  name: 'validator set',
  write: writeValidatorSet,
  read: readValidatorSet,
}

function writeValidatorSet(writer: ProtobufWriter, { validators }: ValidatorSet): void {
  writer.repeatedMessage(1, writeValidator, validators)
}

function readValidatorSet(fields: ProtobufFields): ValidatorSet {
  const entries = fields.repeatedBytes(1)
  if (entries.length > MAX_LIGHT_BLOCK_VALIDATORS) fail(`there are ${entries.length} validators`)
  const validators = fields.repeatedMessage(1, readValidator)
  try {
    return createValidatorSet(validators)
  } catch (error) {
    // Too few, named twice, or a power that is out of range.
    if (error instanceof TypeError) return fail(error.message)
    throw error
  }
}

/** Writes tendermint.types.Validator. */
function writeValidator(writer: ProtobufWriter, { address, publicKey, power }: Validator): void {
  writer.bytes(1, address).message(2, writePublicKey, publicKey).varint(3, power)
}

/** The address follows from the key. */
function readValidator(fields: ProtobufFields): Pick<Validator, 'publicKey' | 'power'> {
  return {
    publicKey: fields.message(2, (key) => toSized(key.bytes(1), 32, 'public key')),
    power: fields.integer(3),
  }
}
