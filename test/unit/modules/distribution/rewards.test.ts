import { expect, it } from 'vitest'
import { delegationRewards, withdrawDelegationRewards } from '../../../../src/modules/distribution/delegationRewards.ts'
import { communityPool } from '../../../../src/modules/distribution/feePool.ts'
import { beforeCommissionChanged } from '../../../../src/modules/distribution/hooks.ts'
import { commissionOf, outstandingRewards } from '../../../../src/modules/distribution/readRewards.ts'
import { withdrawCommission } from '../../../../src/modules/distribution/rewards.ts'
import { slashEvents } from '../../../../src/modules/distribution/slashEvents.ts'
import { DISTRIBUTION, FEE_COLLECTOR } from '../../../../src/modules/moduleAccounts.ts'
import { delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { putValidator } from '../../../../src/modules/staking/validators.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const HOLDER = account(9)

function chain(rate = ONE / 10n): StakingChain {
  return new StakingChain({
    validators: [
      { operator: A, stake: 3n * COIN, rate },
      { operator: B, stake: COIN },
    ],
    holders: [HOLDER],
  })
}

it('divides fees by power: tax and what is left over to the community, commission to the validator', () => {
  const net = chain()
  net.block()
  net.begin({ fees: 1001n })
  // 1001 - 2 % = 980.98; A has 3/4 of it = 735.735, of which 10 % are commission; B 245.245
  const { native } = net.context.world
  expect(communityPool(native)).toBe(20_020_000_000_000_000_000n)
  expect(outstandingRewards(net.context, A)).toBe(735_735_000_000_000_000_000n)
  expect(commissionOf(net.context, A)).toBe(73_573_500_000_000_000_000n)
  expect(delegationRewards(net.context, A, A)).toBe(662_161_500_000_000_000_000n)
  expect(delegationRewards(net.context, B, B)).toBe(245_245_000_000_000_000_000n)
  expect(net.context.world.getBalance(FEE_COLLECTOR)).toBe(0n)
  expect(net.context.world.getBalance(DISTRIBUTION)).toBe(1001n)
  net.check()

  expect(ok(withdrawDelegationRewards(net.context, A, A))).toBe(662n)
  expect(ok(withdrawCommission(net.context, A))).toBe(73n)
  expect(net.context.world.getBalance(A)).toBe(735n)
  // What a delegator gets less than an acoin of is the community's; the validator's stays.
  expect(communityPool(native)).toBe(20_181_500_000_000_000_000n)
  expect(commissionOf(net.context, A)).toBe(573_500_000_000_000_000n)
  expect(outstandingRewards(net.context, A)).toBe(573_500_000_000_000_000n)
  expect(ok(withdrawDelegationRewards(net.context, A, A))).toBe(0n)
  net.check()
})

it('keeps what cannot be divided for the community', () => {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 2n * COIN },
      { operator: B, stake: COIN },
    ],
    distribution: { communityTax: 0n },
  })
  net.block()
  net.begin({ fees: 1n })
  // The accumulator rises by 0.333… with 36 decimals; what it spends is rounded up.
  expect(delegationRewards(net.context, A, A)).toBe(666_666_666_666_666_666n)
  expect(delegationRewards(net.context, B, B)).toBe(333_333_333_333_333_333n)
  expect(communityPool(net.context.world.native)).toBe(0n)
  net.check()
})

it('writes nothing in an empty block and one record in one with fees', () => {
  const net = chain()
  net.block()
  expect(net.block()).not.toEqual([])
  expect(net.block()).toEqual([])
  expect(net.block({ fees: 5n })).toHaveLength(1)
  expect(net.block({ fees: 5n })).toHaveLength(1)
  expect(net.block()).toEqual([])
})

