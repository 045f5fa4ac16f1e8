import { z } from 'zod'
import type { ConsensusHeader } from '../../chain/comet/block.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type Commit,
  NIL_BLOCK_ID,
  type Validator,
} from '../../chain/comet/types.ts'
import { EMPTY_BYTES, hexToBytes } from '../../primitives/bytes.ts'
import { parseTimestamp } from '../../primitives/timeText.ts'
import { LightClientError } from './lightBlockSource.ts'

/*
 * CometBFT's JSON: 64-bit integers are decimal text, hashes upper-case hex, keys and signatures base64, times RFC 3339. Only the form is
 * checked here; the bounds of the fields are those of the light block's codec.
 */

const int64 = z.string().regex(/^(0|-?[1-9][0-9]{0,18})$/, 'expected an integer as text')
const height = int64.transform(Number).pipe(z.int())
const uint32 = z.int().min(0).max(0xffff_ffff)
const hex = z
  .string()
  .regex(/^([0-9A-Fa-f]{2}){0,64}$/, 'expected hex digits')
  .transform((text) => hexToBytes(text))
const base64 = z
  .base64()
  .max(200)
  .transform((text): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64')))

const time = z.string().transform((text, context): number => {
  const nanos = parseTimestamp(text)
  // Every time on this chain is a whole millisecond.
  if (nanos !== undefined && nanos % 1_000_000n === 0n) return Number(nanos / 1_000_000n)
  context.addIssue({ code: 'custom', message: 'expected a time in milliseconds' })
  return z.NEVER
})

const blockId = z
  .object({ hash: hex, parts: z.object({ total: uint32, hash: hex }) })
  .transform(({ hash, parts }) => (hash.length === 0 ? NIL_BLOCK_ID : { hash, partSetHeader: parts }))

const header = z
  .object({
    version: z.object({ block: height, app: height.optional() }),
    chain_id: z.string().max(50),
    height,
    time,
    last_block_id: blockId,
    last_commit_hash: hex,
    data_hash: hex,
    validators_hash: hex,
    next_validators_hash: hex,
    consensus_hash: hex,
    app_hash: hex,
    last_results_hash: hex,
    evidence_hash: hex,
    proposer_address: hex,
  })
  .transform(
    (json): ConsensusHeader => ({
      version: { block: json.version.block, app: json.version.app ?? 0 },
      chainId: json.chain_id,
      height: json.height,
      timeMs: json.time,
      lastBlockId: json.last_block_id,
      lastCommitHash: json.last_commit_hash,
      dataHash: json.data_hash,
      validatorsHash: json.validators_hash,
      nextValidatorsHash: json.next_validators_hash,
      consensusHash: json.consensus_hash,
      appHash: json.app_hash,
      lastResultsHash: json.last_results_hash,
      evidenceHash: json.evidence_hash,
      proposerAddress: json.proposer_address,
    }),
  )

const commitSig = z
  .object({
    block_id_flag: z.literal(Object.values(BLOCK_ID_FLAGS)),
    validator_address: hex,
    timestamp: time,
    signature: base64.nullable(),
  })
  .transform(({ block_id_flag: flag, validator_address: validatorAddress, timestamp: timestampMs, signature }) =>
    flag === BLOCK_ID_FLAGS.absent
      ? ABSENT_COMMIT_SIG
      : { flag, validatorAddress, timestampMs, signature: signature ?? EMPTY_BYTES },
  )

/** A commit, as everywhere in CometBFT's JSON. */
export const COMMIT = z.object({ height, round: z.int(), block_id: blockId, signatures: z.array(commitSig) }).transform(
  ({ block_id, ...json }): Commit => ({
    height: json.height,
    round: json.round,
    blockId: block_id,
    signatures: json.signatures,
  }),
)

const validator = z
  .object({
    pub_key: z.object({ type: z.literal('tendermint/PubKeyEd25519'), value: base64 }),
    voting_power: int64.transform(BigInt),
  })
  .transform(
    ({ pub_key, voting_power }): Pick<Validator, 'publicKey' | 'power'> => ({
      publicKey: pub_key.value,
      power: voting_power,
    }),
  )

/** Any answer of a method. */
export const ANSWER = z.object({
  result: z.unknown().optional(),
  error: z.object({ message: z.string(), data: z.string().optional() }).nullish(),
})

/** The result of `commit`; null before the first block. */
export const COMMIT_RESULT = z.object({ signed_header: z.object({ header, commit: COMMIT }) }).nullable()

/** The result of `validators`: one page. */
export const VALIDATORS_RESULT = z.object({ block_height: height, validators: z.array(validator), total: height })

/**
 * Reads the content of JSON that a node sent.
 * @param what for the message: where it comes from
 * @throws LightClientError of the kind `invalid`
 */
export function readJson<T>(schema: z.ZodType<T>, json: unknown, what: string): T {
  const { data, error } = schema.safeParse(json)
  if (error === undefined) return data as T
  const { path, message } = error.issues[0]!
  throw new LightClientError('invalid', `${what} answers in a wrong form: ${z.core.toDotPath(path)}: ${message}`)
}
