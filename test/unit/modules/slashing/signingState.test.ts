import { expect, it } from 'vitest'
import { signingStateOf } from '../../../../src/modules/slashing/signingState.ts'
import { consensusAddressOf } from '../../../../src/modules/staking/validators.ts'
import { account, COIN, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const STRANGER = new Uint8Array(20).fill(7)

it('shows the signing of the validator that has one of the keys', () => {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 100n * COIN },
      { operator: B, stake: 100n * COIN },
    ],
    slashing: { signedBlocksWindow: 10n },
  })
  const own = consensusAddressOf(net.validator(B))
  const stateOf = (...addresses: readonly Uint8Array[]) => signingStateOf(net.context, addresses)
  const none = {
    isKnown: false,
    isJailed: false,
    isTombstoned: false,
    missed: 0,
    window: 10,
    missedLimit: 5,
    position: 0,
  }
  for (let height = 1; height <= 12; height++) net.block({ absent: height > 10 ? [B] : [] })
  expect(stateOf(STRANGER)).toEqual(none)
  expect(stateOf(own)).toEqual({ ...none, isKnown: true, missed: 2, position: 2 })
  expect(stateOf(STRANGER, own)).toEqual(stateOf(own))
  for (let height = 13; height <= 16; height++) net.block({ absent: [B] })
  expect(stateOf(own)).toMatchObject({ isKnown: true, isJailed: true, missed: 0 })
})
