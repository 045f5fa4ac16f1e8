import fc from 'fast-check'
import { expect, it } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import { BONDED_POOL, DISTRIBUTION, FEE_COLLECTOR, NOT_BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { SdkError } from '../../../../src/modules/sdkError.ts'
import {
  beginRedelegate,
  cancelUnbonding,
  delegate,
  undelegate,
} from '../../../../src/modules/staking/delegatorActions.ts'
import { poolSurplus, stakingInvariants } from '../../../../src/modules/staking/invariants.ts'
import { createValidator } from '../../../../src/modules/staking/operatorActions.ts'
import { queued } from '../../../../src/modules/staking/queue.ts'
import { slash } from '../../../../src/modules/staking/slash.ts'
import { allUnbondings } from '../../../../src/modules/staking/unbonding.ts'
import { getValidator, jail, potentialPower, unjail } from '../../../../src/modules/staking/validators.ts'
import { ONE } from '../../../../src/primitives/decimal.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { runs } from '../../../propertyRuns.ts'
import { account, COIN, PAYER, StakingChain } from '../../../support/modules/stakingChain.ts'

const OPERATORS = [account(1), account(2), account(3), account(4), account(5)]
const HOLDERS = [account(8), account(9), account(10)]
const DELEGATORS = [...HOLDERS, ...OPERATORS]
const EVERYBODY = [...DELEGATORS, PAYER, BONDED_POOL, NOT_BONDED_POOL, DISTRIBUTION, FEE_COLLECTOR]

const operator = fc.nat(OPERATORS.length - 1).map((index) => OPERATORS[index]!)
const delegator = fc.nat(DELEGATORS.length - 1).map((index) => DELEGATORS[index]!)
/** acoin: specks, odd amounts, and what moves powers */
const amount = fc.oneof(fc.bigInt(1n, 5n), fc.bigInt(1n, COIN), fc.bigInt(1n, 20n * COIN))
const fraction = fc.oneof(fc.constantFrom(ONE, ONE / 20n, ONE / 3n, 1n), fc.bigInt(0n, ONE / 2n))

const operation = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('delegate' as const), delegator, operator, amount }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('undelegate' as const), delegator, operator, amount }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('redelegate' as const), delegator, operator, other: operator, amount }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), at: fc.nat(20), amount }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('create' as const), operator, amount }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('jail' as const), operator }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('unjail' as const), operator }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('slash' as const), operator, ago: fc.nat(6), fraction }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('block' as const), waitMs: fc.constantFrom(0, 0, 900) }) },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

function act(net: StakingChain, done: Operation): SdkError | object | bigint | undefined {
  const { context } = net
  const { native } = context.world
  const consensusAddress = 'operator' in done ? sha256(done.operator).slice(0, 20) : new Uint8Array(20)
  switch (done.kind) {
    case 'delegate':
      return delegate(context, done)
    case 'undelegate':
      return undelegate(context, done)
    case 'redelegate':
      return beginRedelegate(context, { ...done, source: done.operator, destination: done.other })
    case 'cancel': {
      const all = [...allUnbondings(native)]
      const found = all[done.at % Math.max(all.length, 1)]
      return found && cancelUnbonding(context, { ...found, ...found.entries[0]!, amount: done.amount })
    }
    case 'create':
      return createValidator(context, {
        operator: done.operator,
        publicKey: sha256(done.operator),
        description: { moniker: 'm', identity: '', website: '', securityContact: '', details: '' },
        commission: { rate: ONE / 10n, maxRate: ONE, maxChangeRate: ONE },
        minSelfDelegation: 1n + done.amount / 2n,
        amount: done.amount,
      })
    case 'jail':
      return jail(context, consensusAddress) as undefined
    case 'unjail':
      return unjail(context, consensusAddress) as undefined
    case 'slash': {
      const validator = getValidator(native, done.operator)
      const height = Math.max(context.block.height - done.ago, 1)
      const power = validator === undefined ? 3n : potentialPower(validator) + 1n
      return slash(context, { consensusAddress, height, power, fraction: done.fraction })
    }
    case 'block': {
      net.end()
      net.wait(done.waitMs)
      expect(
        [...queued(net.context.world.native)].every(({ timeMs }) => timeMs > net.context.block.timeMs - done.waitMs),
      ).toBe(true)
      net.begin()
    }
  }
  return undefined
}

/** All coins that there are, by account. */
function coinsOf(net: StakingChain): bigint {
  const { world } = net.context
  return EVERYBODY.reduce((sum, address) => sum + world.getBalance(address), 0n)
}

it('keeps all invariants and every coin through random histories', () => {
  const counts = new Map<string, number>()
  fc.assert(
    fc.property(fc.array(operation, { minLength: 20, maxLength: 60 }), (operations) => {
      const net = new StakingChain({
        validators: OPERATORS.slice(0, 3).map((operator, index) => ({ operator, stake: BigInt(index + 2) * COIN })),
        holders: DELEGATORS,
        staking: { maxValidators: 3, maxEntries: 3 },
      })
      net.begin()
      for (const done of operations) {
        const { world } = net.context
        if (done.kind === 'block') act(net, done)
        else {
          world.checkpoint()
          const supply = getSupply(world)
          const outcome = act(net, done)
          const failed = outcome instanceof SdkError
          if (failed) world.revert()
          else world.commit()
          const name = `${done.kind}${failed ? ' refused' : ''}`
          counts.set(name, (counts.get(name) ?? 0) + 1)
          if (done.kind !== 'slash') expect(getSupply(world)).toBe(supply)
        }
        expect(stakingInvariants(net.context)).toEqual([])
        expect(poolSurplus(net.context)).toEqual({ bonded: 0n, notBonded: 0n })
        expect(coinsOf(net)).toBe(getSupply(net.context.world))
      }
    }),
    { numRuns: runs(60) },
  )
  // Each operation has succeeded: the histories are not of refusals alone.
  for (const kind of ['delegate', 'undelegate', 'redelegate', 'cancel', 'create', 'slash']) {
    expect(counts.get(kind), kind).toBeGreaterThan(5)
  }
})
