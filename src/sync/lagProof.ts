import type { VerifySignature } from '../chain/consensus/commit.ts'
import { verifyEd25519 } from '../chain/consensus/ed25519.ts'
import type { ConsensusState } from '../consensus/consensusState.ts'
import type { FetchedBlocks } from '../consensus/transport.ts'
import { checkCommits, trustedPower } from './commitCheck.ts'
import { readBlock } from './readBlock.ts'

/** Heights past its own newest block at which a node looks for proof that it is behind. */
export const PROOF_DISTANCE = 10

/**
 * Whether a block that a peer served, and may have made up, proves that the network is ahead. One further ahead does when more
 * than a third of this node's validators signed it, since an honest one is among them, whoever else has joined since; the next
 * block when its own validators decided it.
 * @param height that was asked for
 */
export function isLagProof(
  state: ConsensusState,
  height: number,
  { blocks: [fetched] }: FetchedBlocks,
  verify: VerifySignature = verifyEd25519,
): boolean {
  if (fetched === undefined) return false
  const read = readBlock(fetched, height, state.params.maxBytes)
  if (typeof read === 'string') return false
  const { chainId, validators, nextValidators } = state
  const { blockId, commit } = read
  if (height === state.lastHeight + 1) {
    const [problem] = checkCommits([{ chainId, height, blockId, validators, commit, known: undefined }], verify)
    return problem === undefined
  }
  const power = trustedPower(chainId, commit, nextValidators, verify)
  return power * 3n > nextValidators.totalPower
}
