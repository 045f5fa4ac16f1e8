import { SIGNED_MESSAGE_TYPES, type Vote } from '../../../../src/chain/comet/types.ts'
import { createBitSet } from '../../../../src/consensus/bitSet.ts'
import { type RoundStateView, STEPS, type VoteSetView } from '../../../../src/consensus/roundStateView.ts'
import { roundStateJson } from '../../../../src/rpc/comet/json/roundState.ts'
import type { SignedChain } from './signedChain.ts'

/** A round in which validators 0 and 2 have prevoted for the proposal of the height after the head. */
export function roundStateView(chain: SignedChain, changes: Partial<RoundStateView> = {}): RoundStateView {
  const height = chain.headHeight + 1
  const validators = chain.validatorsAt(height)!
  const blockId = chain.blockId(chain.headHeight)!
  const votes = [0, 2].map(
    (index): Vote => ({
      type: SIGNED_MESSAGE_TYPES.prevote,
      height,
      round: 0,
      blockId,
      timestampMs: 1_767_225_600_120,
      validatorAddress: validators.validators[index]!.address,
      validatorIndex: index,
      signature: new Uint8Array(64).fill(0xc0 + index),
    }),
  )
  const prevotes: VoteSetView = {
    round: 0,
    type: SIGNED_MESSAGE_TYPES.prevote,
    bits: () => createBitSet(validators.validators.length, [0, 2]),
    vote: (index) => votes.find(({ validatorIndex }) => validatorIndex === index),
    bitsFor: () => createBitSet(validators.validators.length, [0, 2]),
    voteFor: (index) => votes.find(({ validatorIndex }) => validatorIndex === index),
    majority: () => undefined,
    power: () => 60n,
  }
  return {
    height,
    round: 0,
    step: STEPS.prevote,
    validators,
    proposal: {
      height,
      round: 0,
      polRound: -1,
      blockId,
      timestampMs: 1_767_225_600_000,
      signature: new Uint8Array(64).fill(1),
    },
    parts: { header: { total: 2, hash: new Uint8Array(32) }, has: () => true, part: () => undefined },
    votes: (round, type) => (round === 0 && type === SIGNED_MESSAGE_TYPES.prevote ? prevotes : undefined),
    isContested: false,
    commitRound: -1,
    lockedRound: -1,
    lockedBlockId: undefined,
    validRound: -1,
    validBlockId: undefined,
    lastPrecommits: undefined,
    lastPrevotes: undefined,
    ...changes,
  }
}

/** The JSON of {@link roundStateView} as the main thread gives it. */
export function roundState(chain: SignedChain) {
  return roundStateJson(roundStateView(chain), { startMs: 1_767_225_600_400, commitMs: 1_767_225_600_300 })
}
