import type { Evidence } from '../chain/consensus/types.ts'
import type { Application, DecidedBlock, FinalizeResult } from './application.ts'
import type { EvidencePool } from './evidencePool.ts'

/** Executes a decided block; what the application answers is not taken on trust. */
export async function executeDecided(
  application: Pick<Application, 'finalizeBlock'>,
  decided: DecidedBlock,
): Promise<FinalizeResult> {
  const result = await application.finalizeBlock(decided)
  if (result.appHash.length !== 32 || result.lastResultsHash.length !== 32) {
    throw new Error(`the application gave no hashes for block ${decided.block.header.height}`)
  }
  return result
}

/** Votes that contradict each other become evidence once their height is decided. */
export function notifyDecided(
  pool: Pick<EvidencePool, 'decided'>,
  { block }: DecidedBlock,
  publish: (evidence: Evidence) => void,
): void {
  const { height, timeMs } = block.header
  for (const evidence of pool.decided({ height, timeMs }, block.evidence)) publish(evidence)
}

/** A crash between a block that reports evidence and the evidence's removal leaves it behind. */
export async function dropSettledEvidence(
  pool: Pick<EvidencePool, 'pending' | 'remove'>,
  application: Pick<Application, 'checkEvidence'>,
): Promise<void> {
  for (const evidence of pool.pending(Number.MAX_SAFE_INTEGER)) {
    const { verdict } = await application.checkEvidence(evidence)
    if (verdict !== 'valid' && verdict !== 'early') pool.remove(evidence)
  }
}
