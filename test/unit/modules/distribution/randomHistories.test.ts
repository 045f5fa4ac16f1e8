import fc from 'fast-check'
import { expect, it } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import { delegationRewards, withdrawDelegationRewards } from '../../../../src/modules/distribution/delegationRewards.ts'
import { communityPool, communityPoolSpend, fundCommunityPool } from '../../../../src/modules/distribution/feePool.ts'
import { outstandingRewards } from '../../../../src/modules/distribution/readRewards.ts'
import { depositValidatorRewards, withdrawCommission } from '../../../../src/modules/distribution/rewards.ts'
import { isCommitted } from '../../../../src/modules/evidence/evidence.ts'
import { DISTRIBUTION } from '../../../../src/modules/moduleAccounts.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { unjailValidator } from '../../../../src/modules/slashing/jail.ts'
import { delegationsTo } from '../../../../src/modules/staking/delegations.ts'
import { beginRedelegate, delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { stakingInvariants } from '../../../../src/modules/staking/invariants.ts'
import { consensusAddressOf, getValidator, validators } from '../../../../src/modules/staking/validators.ts'
import { bytesKey } from '../../../../src/primitives/bytes.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { runs } from '../../../propertyRuns.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const OPERATORS = [account(1), account(2), account(3), account(4)]
const HOLDERS = [account(11), account(12), account(13)]
const DELEGATORS = [...HOLDERS, ...OPERATORS]

/** Amounts that divide well and badly. */
const amount = fc.oneof(fc.constantFrom(1n, 3n, COIN, 7n * COIN), fc.bigInt(1n, 50n * COIN))
const operator = fc.constantFrom(...OPERATORS)
const delegator = fc.constantFrom(...DELEGATORS)
const holder = fc.constantFrom(...HOLDERS)

/** gives an error where it is refused */
type Step = (net: StakingChain) => unknown

const STEPS: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.tuple(fc.bigInt(0n, 100n * COIN), fc.subarray(OPERATORS, { maxLength: 2 })).map(
      ([fees, absent]): Step =>
        (net) => {
          net.end()
          net.begin({ fees, absent })
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(operator, fc.nat(4)).map(
      ([guilty, ago]): Step =>
        (net) => {
          const height = net.height - ago
          const validator = getValidator(net.context.world.native, guilty)
          if (validator === undefined || height < 1) return
          const consensusAddress = consensusAddressOf(validator)
          if (isCommitted(net.context.world.native, consensusAddress, height)) return
          const key = bytesKey(consensusAddress)
          if (!net.powers(height).some(({ address }) => bytesKey(address) === key)) return
          net.end()
          net.begin({ fees: 5n, misbehaviour: [net.doubleSign(guilty, height)] })
        },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(70_000).map(
      (ms): Step =>
        (net) => {
          net.end()
          net.wait(ms)
          net.begin({ fees: COIN })
        },
    ),
  },
  {
    weight: 6,
    arbitrary: fc.tuple(delegator, operator, amount).map(
      ([from, to, acoin]): Step =>
        (net) =>
          delegate(net.context, { delegator: from, operator: to, amount: acoin }),
    ),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(delegator, operator, amount).map(
      ([from, to, acoin]): Step =>
        (net) =>
          undelegate(net.context, { delegator: from, operator: to, amount: acoin }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(delegator, operator, operator, amount).map(
      ([from, source, destination, acoin]): Step =>
        (net) =>
          beginRedelegate(net.context, { delegator: from, source, destination, amount: acoin }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(delegator, operator).map(
      ([from, to]): Step =>
        (net) =>
          withdrawDelegationRewards(net.context, from, to),
    ),
  },
  {
    weight: 2,
    arbitrary: operator.map(
      (from): Step =>
        (net) =>
          withdrawCommission(net.context, from),
    ),
  },
  {
    weight: 2,
    arbitrary: operator.map(
      (from): Step =>
        (net) =>
          unjailValidator(net.context, from),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(holder, operator, amount).map(
      ([from, to, acoin]): Step =>
        (net) =>
          depositValidatorRewards(net.context, from, to, acoin),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(holder, amount).map(
      ([from, acoin]): Step =>
        (net) =>
          fundCommunityPool(net.context, from, acoin),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(holder, amount).map(
      ([to, acoin]): Step =>
        (net) =>
          communityPoolSpend(net.context, to, acoin),
    ),
  },
)

function start(): StakingChain {
  const net = new StakingChain({
    validators: OPERATORS.map((validator, index) => ({
      operator: validator,
      stake: BigInt(index * 7 + 3) * COIN + BigInt(index),
      rate: (ONE * BigInt(index)) / 7n,
    })),
    holders: HOLDERS,
    slashing: { signedBlocksWindow: 6n, downtimeJailDuration: 20_000_000_000n },
  })
  net.begin()
  return net
}

/** A step as a transaction is run: what fails is undone. Hooks of blocks are outside of it. */
function take(net: StakingChain, step: Step): void {
  const height = net.height
  net.context.world.checkpoint()
  const { world } = net.context
  const outcome = step(net)
  // A step that began a block has another journal now, in which nothing is open.
  if (net.height !== height) return
  if (isSdkError(outcome)) world.revert()
  else world.commit()
}

it('owes no more than it has after every operation of random histories, and loses no more than dust', () => {
  fc.assert(
    fc.property(fc.array(STEPS, { minLength: 20, maxLength: 60 }), (steps) => {
      const net = start()
      const supply = getSupply(net.context.world)
      for (const step of steps) {
        take(net, step)
        net.check()
        expect(stakingInvariants(net.context)).toEqual([])
        expect(getSupply(net.context.world)).toBeLessThanOrEqual(supply)
      }
      const { world } = net.context
      let owed = communityPool(world.native)
      for (const validator of validators(world.native)) {
        const outstanding = ok(outstandingRewards(net.context, validator.operator))
        owed += outstanding
      }
      // What rounding keeps from everybody: a few 10^-18 acoin for every block and accrual.
      const dust = decimalOf(world.getBalance(DISTRIBUTION)) - owed
      expect(dust).toBeLessThan(10_000n)
    }),
    { numRuns: runs(20) },
  )
})

it('pays everybody at the end, and then owes next to nothing', () => {
  fc.assert(
    fc.property(fc.array(STEPS, { minLength: 10, maxLength: 40 }), (steps) => {
      const net = start()
      for (const step of steps) take(net, step)
      const { native } = net.context.world
      for (const { operator: of } of [...validators(native)]) {
        for (const { delegator: from } of [...delegationsTo(native, of)]) {
          const expected = ok(delegationRewards(net.context, from, of))
          expect(ok(withdrawDelegationRewards(net.context, from, of))).toBe(expected / ONE)
        }
        const commission = withdrawCommission(net.context, of)
        if (isSdkError(commission)) expect(commission.code).toBe(7)
        net.check()
      }
      for (const { operator: of } of validators(native)) {
        // Less than an acoin of commission, and some 10^-18.
        expect(ok(outstandingRewards(net.context, of))).toBeLessThan(ONE + 10_000n)
      }
    }),
    { numRuns: runs(20) },
  )
})
