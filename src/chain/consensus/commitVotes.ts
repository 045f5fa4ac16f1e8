import {
  BLOCK_ID_FLAGS,
  type Commit,
  type CommitSig,
  isNilBlockId,
  NIL_BLOCK_ID,
  SIGNED_MESSAGE_TYPES,
  type Vote,
} from './types.ts'

/** The precommit in a commit's place `index`; undefined when it is absent. */
export function commitVote({ height, round, blockId, signatures }: Commit, index: number): Vote | undefined {
  const { flag, validatorAddress, timestampMs, signature } = signatures[index]!
  if (flag === BLOCK_ID_FLAGS.absent) return undefined
  return {
    type: SIGNED_MESSAGE_TYPES.precommit,
    height,
    round,
    blockId: flag === BLOCK_ID_FLAGS.commit ? blockId : NIL_BLOCK_ID,
    timestampMs,
    validatorAddress,
    validatorIndex: index,
    signature,
  }
}

/** A precommit, for the decided block or nil, as a commit holds it. */
export function commitSigOf({ blockId, validatorAddress, timestampMs, signature }: Vote): CommitSig {
  const flag = isNilBlockId(blockId) ? BLOCK_ID_FLAGS.nil : BLOCK_ID_FLAGS.commit
  return { flag, validatorAddress, timestampMs, signature }
}
