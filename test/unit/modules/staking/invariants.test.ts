import { beforeEach, expect, it } from 'vitest'
import { mint } from '../../../../src/modules/bank/ledger.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { deleteDelegation, putDelegation } from '../../../../src/modules/staking/delegations.ts'
import { beginRedelegate, delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { heightKey } from '../../../../src/modules/staking/heightIndex.ts'
import { poolSurplus, stakingInvariants } from '../../../../src/modules/staking/invariants.ts'
import {
  POWER_INDEX,
  REDELEGATIONS_BY_DESTINATION,
  REDELEGATIONS_BY_HEIGHT,
  REDELEGATIONS_BY_SOURCE,
  UNBONDING_BY_HEIGHT,
  UNBONDING_DELEGATIONS_BY_VALIDATOR,
} from '../../../../src/modules/staking/keys.ts'
import { dequeue, queued } from '../../../../src/modules/staking/queue.ts'
import { getUnbonding, putUnbonding } from '../../../../src/modules/staking/unbonding.ts'
import {
  consensusAddressOf,
  jail,
  putValidator,
  setLastPower,
  setOperator,
} from '../../../../src/modules/staking/validators.ts'
import { addressesKey } from '../../../../src/modules/storeKey.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const C = account(3)
const ANN = account(8)

let net: StakingChain

/** Ann has stake at A, some unbonding there and some moved on to B; C is unbonding. */
beforeEach(() => {
  net = new StakingChain({
    validators: [A, B, C].map((operator) => ({ operator, stake: 10n * COIN })),
    holders: [ANN],
  })
  net.block()
  net.begin()
  jail(net.context, consensusAddressOf(net.validator(C)))
  net.end()
  net.begin()
  ok(delegate(net.context, { delegator: ANN, operator: A, amount: 5n * COIN }))
  ok(undelegate(net.context, { delegator: ANN, operator: A, amount: COIN }))
  ok(beginRedelegate(net.context, { delegator: ANN, source: A, destination: B, amount: COIN }))
  expect(stakingInvariants(net.context)).toEqual([])
})

const native = () => net.context.world.native

it.each<[string, () => void, RegExp]>([
  [
    'coins too few in the bonded pool',
    () => net.context.world.subBalance(BONDED_POOL, 1n),
    /the bonded pool lacks 1acoin/,
  ],
  ['coins too few', () => net.context.world.subBalance(NOT_BONDED_POOL, 1n), /the not bonded pool lacks 1acoin/],
  ['tokens', () => putValidator(native(), { ...net.validator(A), tokens: 100n * COIN }), /bonded validators have/],
  ['a status', () => putValidator(native(), { ...net.validator(A), status: 'unbonded' }), /is unbonded, with power/],
  ['shares', () => putDelegation(native(), { delegator: ANN, operator: A, shares: 1n }), /shares, its delegations/],
  ['a delegation gone', () => deleteDelegation(native(), ANN, A), /shares, its delegations/],
  ['a delegation to nobody', () => putDelegation(native(), { delegator: A, operator: ANN, shares: 1n }), /of them to/],
  [
    'more coins unbonding than began',
    () => {
      const unbonding = getUnbonding(native(), ANN, A)!
      putUnbonding(native(), {
        ...unbonding,
        entries: unbonding.entries.map((one) => ({ ...one, initialBalance: 0n })),
      })
    },
    /unbonds/,
  ],
  [
    'a place among powers',
    () => native().delete([...native().range(POWER_INDEX)][0]![0]),
    /not in the order of powers/,
  ],
  ['a place too many', () => native().set(addressesKey(POWER_INDEX, C), C), /could be bonded/],
  ['a last power', () => setLastPower(native(), A, 0n), /is bonded, with power/],
  ['another last power', () => setLastPower(native(), A, 11n), /the total power is/],
  ['a last power of nobody', () => setLastPower(native(), ANN, 1n), /with power do not exist/],
  [
    'a key of another',
    () => setOperator(native(), consensusAddressOf(net.validator(A)), B),
    /not found by its consensus/,
  ],
  ['the queue', emptyQueue, /which nothing waits for/],
  [
    'the index of unbonding',
    () => native().delete(addressesKey(UNBONDING_DELEGATIONS_BY_VALIDATOR, A, ANN)),
    /not in the index/,
  ],
  ['the index of sources', () => native().delete(addressesKey(REDELEGATIONS_BY_SOURCE, A, ANN, B)), /is in no index/],
  [
    'the index of destinations',
    () => native().delete(addressesKey(REDELEGATIONS_BY_DESTINATION, ANN, B, A)),
    /destination's index/,
  ],
  [
    'the heights of unbonding',
    () => native().delete(heightKey({ prefix: UNBONDING_BY_HEIGHT, operator: A }, net.height, [ANN])),
    /1 heights at which something left a validator are not indexed/,
  ],
  [
    'the heights of redelegations',
    () => native().set(heightKey({ prefix: REDELEGATIONS_BY_HEIGHT, operator: B }, 1, [ANN, A]), Uint8Array.of(1)),
    /a height is indexed at which nothing left/,
  ],
])('notice what is wrong with %s', (_, spoil, expected) => {
  spoil()
  expect(stakingInvariants(net.context)).toEqual(expect.arrayContaining([expect.stringMatching(expected)]))
})

it('do not mind coins that somebody sends to a pool', () => {
  mint(net.context.world, BONDED_POOL, 5n)
  expect(stakingInvariants(net.context)).toEqual([])
  expect(poolSurplus(net.context)).toEqual({ bonded: 5n, notBonded: 0n })
})

function emptyQueue(): void {
  for (const due of [...queued(native())]) dequeue(native(), due)
}
