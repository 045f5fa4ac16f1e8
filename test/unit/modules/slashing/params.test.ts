import { expect, it } from 'vitest'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { MsgUpdateParams, SLASHING_MESSAGES } from '../../../../src/modules/slashing/messages.ts'
import { maxMissed, SLASHING_PARAMS, type SlashingParams } from '../../../../src/modules/slashing/params.ts'
import { signingInfo } from '../../../../src/modules/slashing/signingInfo.ts'
import { consensusAddressOf } from '../../../../src/modules/staking/validators.ts'
import { ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const PARAMS: SlashingParams = {
  signedBlocksWindow: 10n,
  minSignedPerWindow: ONE / 2n,
  downtimeJailDuration: 60_000_000_000n,
  slashFractionDoubleSign: ONE / 20n,
  slashFractionDowntime: ONE / 100n,
}
const updateParams = SLASHING_MESSAGES.find(({ type }) => type.name === MsgUpdateParams.name)!

it.each([
  [10n, ONE / 2n, 5n],
  [10n, 0n, 10n],
  [10n, ONE, 0n],
  // 4.5 and 5.5 signed blocks are rounded half to even: 4 and 6
  [10n, (ONE * 45n) / 100n, 6n],
  [10n, (ONE * 55n) / 100n, 4n],
  [7n, ONE / 3n, 5n],
])('of a window of %i with %i of it signed %i may be missed', (signedBlocksWindow, minSignedPerWindow, expected) => {
  expect(maxMissed({ ...PARAMS, signedBlocksWindow, minSignedPerWindow })).toBe(expected)
})

it.each<[string, Partial<SlashingParams>]>([
  ['no window', { signedBlocksWindow: 0n }],
  ['a negative window', { signedBlocksWindow: -1n }],
  ['no time in jail', { downtimeJailDuration: 0n }],
  ['a jail to the end of time', { downtimeJailDuration: 2n ** 63n }],
  ['more than all blocks', { minSignedPerWindow: ONE + 1n }],
  ['a negative share of blocks', { minSignedPerWindow: -1n }],
  ['more than everything for double signing', { slashFractionDoubleSign: ONE + 1n }],
  ['a negative fraction for downtime', { slashFractionDowntime: -1n }],
])('%s is refused', (_, change) => {
  const net = new StakingChain({ validators: [{ operator: A, stake: COIN }] })
  net.begin()
  const outcome = updateParams.run(net.context, { authority: GOV_AUTHORITY, params: { ...PARAMS, ...change } })
  expect(outcome).toMatchObject({ codespace: 'sdk', code: 18 })
  expect(SLASHING_PARAMS.get(net.context.world.native)).toEqual(PARAMS)
})

it('changes by governance alone, and another window begins with nothing missed', () => {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: COIN },
      { operator: account(2), stake: COIN },
    ],
  })
  for (let height = 1; height <= 5; height++) net.block({ absent: [A] })
  net.begin()
  const params = { ...PARAMS, slashFractionDowntime: 0n }
  expect(
    updateParams.run(net.context, { authority: '0x0000000000000000000000000000000000000001', params }),
  ).toMatchObject({
    codespace: 'gov',
    code: 13,
  })
  const missed = () => signingInfo(net.context, consensusAddressOf(net.validator(A)))!.missedBlocksCounter
  expect(isSdkError(updateParams.run(net.context, { authority: GOV_AUTHORITY, params }))).toBe(false)
  expect(missed()).toBe(4n)
  const wider = { ...params, signedBlocksWindow: 5000n }
  expect(isSdkError(updateParams.run(net.context, { authority: GOV_AUTHORITY, params: wider }))).toBe(false)
  expect(missed()).toBe(0n)
  expect(SLASHING_PARAMS.get(net.context.world.native)).toEqual(wider)
  net.check()
})
