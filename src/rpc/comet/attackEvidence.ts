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
 * An attack on light clients: validators have signed a header that is not the chain's. CometBFT reports it as LightClientAttackEvidence,
 * with the conflicting light block. Who signed that block has signed two precommits of one round, if it is one of the chain's signers
 * of that height and round: these are evidence of a double signature, which blocks of this chain report and which slashes. So the attack
 * is taken apart into these. Precommits of different rounds prove no fault alone (CometBFT punishes none of them either).
 */

/**
 * Signatures of a conflicting commit: the attacker's validator set may be larger than any of this chain, but those of strangers prove
 * nothing and can be left out. A body may have megabytes of them, which would keep this thread busy for long.
 */
const MAX_SIGNATURES = 1_000

const LIGHT_CLIENT_ATTACK = 'tendermint/LightClientAttackEvidence'

/** Whether this is the JSON of types.LightClientAttackEvidence, as Go writes it. */
export function isAttackJson(json: unknown): boolean {
  return typeof json === 'object' && json !== null && (json as { readonly type?: unknown }).type === LIGHT_CLIENT_ATTACK
}

/**
 * Reads the conflicting block's commit from types.LightClientAttackEvidence: all that proves the fault.
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
    // The bounds of its fields.
    return decodeCommit(encodeCommit(data))
  } catch (cause) {
    if (!(cause instanceof ConsensusDecodingError)) throw cause
    throw new CometParamError(`${path}.commit: ${cause.message}`)
  }
}

/**
 * The view threads' part of `broadcast_evidence` for an attack: the evidence of double signatures that the conflicting commit and the
 * chain's own make, base64 of its protobuf, and of how many pieces a block has reported the fault already.
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
        // The attacker's validators may be others, in another order; no signature covers the position.
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

/** The precommits of a commit by the addresses of their signers, one for each. */
function votesBySigner(commit: Commit): ReadonlyMap<string, Vote> {
  const votes = new Map<string, Vote>()
  for (const index of commit.signatures.keys()) {
    const vote = commitVote(commit, index)
    if (vote !== undefined) votes.set(bytesKey(vote.validatorAddress), vote)
  }
  return votes
}

/** What {@link attackEvidenceMethod} found. */
export interface AttackFound {
  readonly pieces: readonly string[]
  readonly committed: number
}
