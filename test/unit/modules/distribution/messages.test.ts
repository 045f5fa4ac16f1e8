import { describe, expect, it } from 'vitest'
import { delegationRewards } from '../../../../src/modules/distribution/delegationRewards.ts'
import { communityPool } from '../../../../src/modules/distribution/feePool.ts'
import {
  DISTRIBUTION_MESSAGES,
  MsgWithdrawDelegatorRewardResponse,
  MsgWithdrawValidatorCommissionResponse,
} from '../../../../src/modules/distribution/messages.ts'
import { DISTRIBUTION_PARAMS } from '../../../../src/modules/distribution/params.ts'
import { commissionOf } from '../../../../src/modules/distribution/readRewards.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { DISTRIBUTION, FEE_COLLECTOR } from '../../../../src/modules/moduleAccounts.ts'
import { type Outcome, SdkError } from '../../../../src/modules/sdkError.ts'
import { validateMessage } from '../../../../src/modules/tx/transactionDecoder.ts'
import { BECH32_OPERATOR, toBech32 } from '../../../../src/primitives/address.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const HOLDER = account(9)
const NOBODY = account(42)
const holder = toBech32(HOLDER)
const operator = toBech32(A, BECH32_OPERATOR)
const acoin = (amount: bigint) => [{ denom: 'acoin', amount }]

function chain(): StakingChain {
  const net = new StakingChain({
    validators: [{ operator: A, stake: COIN, rate: ONE / 4n }],
    holders: [HOLDER],
    distribution: { communityTax: 0n },
  })
  net.block()
  net.begin({ fees: 1001n })
  return net
}

/** Runs a message as a transaction does: nothing of one that fails stays. */
function run(net: StakingChain, name: string, message: unknown): Outcome<Uint8Array> {
  const handler = DISTRIBUTION_MESSAGES.find(({ type }) => type.name.endsWith(`.${name}`))!
  const { world } = net.context
  world.checkpoint()
  const outcome = validateMessage(handler, message) ?? handler.run(net.context, message)
  if (outcome instanceof SdkError) world.revert()
  else world.commit()
  net.check()
  return outcome
}

function eventsOf(net: StakingChain, run: () => void): string[] {
  const before = net.context.world.events().length
  run()
  return net.context.world
    .events()
    .slice(before)
    .map(({ type, attributes }) => `${type} ${attributes.map(({ key, value }) => `${key}=${value}`).join(' ')}`)
}

describe('a withdrawal', () => {
  it("pays a delegator's rewards to its withdraw address", () => {
    const net = chain()
    expect(
      run(net, 'MsgSetWithdrawAddress', { delegatorAddress: toBech32(A), withdrawAddress: toBech32(NOBODY) }),
    ).toEqual(new Uint8Array(0))
    const message = { delegatorAddress: toBech32(A), validatorAddress: operator }
    const events = eventsOf(net, () => {
      const answer = run(net, 'MsgWithdrawDelegatorReward', message) as Uint8Array
      expect(MsgWithdrawDelegatorRewardResponse.decode(answer).amount).toEqual(acoin(750n))
    })
    expect(net.context.world.getBalance(NOBODY)).toBe(750n)
    expect(events).toEqual([
      `commission amount=250.250000000000000000acoin validator=${operator}`,
      `rewards amount=1001.000000000000000000acoin validator=${operator}`,
      `coin_spent spender=${toBech32(DISTRIBUTION)} amount=750acoin`,
      `coin_received receiver=${toBech32(NOBODY)} amount=750acoin`,
      `transfer recipient=${toBech32(NOBODY)} sender=${toBech32(DISTRIBUTION)} amount=750acoin`,
      `message sender=${toBech32(DISTRIBUTION)}`,
      `withdraw_rewards amount=750acoin validator=${operator} delegator=${toBech32(A)}`,
    ])
    const again = run(net, 'MsgWithdrawDelegatorReward', message) as Uint8Array
    expect(MsgWithdrawDelegatorRewardResponse.decode(again).amount).toEqual(acoin(0n))
  })

  it("pays a validator's commission", () => {
    const net = chain()
    const events = eventsOf(net, () => {
      const answer = run(net, 'MsgWithdrawValidatorCommission', { validatorAddress: operator }) as Uint8Array
      expect(MsgWithdrawValidatorCommissionResponse.decode(answer).amount).toEqual(acoin(250n))
    })
    expect(events.at(-1)).toBe('withdraw_commission amount=250acoin')
    expect(net.context.world.getBalance(A)).toBe(250n)
    expect(commissionOf(net.context, A)).toBe(ONE / 4n)
    // What is below an acoin is there, but pays nothing.
    const again = run(net, 'MsgWithdrawValidatorCommission', { validatorAddress: operator }) as Uint8Array
    expect(MsgWithdrawValidatorCommissionResponse.decode(again).amount).toEqual([])
  })
})

it('gives to the community and spends for it by governance alone', () => {
  const net = chain()
  run(net, 'MsgFundCommunityPool', { depositor: holder, amount: acoin(70n) })
  const { world } = net.context
  expect(communityPool(world.native)).toBe(decimalOf(70n))
  const spend = { authority: GOV_AUTHORITY, recipient: toBech32(NOBODY), amount: acoin(30n) }
  expect(run(net, 'MsgCommunityPoolSpend', { ...spend, authority: holder })).toMatchObject({
    codespace: 'gov',
    code: 13,
  })
  expect(run(net, 'MsgCommunityPoolSpend', spend)).toEqual(new Uint8Array(0))
  expect([world.getBalance(NOBODY), communityPool(world.native)]).toEqual([30n, decimalOf(40n)])
  expect(run(net, 'MsgCommunityPoolSpend', { ...spend, amount: acoin(41n) })).toMatchObject({
    codespace: 'distribution',
    code: 9,
  })
  expect(run(net, 'MsgCommunityPoolSpend', { ...spend, recipient: toBech32(FEE_COLLECTOR) })).toMatchObject({
    codespace: 'sdk',
    code: 4,
  })
})

