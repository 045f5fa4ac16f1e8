import { expect, it } from 'vitest'
import { SIGNED_MESSAGE_TYPES, type UnsignedVote } from '../../../src/chain/comet/types.ts'
import { createRankedSet } from '../../../src/chain/comet/validatorSet.ts'
import { voteSignBytes } from '../../../src/chain/comet/vote.ts'
import { localKey } from '../../../src/consensus/consensusKey.ts'
import { type ConsensusState, stateFromInfo } from '../../../src/consensus/consensusState.ts'
import { Recovery, replayDecided } from '../../../src/consensus/recovery.ts'
import { ValidatorKeys } from '../../../src/consensus/validatorKeys.ts'
import { signEd25519, verifyEd25519 } from '../../../src/primitives/ed25519.ts'
import { CHAIN, KEYS } from '../../support/consensus/consensusHarness.ts'
import { FakeApplication } from '../../support/consensus/fakeApplication.ts'

const [former, present, other] = KEYS
const setOf = (key = former!) => createRankedSet([{ publicKey: key.publicKey, power: 10n }])

/** A start after height 7, whose log has this vote for that height or the open one, of a node that has only its validator's new key. */
async function start(height: number, signer = former!): Promise<ConsensusState> {
  const blockId = { hash: new Uint8Array(32).fill(1), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(2) } }
  const vote: UnsignedVote = {
    type: SIGNED_MESSAGE_TYPES.precommit,
    height,
    round: 0,
    blockId,
    timestampMs: 1,
    validatorAddress: former!.address,
    validatorIndex: 0,
  }
  const recovery = new Recovery(CHAIN.chainId, 7)
  recovery.add({ kind: 'endHeight', height: 7 })
  const signature = signEd25519(signer, voteSignBytes(CHAIN.chainId, vote))
  recovery.add({ kind: 'vote', vote: { ...vote, signature } })
  const info = await new FakeApplication(setOf()).info()
  const state = { ...stateFromInfo(CHAIN, info), lastHeight: 7, lastValidators: setOf(), validators: setOf(present) }
  const keys = new ValidatorKeys([localKey(present!)])
  const context = { recovery, keys, verify: verifyEd25519, warn: () => undefined }
  return replayDecided(context, state, () => Promise.reject(new Error('there is nothing to execute')))
}

it('accepts a late precommit with the key that the validator had at the height before', async () => {
  expect((await start(7)).lastHeight).toBe(7)
})

it('refuses what was signed with another key', async () => {
  await expect(start(7, other)).rejects.toThrow('was signed with another key')
  await expect(start(8)).rejects.toThrow('was signed with another key')
  expect((await start(8, present)).lastHeight).toBe(7)
})
