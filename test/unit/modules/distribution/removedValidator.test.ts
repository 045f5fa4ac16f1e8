import { expect, it } from 'vitest'
import { communityPool } from '../../../../src/modules/distribution/feePool.ts'
import { historicalOf } from '../../../../src/modules/distribution/periods.ts'
import { getRewards } from '../../../../src/modules/distribution/rewards.ts'
import { slashEventsFrom } from '../../../../src/modules/distribution/slashEvents.ts'
import { undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { getValidator } from '../../../../src/modules/staking/validators.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)

it('pays the commission of a removed validator and gives the rest to the community', () => {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 3n * COIN },
      { operator: B, stake: COIN, rate: ONE / 4n },
    ],
    distribution: { communityTax: 0n },
    staking: { unbondingTime: 4_000_000_000n },
  })
  net.block()
  net.block({ fees: 4001n })
  // Its slash event must go with it.
  net.block({ misbehaviour: [net.doubleSign(B, 2)] })
  const { native } = net.context.world
  expect([...slashEventsFrom(native, B, 0n)]).toHaveLength(1)
  net.begin()
  ok(undelegate(net.context, { delegator: B, operator: B, amount: net.validator(B).tokens }))
  const paid = net.context.world.getBalance(B)
  expect(paid).toBe(750n)
  net.check()
  net.end()
  while (getValidator(net.context.world.native, B) !== undefined) {
    net.block({ fees: 4n })
    net.check()
  }
  // It unbonds for 10 blocks after the one of its fault (3), whose set still is that of block 4: so it shares in the fees of
  // block 5, of which the community has what nobody is left to get.
  expect(net.height).toBe(13)
  const after = net.context.world.native
  expect(net.context.world.getBalance(B)).toBe(750n + 250n)
  expect(getRewards(after, B)).toBeUndefined()
  expect([...historicalOf(after, B)]).toEqual([])
  expect([...slashEventsFrom(after, B, 0n)]).toEqual([])
  // 1000.25 x 3/4 - 750 of the withdrawal, 1000.25 / 4 - 250 of the commission, and one of the four acoin of block 5
  expect(communityPool(after)).toBe(ONE / 4n + decimalOf(1n))
})

it('gives the community what a validator would get that is gone from staking but still in the last commit', () => {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 3n * COIN },
      { operator: B, stake: COIN },
    ],
    distribution: { communityTax: 0n },
    // Shorter than a block: it is removed at the end of the block after the one that takes its power.
    staking: { unbondingTime: 1_000_000n },
  })
  net.block()
  net.begin()
  ok(undelegate(net.context, { delegator: B, operator: B, amount: COIN }))
  net.end()
  net.block()
  expect(getValidator(net.context.world.native, B)).toBeUndefined()
  net.block({ fees: 4000n })
  net.check()
  net.block({ fees: 4000n })
  net.check()
  // The sets of blocks 3 and before have it, whose commits blocks 4 and before carry.
  expect(communityPool(net.context.world.native)).toBe(decimalOf(1000n))
})
