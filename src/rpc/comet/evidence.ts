import { encodeCommit } from '../../chain/comet/commit.ts'
import { decodeEvidence, encodeEvidence } from '../../chain/comet/evidence.ts'
import type { Commit, Evidence } from '../../chain/comet/types.ts'
import { ConsensusDecodingError } from '../../chain/comet/wire.ts'
import type { EvidenceVerdict } from '../../consensus/application.ts'
import { verifyEvidence } from '../../execution/evidenceCheck.ts'
import { LIMITS, TokenBucket } from '../../p2p/limits.ts'
import { bytesKey, toBuffer } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import type { JsonObject } from '../format/json.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { textOf } from '../jsonrpc/resultText.ts'
import type { ViewPool } from '../jsonrpc/runMethod.ts'
import { type AttackFound, attackEvidenceMethod, isAttackJson, readAttackJson } from './attackEvidence.ts'
import type { CometNode } from './env.ts'
import { readEvidenceJson } from './json/evidence.ts'
import {
  type CometMethod,
  CometParamError,
  type CometType,
  cometFailure,
  defineCometMethod,
  fromBase64,
} from './method.ts'
import { callView, viewMethod } from './viewMethod.ts'

/**
 * Two votes in JSON have some 1,500 characters. A longer text is not read: it could keep this
 * thread busy for long.
 */
const MAX_TEXT_LENGTH = 16_384

/** Evidence as CometBFT's JSON, or as text: base64 of the protobuf that the evidence hash covers. */
const evidenceType: CometType<Evidence | Commit> = {
  fromQuery: (text) => {
    const inner = /^"(.*)"$/.exec(text)?.[1]
    if (inner !== undefined) return fromProtobuf(inner)
    if (!text.startsWith('{')) return fromProtobuf(text)
    checkLength(text)
    try {
      return readJson(JSON.parse(text))
    } catch (error) {
      if (error instanceof SyntaxError) throw new CometParamError(error.message)
      throw error
    }
  },
  fromJson: (value) => {
    if (value === null || value === undefined) return undefined
    return typeof value === 'string' ? fromProtobuf(value) : readJson(value)
  },
}

/**
 * Reads two votes, or the conflicting commit of an attack on light clients.
 * @throws CometParamError
 */
function readJson(json: unknown): Evidence | Commit {
  return isAttackJson(json) ? readAttackJson(json) : readEvidenceJson(json)
}

/** Checks the length of a text. @throws CometParamError */
function checkLength(text: string): void {
  if (text.length > MAX_TEXT_LENGTH) throw new CometParamError('the evidence is too long')
}

function fromProtobuf(text: string): Evidence {
  checkLength(text)
  const bytes = fromBase64(text)
  try {
    return decodeEvidence(bytes)
  } catch (error) {
    if (error instanceof ConsensusDecodingError) throw new CometParamError(error.message)
    throw error
  }
}

/**
 * New evidence that one socket thread hands to consensus: the budget of a peer (`LIMITS.evidence`).
 * More is refused.
 */
const BUDGET = LIMITS.evidence
/** Faults whose evidence was handed to consensus, and is not handed to it again. */
const MAX_REMEMBERED = 1_024

/**
 * Creates `broadcast_evidence` (rpc/core/evidence.go). Consensus gets only evidence that a view
 * thread found valid, once for each fault, and within the budget. An attack on light clients is
 * split into double signatures (attackEvidence.ts). Evidence that is pending or in a block already
 * gets the same answer as new evidence.
 */
export function createBroadcastEvidenceMethod(
  views: ViewPool,
  node: Pick<CometNode, 'addEvidence'>,
  monotonicMs: () => number,
): CometMethod {
  const budget = new TokenBucket(BUDGET, monotonicMs())
  const added = new Set<string>()
  const add = (evidence: Evidence, bytes: Uint8Array): void => {
    const { height, validatorAddress } = evidence.voteA
    const fault = `${height} ${bytesKey(validatorAddress)}`
    if (added.has(fault)) return
    if (!budget.take(1, monotonicMs())) throw cometFailure('failed to add evidence: too many pieces at once, try again')
    added.add(fault)
    for (const oldest of added) {
      if (added.size <= MAX_REMEMBERED) break
      added.delete(oldest)
    }
    node.addEvidence(bytes)
  }
  /** @returns the hash of the attack's first piece of evidence */
  const addAttack = async (commit: Commit, scope: CallScope) => {
    const { text } = await callView(views, 'heavy', attackEvidenceMethod.name, [encodeCommit(commit)], scope)
    const { pieces, committed } = JSON.parse(textOf(text)) as AttackFound
    if (pieces.length === 0 && committed === 0) {
      const reason = 'no validator signed two precommits of one round in it'
      throw cometFailure(`failed to add evidence: Invalid evidence: ${reason}`)
    }
    const found = pieces.map(fromBase64)
    for (const bytes of found) add(decodeEvidence(bytes), bytes)
    const [first] = found
    return { hash: first === undefined ? '' : toBuffer(sha256(first)).toString('base64') }
  }
  return defineCometMethod({
    name: 'broadcast_evidence',
    params: [{ name: 'evidence', type: evidenceType }],
    run: async (evidence, scope) => {
      if (evidence === undefined) throw cometFailure('no evidence was provided')
      if (!('kind' in evidence)) return addAttack(evidence, scope)
      const bytes = encodeEvidence(evidence)
      const { text } = await callView(views, 'cheap', checkEvidenceMethod.name, [bytes], scope)
      const found = JSON.parse(textOf(text)) as EvidenceVerdict
      const reason = reasonAgainst(evidence, found)
      if (reason !== undefined) throw cometFailure(`failed to add evidence: Invalid evidence: ${reason}`)
      if (found.verdict === 'valid') add(evidence, bytes)
      return { hash: toBuffer(sha256(bytes)).toString('base64') }
    },
  })
}

function reasonAgainst({ voteA: { height } }: Evidence, found: EvidenceVerdict): string | undefined {
  switch (found.verdict) {
    case 'valid':
    case 'committed':
      return undefined
    case 'expired':
      return `evidence from height ${height} is too old`
    case 'unpunishable':
      return 'the validator is tombstoned, unbonded or gone: nothing is left to punish'
    case 'early':
      return `don't have header #${height}`
    case 'invalid':
      return found.reason
  }
}

/**
 * The view threads' part of {@link createBroadcastEvidenceMethod}: checks encoded evidence at the
 * head.
 */
export const checkEvidenceMethod = viewMethod('comet/check_evidence', 'cheap', ({ view, chain }, bytes: Uint8Array) => {
  const { headHeight } = view.chain
  const state = view.stateAt(headHeight)
  const timeMs = view.chain.consensusBlock(headHeight)?.header.timeMs ?? chain.genesisTimeMs
  return verifyEvidence(decodeEvidence(bytes), {
    chain,
    head: { height: headHeight, timeMs },
    reader: view.chain,
    native: { get: (key) => state.getNative(key) },
  }) satisfies EvidenceVerdict as JsonObject
})