it('counts a delegation from the block in which its power signs', () => {
  const net = chain(0n)
  net.block()
  net.begin({ fees: 4000n })
  ok(delegate(net.context, { delegator: HOLDER, operator: B, amount: 4n * COIN }))
  net.end()
  // Still under the old powers, but the delegator has four fifths of B's stake.
  net.block({ fees: 4000n })
  expect(delegationRewards(net.context, HOLDER, B)).toBe(decimalOf(784n))
  net.block({ fees: 4000n })
  expect(delegationRewards(net.context, HOLDER, B)).toBe(decimalOf(1568n))
  // The delegation was in block 2: the set of block 4 has it, whose commit block 5 carries.
  net.block({ fees: 8000n })
  expect(net.height).toBe(5)
  expect(delegationRewards(net.context, HOLDER, B)).toBe(decimalOf(1568n + (7840n * 5n * 4n) / (8n * 5n)))
  expect(delegationRewards(net.context, A, A)).toBe(decimalOf(3n * 2940n + (7840n * 3n) / 8n))
  net.check()
})

it('pays what a delegation earned when it grows, shrinks and ends', () => {
  const net = chain(0n)
  net.block()
  net.begin()
  ok(delegate(net.context, { delegator: HOLDER, operator: B, amount: COIN }))
  net.end()
  net.block({ fees: 4000n })
  net.begin()
  const before = net.context.world.getBalance(HOLDER)
  ok(delegate(net.context, { delegator: HOLDER, operator: B, amount: COIN }))
  expect(net.context.world.getBalance(HOLDER) - before).toBe(490n - COIN)
  net.check()
  net.end()
  net.begin({ fees: 3000n })
  ok(undelegate(net.context, { delegator: HOLDER, operator: B, amount: 2n * COIN }))
  // block 5 has the commit of block 4, which B signed with 2 of 5; two thirds of that are the holder's
  expect(net.context.world.getBalance(HOLDER) - before).toBe(490n - COIN + 784n)
  net.check()
  net.end()
  net.block({ fees: 1000n })
  expect(delegationRewards(net.context, HOLDER, B)).toMatchObject({ codespace: 'staking', code: 19 })
  net.check()
})

it('uses the commission rate of the time at which fees came in', () => {
  const net = chain()
  net.block()
  net.block({ fees: 1000n })
  net.begin()
  beforeCommissionChanged(net.context, A)
  const validator = net.validator(A)
  putValidator(net.context.world.native, {
    ...validator,
    commission: { ...validator.commission, rate: ONE / 2n },
  })
  net.end()
  net.block({ fees: 1000n })
  expect(commissionOf(net.context, A)).toBe(decimalOf(735n) / 10n + decimalOf(735n) / 2n)
  net.check()
})

it('leaves every delegator its part of the rewards when its validator is slashed', () => {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 4n * COIN },
      { operator: B, stake: 4n * COIN },
    ],
    holders: [HOLDER],
    distribution: { communityTax: 0n },
  })
  net.block()
  net.begin()
  ok(delegate(net.context, { delegator: HOLDER, operator: A, amount: 4n * COIN }))
  net.end()
  net.block({ fees: 1600n })
  // A signs twice at height 3: 5 % of its 4 coins of power then. It is slashed after the fees of block 4 came in.
  net.block({ fees: 1600n, misbehaviour: [net.doubleSign(A, 3)] })
  expect(slashEvents(net.context, A, 0, 100)).toEqual([{ period: 3n, height: 4, fraction: 25n * 10n ** 15n }])
  expect(net.validator(A)).toMatchObject({ tokens: 8n * COIN - COIN / 5n, jailed: true, status: 'unbonding' })
  expect(delegationRewards(net.context, HOLDER, A)).toBe(decimalOf(800n))
  net.check()
  // The set of block 4 is the first with the delegation (8 of 12), that of block 6 the first without A.
  net.begin({ fees: 1200n })
  expect(delegationRewards(net.context, HOLDER, A)).toBe(decimalOf(800n + 400n))
  ok(delegate(net.context, { delegator: HOLDER, operator: A, amount: COIN }))
  net.end()
  net.check()
  net.block({ fees: 1200n })
  net.block({ fees: 1200n })
  expect(delegationRewards(net.context, B, B)).toBe(decimalOf(800n + 800n + 400n + 400n + 1200n))
  net.check()
})
