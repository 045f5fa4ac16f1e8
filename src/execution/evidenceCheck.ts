import { checkDuplicateVote, encodeEvidence, evidenceSize, MAX_BLOCK_EVIDENCE } from '../chain/comet/evidence.ts'
import type { Evidence } from '../chain/comet/types.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import { isEvidenceExpired } from '../chain/retention/headerRetention.ts'
import type { ChainReader } from '../chain/store/chainReader.ts'
import type { EvidenceVerdict } from '../consensus/application.ts'
import { isCommitted } from '../modules/evidence/evidence.ts'
import { punishable } from '../modules/slashing/jail.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { verifyEd25519 } from '../primitives/ed25519.ts'
import { sha256 } from '../primitives/hash.ts'
import type { NativeStore } from '../state/world.ts'

/** The chain data against which evidence for the block after `head` is checked. */
export interface EvidenceChain {
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisTimeMs' | 'evidence'>
  readonly head: { readonly height: number; readonly timeMs: number }
  readonly reader: Pick<ChainReader, 'base' | 'blockTimeMs' | 'validatorSetAt'>
  /** native state after `head` */
  readonly native: Pick<NativeStore, 'get'>
  /** by default nothing is remembered */
  readonly known?: KnownEvidence
}

/** Number of remembered pieces: many times more than wait for a block. */
const MAX_KNOWN = 1_024

/**
 * Evidence whose votes, powers and time were found right. That never changes, so rounds and heights in which it is proposed again do not
 * verify it again.
 */
export class KnownEvidence {
  readonly #hashes = new Set<string>()

  has(key: string): boolean {
    return this.#hashes.has(key)
  }

  add(key: string): void {
    if (this.#hashes.size >= MAX_KNOWN) this.#hashes.delete(this.#hashes.values().next().value!)
    this.#hashes.add(key)
  }
}

/**
 * Judges a piece of evidence. The verdict depends on chain state alone, so that all nodes agree.
 * Evidence expires by its age (`isEvidenceExpired`). Votes from before the genesis belong to
 * another network where the validator's key was used: no fault here.
 *
 * The checks are in the order of their cost, because a stranger can make the votes up:
 * 1. heights and times in the evidence itself,
 * 2. a few records: whether the fault is reported already, and whether its validator can still be
 *    punished,
 * 3. the validators of its height, then both signatures,
 * 4. the time of its block. Only evidence with a validator's signatures gets so far.
 */
export function verifyEvidence(evidence: Evidence, from: EvidenceChain): EvidenceVerdict {
  const { chain, head, reader, native, known } = from
  const { voteA, voteB, timestampMs } = evidence
  const { height, validatorAddress } = voteA
  // 1.
  if (height > head.height) return { verdict: 'early' }
  if (voteA.timestampMs < chain.genesisTimeMs || voteB.timestampMs < chain.genesisTimeMs) {
    return { verdict: 'invalid', reason: 'a vote is older than the chain' }
  }
  // With another time than its own it would be invalid.
  if (isEvidenceExpired({ height, timeMs: timestampMs }, head, chain.evidence)) return { verdict: 'expired' }
  // 2.
  if (isCommitted(native, validatorAddress, height)) return { verdict: 'committed' }
  if (punishable(native, validatorAddress) === undefined) return { verdict: 'unpunishable' }
  // 3.
  if (height < reader.base) return belowBase(from)
  const key = known && bytesKey(sha256(encodeEvidence(evidence)))
  if (key !== undefined && known?.has(key)) return { verdict: 'valid' }
  const validators = reader.validatorSetAt(height)
  if (validators === undefined) return { verdict: 'early' }
  const reason = checkDuplicateVote(evidence, { chainId: chain.chainId, validators }, verifyEd25519)
  if (reason !== undefined) return { verdict: 'invalid', reason }
  // 4.
  if (timestampMs !== reader.blockTimeMs(height)) {
    return { verdict: 'invalid', reason: 'the time differs from the time of the block at its height' }
  }
  if (key !== undefined) known?.add(key)
  return { verdict: 'valid' }
}

/** Of a block below the base only this is known: it is older than the base. One that was dropped has expired in any case. */
function belowBase({ chain, head, reader }: EvidenceChain): EvidenceVerdict {
  const height = reader.base
  const timeMs = reader.blockTimeMs(height)
  const isExpired = timeMs !== undefined && isEvidenceExpired({ height, timeMs }, head, chain.evidence)
  return { verdict: isExpired ? 'expired' : 'early' }
}

/**
 * `unknown`: the evidence is about an old block that this node does not have, because it started
 * from a snapshot. Nodes that have the block can judge it.
 */
export type BlockEvidenceVerdict = 'valid' | 'unknown' | { readonly refused: string }

/**
 * Whether a block after `head` may report this evidence. It reports at most {@link MAX_BLOCK_EVIDENCE} pieces, and one for a validator:
 * further ones would change nothing.
 */
export function checkBlockEvidence(evidence: readonly Evidence[], from: EvidenceChain): BlockEvidenceVerdict {
  if (evidence.length > MAX_BLOCK_EVIDENCE) {
    return { refused: `the block has ${evidence.length} pieces of evidence, the maximum is ${MAX_BLOCK_EVIDENCE}` }
  }
  const { maxBytes } = from.chain.evidence
  const bytes = evidenceSize(evidence)
  if (bytes > maxBytes) return { refused: `the evidence has ${bytes} bytes, the maximum is ${maxBytes}` }
  const seen = new Set<string>()
  let verdict: BlockEvidenceVerdict = 'valid'
  for (const [position, item] of evidence.entries()) {
    const found = verifyEvidence(item, from)
    if (found.verdict === 'early' && item.voteA.height <= from.head.height) verdict = 'unknown'
    else if (found.verdict !== 'valid') {
      return { refused: `evidence ${position} is ${found.verdict}${'reason' in found ? `: ${found.reason}` : ''}` }
    }
    if (seen.size === seen.add(culpritKey(item, from)).size)
      return { refused: `evidence ${position} accuses a validator that earlier evidence accuses` }
  }
  return verdict
}

/**
 * Chooses the pending evidence that the block after `head` reports: valid pieces in their order, as
 * many as fit, at most one per validator.
 */
export function chooseEvidence(pending: readonly Evidence[], from: EvidenceChain): readonly Evidence[] {
  const chosen: Evidence[] = []
  const seen = new Set<string>()
  let room = from.chain.evidence.maxBytes
  for (const item of pending) {
    if (chosen.length === MAX_BLOCK_EVIDENCE) break
    const size = evidenceSize([item])
    if (size > room || verifyEvidence(item, from).verdict !== 'valid') continue
    const key = culpritKey(item, from)
    if (seen.has(key)) continue
    seen.add(key)
    room -= size
    chosen.push(item)
  }
  return chosen
}

/**
 * Returns the validator that evidence would punish, by its current key: it may have signed with an
 * old one.
 */
function culpritKey({ voteA: { validatorAddress } }: Evidence, { native }: EvidenceChain): string {
  return bytesKey(punishable(native, validatorAddress)?.consensusAddress ?? validatorAddress)
}