it("makes a deposit a validator's income, commission included", () => {
  const net = chain()
  run(net, 'MsgWithdrawDelegatorReward', { delegatorAddress: toBech32(A), validatorAddress: operator })
  run(net, 'MsgDepositValidatorRewardsPool', { depositor: holder, validatorAddress: operator, amount: acoin(400n) })
  expect(delegationRewards(net.context, A, A)).toBe(decimalOf(300n))
  expect(commissionOf(net.context, A)).toBe(decimalOf(350n) + ONE / 4n)
})

it('changes parameters by governance alone', () => {
  const net = chain()
  const params = { communityTax: ONE / 2n, baseProposerReward: 0n, bonusProposerReward: 0n, withdrawAddrEnabled: false }
  expect(run(net, 'MsgUpdateParams', { authority: holder, params })).toMatchObject({ codespace: 'gov', code: 13 })
  for (const wrong of [{ communityTax: ONE + 1n }, { communityTax: -1n }, { baseProposerReward: 1n }]) {
    expect(run(net, 'MsgUpdateParams', { authority: GOV_AUTHORITY, params: { ...params, ...wrong } })).toMatchObject({
      codespace: 'sdk',
      code: 18,
    })
  }
  expect(run(net, 'MsgUpdateParams', { authority: GOV_AUTHORITY, params })).toEqual(new Uint8Array(0))
  expect(DISTRIBUTION_PARAMS.get(net.context.world.native)).toEqual(params)
  expect(run(net, 'MsgSetWithdrawAddress', { delegatorAddress: holder, withdrawAddress: holder })).toMatchObject({
    codespace: 'distribution',
    code: 8,
  })
  net.end()
  net.begin({ fees: 100n })
  expect(communityPool(net.context.world.native)).toBe(decimalOf(50n))
})

const OTHERS = `0x${'22'.repeat(20)}`
it.each<[string, string, object, [string, number]]>([
  [
    'MsgSetWithdrawAddress',
    'to a module',
    { delegatorAddress: holder, withdrawAddress: toBech32(DISTRIBUTION) },
    ['sdk', 4],
  ],
  ['MsgSetWithdrawAddress', 'to no address', { delegatorAddress: holder, withdrawAddress: 'coin1x' }, ['sdk', 7]],
  ['MsgSetWithdrawAddress', 'of an operator', { delegatorAddress: operator, withdrawAddress: holder }, ['sdk', 7]],
  [
    'MsgWithdrawDelegatorReward',
    'without a validator',
    { delegatorAddress: holder, validatorAddress: OTHERS },
    ['staking', 3],
  ],
  [
    'MsgWithdrawDelegatorReward',
    'without a delegation',
    { delegatorAddress: holder, validatorAddress: operator },
    ['staking', 19],
  ],
  ['MsgWithdrawDelegatorReward', 'without anybody', { delegatorAddress: '', validatorAddress: operator }, ['sdk', 7]],
  ['MsgWithdrawDelegatorReward', 'from an account', { delegatorAddress: holder, validatorAddress: holder }, ['sdk', 7]],
  ['MsgWithdrawValidatorCommission', 'without a validator', { validatorAddress: OTHERS }, ['distribution', 7]],
  ['MsgFundCommunityPool', 'of nothing', { depositor: holder, amount: [] }, ['sdk', 10]],
  ['MsgFundCommunityPool', 'of zero', { depositor: holder, amount: acoin(0n) }, ['sdk', 10]],
  ['MsgFundCommunityPool', 'of less than nothing', { depositor: holder, amount: acoin(-5n) }, ['sdk', 10]],
  ['MsgFundCommunityPool', 'twice', { depositor: holder, amount: [...acoin(1n), ...acoin(1n)] }, ['sdk', 10]],
  [
    'MsgFundCommunityPool',
    'of other coins',
    { depositor: holder, amount: [{ denom: 'other', amount: 1n }] },
    ['sdk', 5],
  ],
  ['MsgFundCommunityPool', 'of too much', { depositor: holder, amount: acoin(10n ** 30n) }, ['sdk', 5]],
  [
    'MsgDepositValidatorRewardsPool',
    'for nobody',
    { depositor: holder, validatorAddress: OTHERS, amount: acoin(1n) },
    ['staking', 3],
  ],
  [
    'MsgDepositValidatorRewardsPool',
    'of too much',
    { depositor: holder, validatorAddress: operator, amount: acoin(10n ** 30n) },
    ['sdk', 5],
  ],
  [
    'MsgDepositValidatorRewardsPool',
    'of nothing',
    { depositor: holder, validatorAddress: operator, amount: [] },
    ['sdk', 10],
  ],
  [
    'MsgCommunityPoolSpend',
    'of other coins',
    { authority: GOV_AUTHORITY, recipient: holder, amount: [{ denom: 'other', amount: 1n }] },
    ['distribution', 9],
  ],
  ['MsgCommunityPoolSpend', 'of nothing', { authority: GOV_AUTHORITY, recipient: holder, amount: [] }, ['sdk', 10]],
])('%s %s is refused and changes nothing', (name, _, message, [codespace, code]) => {
  const net = chain()
  const before = net.changes()
  expect(run(net, name, message)).toMatchObject({ codespace, code })
  expect(net.changes()).toEqual(before)
})
