import { commitVote, decodeCommit, encodeCommit } from '../../chain/comet/commit.ts'
import { createDuplicateVoteEvidence, encodeEvidence } from '../../chain/comet/evidence.ts'
import { type Commit, equalBlockId, type Vote } from '../../chain/comet/types.ts'
import { ConsensusDecodingError } from '../../chain/comet/wire.ts'
import { verifyEvidence } from '../../execution/evidenceCheck.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import { COMMIT } from '../../sync/light/cometAnswers.ts'
import type { JsonObject } from '../format/json.ts'
import { fieldsOf } from './json/evidence.ts'
import { CometParamError } from './method.ts'
import { viewMethod } from './viewMethod.ts'

/*
 * An attack on light clients: validators have signed a header that is not the chain's. CometBFT
 * reports it as LightClientAttackEvidence, with the conflicting light block. A validator that
 * signed this block and the chain's own block of the same height and round has signed two
 * precommits of one round. That is evidence of a double signature, which this chain's blocks report
 * and slash. So the attack is split into such evidence. Precommits of different rounds prove no
 * fault on their own (CometBFT does not punish them either).
 */

/**
 * Most signatures of a conflicting commit. The attacker's validator set may be larger than any set
 * of this chain, but other signatures than the chain's validators' prove nothing and can be left
 * out. A body may have megabytes of them, which would keep this thread busy for long.
 */
const MAX_SIGNATURES = 1_000

const LIGHT_CLIENT_ATTACK = 'tendermint/LightClientAttackEvidence'

/** Whether this is the JSON of types.LightClientAttackEvidence, as Go writes it. */
export function isAttackJson(json: unknown): boolean {
  return typeof json === 'object' && json !== null && (json as { readonly type?: unknown }).type === LIGHT_CLIENT_ATTACK
}

/**
 * Reads the conflicting block's commit from types.LightClientAttackEvidence: it alone proves the
 * fault.
 * @throws CometParamError
 */
export function readAttackJson(json: unknown): Commit {
  const { ConflictingBlock } = fieldsOf(fieldsOf(json, 'evidence')['value'], 'value')
  const path = 'value.ConflictingBlock.signed_header'
  const { commit } = fieldsOf(fieldsOf(ConflictingBlock, 'value.ConflictingBlock')['signed_header'], path)
  const { signatures } = fieldsOf(commit, `${path}.commit`)
  if (Array.isArray(signatures) && signatures.length > MAX_SIGNATURES) {
    throw new CometParamError(`${path}.commit: ${signatures.length} signatures, at most ${MAX_SIGNATURES} are read`)
  }
  const { data, error } = COMMIT.safeParse(commit)
  if (data === undefined) throw new CometParamError(`${path}.commit: ${error?.issues[0]?.message}`)
  try {
    // Checks the bounds of its fields.
    return decodeCommit(encodeCommit(data))
  } catch (cause) {
    if (!(cause instanceof ConsensusDecodingError)) throw cause
    throw new CometParamError(`${path}.commit: ${cause.message}`)
  }
}

/**
 * The view threads' part of `broadcast_evidence` for an attack. Returns the evidence of double
 * signatures that the conflicting commit and the chain's own prove, as base64 of its protobuf, and
 * how many pieces of evidence of the fault blocks already report.
 */
export const attackEvidenceMethod = viewMethod(
  'comet/attack_evidence',
  'heavy',
  ({ view, chain }, bytes: Uint8Array) => {
    const conflicting = decodeCommit(bytes)
    const { height } = conflicting
    const { headHeight } = view.chain
    const state = view.stateAt(headHeight)
    const head = {
      height: headHeight,
      timeMs: view.chain.consensusBlock(headHeight)?.header.timeMs ?? chain.genesisTimeMs,
    }
    const validators = view.chain.validatorSetAt(height)
    const timeMs = view.chain.consensusBlock(height)?.header.timeMs
    const own = [view.chain.seenCommit(height), view.chain.consensusBlock(height + 1)?.lastCommit]
    const conflictingVotes = votesBySigner(conflicting)
    const pieces = new Map<string, string>()
    let committed = 0
    for (const commit of own) {
      if (commit === undefined || validators === undefined || timeMs === undefined) continue
      for (const index of commit.signatures.keys()) {
        const vote = commitVote(commit, index)
        if (vote === undefined) continue
        const signer = bytesKey(vote.validatorAddress)
        const other = conflictingVotes.get(signer)
        if (other === undefined || pieces.has(signer)) continue
        if (other.round !== vote.round || equalBlockId(other.blockId, vote.blockId)) continue
        // The attacker's validators may differ, or be in another order; no signature covers the
        // position.
        const second = { ...other, validatorIndex: index }
        const evidence = createDuplicateVoteEvidence(vote, second, { validators, timeMs })
        const { verdict } = verifyEvidence(evidence, {
          chain,
          head,
          reader: view.chain,
          native: { get: (key) => state.getNative(key) },
        })
        if (verdict === 'valid') pieces.set(signer, Buffer.from(encodeEvidence(evidence)).toString('base64'))
        if (verdict === 'committed') committed++
      }
    }
    return { pieces: [...pieces.values()], committed } satisfies AttackFound as unknown as JsonObject
  },
)

/** Returns the precommits of a commit by the addresses of their signers, one for each. */
function votesBySigner(commit: Commit): ReadonlyMap<string, Vote> {
  const votes = new Map<string, Vote>()
  for (const index of commit.signatures.keys()) {
    const vote = commitVote(commit, index)
    if (vote !== undefined) votes.set(bytesKey(vote.validatorAddress), vote)
  }
  return votes
}

/** Result of {@link attackEvidenceMethod}. */
export interface AttackFound {
  readonly pieces: readonly string[]
  readonly committed: number
}
