import type { ChainConfig } from '../chain/chainConfig.ts'
import { checkDuplicateVote, evidenceSize } from '../chain/consensus/evidence.ts'
import type { Evidence } from '../chain/consensus/types.ts'
import { isEvidenceExpired } from '../chain/headerRetention.ts'
import type { ChainReader } from '../chain/store.ts'
import type { EvidenceVerdict } from '../consensus/application.ts'
import { isCommitted } from '../modules/evidence/evidence.ts'
import { bytesKey } from '../primitives/bytes.ts'
import { verifyEd25519 } from '../primitives/ed25519.ts'
import type { NativeStore } from '../state/world.ts'

/** The chain data against which evidence for the block after `head` is checked. */
export interface EvidenceChain {
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisTimeMs' | 'evidence'>
  readonly head: { readonly height: number; readonly timeMs: number }
  readonly reader: Pick<ChainReader, 'base' | 'consensusBlock' | 'validatorSetAt'>
  /** native state after `head` */
  readonly native: Pick<NativeStore, 'get'>
}

/**
 * The verdict on a piece of evidence. It depends on chain state alone, so that all nodes agree. Evidence expires when it is older than
 * both maximum ages (CometBFT evidence/verify.go). Votes from before the genesis belong to another network where the validator's key
 * was used: no fault here. The block of the votes is read last: to read an old one takes milliseconds of the thread that executes blocks,
 * and only who has the signatures of a validator gets so far.
 */
export function verifyEvidence(evidence: Evidence, { chain, head, reader, native }: EvidenceChain): EvidenceVerdict {
  const { voteA, voteB, timestampMs } = evidence
  const { height } = voteA
  if (height > head.height) return { verdict: 'early' }
  if (voteA.timestampMs < chain.genesisTimeMs || voteB.timestampMs < chain.genesisTimeMs) {
    return { verdict: 'invalid', reason: 'a vote is older than the chain' }
  }
  const validators = height < reader.base ? undefined : reader.validatorSetAt(height)
  if (validators !== undefined) {
    if (isCommitted(native, voteA.validatorAddress, height)) return { verdict: 'committed' }
    const reason = checkDuplicateVote(evidence, { chainId: chain.chainId, validators }, verifyEd25519)
    if (reason !== undefined) return { verdict: 'invalid', reason }
  }
  // Of a block below the base only this is known: it is older than the base. One that was dropped is older than both ages in any case.
  const timeMs = reader.consensusBlock(Math.max(height, reader.base))?.header.timeMs
  if (timeMs === undefined) return { verdict: 'early' }
  if (isEvidenceExpired({ height, timeMs }, head, chain.evidence)) return { verdict: 'expired' }
  if (validators === undefined) return { verdict: 'early' }
  if (timestampMs !== timeMs) return { verdict: 'invalid', reason: 'the time is not that of the block at its height' }
  return { verdict: 'valid' }
}

/**
 * Why a block after `head` may not report this evidence; undefined when it may.
 * @param isDecided More than two thirds of the power have decided the block. Evidence of an old block that this node
 * does not have, because its chain began with a snapshot, is then taken as judged: those who have the block have judged it. Otherwise this
 * node would halt on what every other one accepts. In a proposal such evidence is refused.
 */
export function checkBlockEvidence(
  evidence: readonly Evidence[],
  from: EvidenceChain,
  isDecided: boolean,
): string | undefined {
  const { maxBytes } = from.chain.evidence
  const bytes = evidenceSize(evidence)
  if (bytes > maxBytes) return `evidence takes ${bytes} bytes, at most ${maxBytes} may`
  const seen = new Set<string>()
  for (const [position, item] of evidence.entries()) {
    const own = verifyEvidence(item, from)
    const isUnknown = own.verdict === 'early' && item.voteA.height <= from.head.height
    const found = isDecided && isUnknown ? judged(item, from) : own
    if (found.verdict !== 'valid') {
      return `evidence ${position} is ${found.verdict}${'reason' in found ? `: ${found.reason}` : ''}`
    }
    if (seen.size === seen.add(misbehaviourKey(item)).size) return `evidence ${position} is there twice`
  }
  return undefined
}

/** What this node can still say of evidence whose block it does not have: whether a block has reported the same fault. */
function judged({ voteA }: Evidence, { native }: EvidenceChain): EvidenceVerdict {
  return { verdict: isCommitted(native, voteA.validatorAddress, voteA.height) ? 'committed' : 'valid' }
}

/** Chooses from the pending evidence what the block after `head` reports: valid pieces in their order, as many as fit. */
export function chooseEvidence(pending: readonly Evidence[], from: EvidenceChain): readonly Evidence[] {
  const chosen: Evidence[] = []
  const seen = new Set<string>()
  let room = from.chain.evidence.maxBytes
  for (const item of pending) {
    const size = evidenceSize([item])
    const key = misbehaviourKey(item)
    if (size > room || seen.has(key) || verifyEvidence(item, from).verdict !== 'valid') continue
    seen.add(key)
    room -= size
    chosen.push(item)
  }
  return chosen
}

/** Two faults of one validator at one height count as one, see `recordEvidence`. */
function misbehaviourKey({ voteA }: Evidence): string {
  return `${voteA.height} ${bytesKey(voteA.validatorAddress)}`
}
