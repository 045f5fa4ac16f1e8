import { createHash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { BinaryWriter } from 'cosmjs-types/binary'
import { Timestamp } from 'cosmjs-types/google/protobuf/timestamp'
import { BlockID, SignedMsgType } from 'cosmjs-types/tendermint/types/types'
import { SimpleValidator } from 'cosmjs-types/tendermint/types/validator'
import { Consensus } from 'cosmjs-types/tendermint/version/types'

/**
 * A light client of CometBFT 0.38, written from its specification (spec/light-client, light/verifier.go, types/{block,validation,
 * validator_set}.go) with none of the node's code: formats by cosmjs-types, signatures by @noble/curves, hashes by Node.js.
 */

/** Answers of /rpc/commit and /rpc/validators for one height. */
export interface LightBlock {
  readonly commit: CommitAnswer
  readonly validators: ValidatorsAnswer
}

export interface CommitAnswer {
  readonly signed_header: { readonly header: HeaderJson; readonly commit: CommitJson }
  readonly canonical: boolean
}

export interface ValidatorsAnswer {
  readonly block_height: string
  readonly validators: readonly ValidatorJson[]
  readonly total: string
}

interface BlockIdJson {
  readonly hash: string
  readonly parts: { readonly total: number; readonly hash: string }
}

interface HeaderJson {
  readonly version: { readonly block: string; readonly app?: string }
  readonly chain_id: string
  readonly height: string
  readonly time: string
  readonly last_block_id: BlockIdJson
  readonly last_commit_hash: string
  readonly data_hash: string
  readonly validators_hash: string
  readonly next_validators_hash: string
  readonly consensus_hash: string
  readonly app_hash: string
  readonly last_results_hash: string
  readonly evidence_hash: string
  readonly proposer_address: string
}

interface CommitJson {
  readonly height: string
  readonly round: number
  readonly block_id: BlockIdJson
  readonly signatures: readonly {
    readonly block_id_flag: number
    readonly validator_address: string
    readonly timestamp: string
    readonly signature: string | null
  }[]
}

interface ValidatorJson {
  readonly address: string
  readonly pub_key: { readonly type: string; readonly value: string }
  readonly voting_power: string
}

const FLAG_COMMIT = 2

/** @throws Error when the header was not decided by the validators shown (light/verifier.go: what every block must fulfil) */
export function verifyBlock({ commit: { signed_header }, validators }: LightBlock): void {
  const { header, commit } = signed_header
  require(commit.height === header.height, 'the commit is for another height')
  require(commit.block_id.hash === hex(headerHash(header)), 'the commit is for another header')
  require(header.validators_hash === hex(validatorsHash(validators.validators)), 'these are not the validators')
  const signed = signedPower(signed_header, validators.validators, (index) => validators.validators[index])
  require(signed * 3n > totalPower(validators) * 2n, `only ${signed} of ${totalPower(validators)} signed`)
}

/** @throws Error when `next`, of the height after, does not follow from `trusted` (VerifyAdjacent) */
export function verifyAdjacent(trusted: LightBlock, next: LightBlock): void {
  verifyOrder(trusted, next)
  const expected = trusted.commit.signed_header.header.next_validators_hash
  require(next.commit.signed_header.header.validators_hash === expected, 'the validators are not the announced ones')
  verifyBlock(next)
}

/** @throws Error when not more than a third of the trusted power has signed `later` (VerifyNonAdjacent) */
export function verifySkipping(trusted: LightBlock, later: LightBlock): void {
  verifyOrder(trusted, later)
  const known = new Map(trusted.validators.validators.map((validator) => [validator.address, validator]))
  const signed = signedPower(later.commit.signed_header, later.validators.validators, (_, address) =>
    known.get(address),
  )
  require(signed * 3n > totalPower(trusted.validators), `only ${signed} of the trusted power signed`)
  verifyBlock(later)
}

/** Types header hash: the Merkle root over its fields as protobuf. */
function headerHash(header: HeaderJson): Uint8Array {
  // google.protobuf.{BytesValue,StringValue,Int64Value}
  const bytes = (text: string): Uint8Array => (text === '' ? new Uint8Array() : field(1, 2).bytes(unhex(text)).finish())
  return merkleRoot([
    Consensus.encode({ block: BigInt(header.version.block), app: BigInt(header.version.app ?? 0) }).finish(),
    field(1, 2).string(header.chain_id).finish(),
    field(1, 0).int64(BigInt(header.height)).finish(),
    Timestamp.encode(timestamp(header.time)).finish(),
    BlockID.encode(blockId(header.last_block_id)).finish(),
    bytes(header.last_commit_hash),
    bytes(header.data_hash),
    bytes(header.validators_hash),
    bytes(header.next_validators_hash),
    bytes(header.consensus_hash),
    bytes(header.app_hash),
    bytes(header.last_results_hash),
    bytes(header.evidence_hash),
    bytes(header.proposer_address),
  ])
}

function validatorsHash(validators: readonly ValidatorJson[]): Uint8Array {
  return merkleRoot(
    validators.map(({ pub_key, voting_power }) =>
      SimpleValidator.encode({
        pubKey: { ed25519: Buffer.from(pub_key.value, 'base64') },
        votingPower: BigInt(voting_power),
      }).finish(),
    ),
  )
}

/** Voting power that signed the block; a wrong signature for it is an error. `find` says whose power counts. */
function signedPower(
  { header, commit }: CommitAnswer['signed_header'],
  validators: readonly ValidatorJson[],
  find: (index: number, address: string) => ValidatorJson | undefined,
): bigint {
  require(commit.signatures.length === validators.length, 'another number of signatures than of validators')
  let power = 0n
  for (const [index, { block_id_flag, validator_address, timestamp: time, signature }] of commit.signatures.entries()) {
    if (block_id_flag !== FLAG_COMMIT) continue
    const validator = find(index, validator_address)
    if (validator === undefined) continue
    require(validator.address === validator_address, `signature ${index} is of another validator`)
    const publicKey = Buffer.from(validator.pub_key.value, 'base64')
    require(validator.address === hex(sha256(publicKey).subarray(0, 20)), `address ${index} is not of its key`)
    const message = new BinaryWriter().bytes(canonicalVote(commit, time, header.chain_id)).finish()
    const isValid = ed25519.verify(Buffer.from(signature ?? '', 'base64'), message, publicKey)
    require(isValid, `signature ${index} is wrong`)
    power += BigInt(validator.voting_power)
  }
  return power
}

/** tendermint.types.CanonicalVote of a precommit for the commit's block */
function canonicalVote(commit: CommitJson, time: string, chainId: string): Uint8Array {
  const writer = field(1, 0).int32(SignedMsgType.SIGNED_MSG_TYPE_PRECOMMIT)
  tag(writer, 2, 1).sfixed64(BigInt(commit.height))
  if (commit.round !== 0) tag(writer, 3, 1).sfixed64(BigInt(commit.round))
  tag(writer, 4, 2).bytes(BlockID.encode(blockId(commit.block_id)).finish())
  tag(writer, 5, 2).bytes(Timestamp.encode(timestamp(time)).finish())
  return tag(writer, 6, 2).string(chainId).finish()
}

function field(number: number, wireType: number): BinaryWriter {
  return tag(new BinaryWriter(), number, wireType)
}

function tag(writer: BinaryWriter, number: number, wireType: number): BinaryWriter {
  return writer.uint32(number * 8 + wireType)
}

function verifyOrder(trusted: LightBlock, later: LightBlock): void {
  const { header: before } = trusted.commit.signed_header
  const { header: after } = later.commit.signed_header
  require(before.chain_id === after.chain_id, 'another chain')
  require(BigInt(after.height) > BigInt(before.height), 'not a later height')
  require(Date.parse(after.time) > Date.parse(before.time), 'not a later time')
}

function totalPower({ validators }: ValidatorsAnswer): bigint {
  return validators.reduce((sum, { voting_power }) => sum + BigInt(voting_power), 0n)
}

/** RFC 6962 with sha256 (crypto/merkle/tree.go). */
function merkleRoot(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return sha256(new Uint8Array(0))
  if (leaves.length === 1) return sha256(Buffer.concat([Uint8Array.of(0), leaves[0]!]))
  let split = 1
  while (split * 2 < leaves.length) split *= 2
  return sha256(Buffer.concat([Uint8Array.of(1), merkleRoot(leaves.slice(0, split)), merkleRoot(leaves.slice(split))]))
}

function blockId({ hash, parts }: BlockIdJson): BlockID {
  return { hash: unhex(hash), partSetHeader: { total: parts.total, hash: unhex(parts.hash) } }
}

function timestamp(time: string): Timestamp {
  const fraction = /\.([0-9]+)Z$/.exec(time)?.[1] ?? ''
  const seconds = Date.parse(time.replace(/(\.[0-9]+)?Z$/, 'Z')) / 1000
  return { seconds: BigInt(seconds), nanos: Number(fraction.padEnd(9, '0')) }
}

function sha256(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest()
}

function unhex(text: string): Uint8Array {
  return Buffer.from(text, 'hex')
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex').toUpperCase()
}

function require(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem)
}
