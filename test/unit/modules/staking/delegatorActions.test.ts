import { describe, expect, it } from 'vitest'
import { BONDED_POOL, NOT_BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { delegationsOf, delegationsTo, getDelegation } from '../../../../src/modules/staking/delegations.ts'
import {
  beginRedelegate,
  cancelUnbonding,
  delegate,
  NO_TIME_MS,
  undelegate,
} from '../../../../src/modules/staking/delegatorActions.ts'
import { getRedelegation, redelegationsFrom, redelegationsOf } from '../../../../src/modules/staking/redelegations.ts'
import { getUnbonding, unbondingsFrom, unbondingsOf } from '../../../../src/modules/staking/unbonding.ts'
import { consensusAddressOf, jail, unjail } from '../../../../src/modules/staking/validators.ts'
import { decimalOf } from '../../../../src/primitives/decimal.ts'
import { burnTokens } from '../../../support/modules/staking/burnTokens.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const C = account(3)
const ANN = account(8)
const BOB = account(9)
const UNBONDING_MS = 4000
const MILLION = 1_000_000n * COIN

/** Three validators of 10, 20 and 30 coins, two holders of a million; in a block. */
function chain(staking: ConstructorParameters<typeof StakingChain>[0]['staking'] = {}): StakingChain {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 10n * COIN },
      { operator: B, stake: 20n * COIN },
      { operator: C, stake: 30n * COIN },
    ],
    holders: [ANN, BOB],
    staking,
  })
  net.block()
  net.begin()
  return net
}

const poolsOf = (net: StakingChain) => ({
  bonded: net.context.world.getBalance(BONDED_POOL) / COIN,
  notBonded: net.context.world.getBalance(NOT_BONDED_POOL) / COIN,
})
const sharesOf = (net: StakingChain, delegator: Uint8Array, operator: Uint8Array) =>
  getDelegation(net.context.world.native, delegator, operator)?.shares

/** Events of the last operation that are staking's own, attributes in order. */
function eventsOf(net: StakingChain, act: () => void) {
  const { world } = net.context
  const before = world.events().length
  act()
  return world
    .events()
    .slice(before)
    .map(({ type, attributes }) => [type, ...attributes.map(({ key, value }) => `${key}=${value}`)])
}

describe('delegating', () => {
  it('moves coins into the bonded pool for shares, one each', () => {
    const net = chain()
    expect(delegate(net.context, { delegator: ANN, operator: A, amount: 5n * COIN })).toEqual({
      newShares: decimalOf(5n * COIN),
    })
    expect(delegate(net.context, { delegator: ANN, operator: A, amount: COIN })).toEqual({ newShares: decimalOf(COIN) })
    expect(sharesOf(net, ANN, A)).toBe(decimalOf(6n * COIN))
    expect(net.validator(A)).toMatchObject({ tokens: 16n * COIN, delegatorShares: decimalOf(16n * COIN) })
    expect(net.context.world.getBalance(ANN)).toBe(MILLION - 6n * COIN)
    expect(poolsOf(net)).toEqual({ bonded: 66n, notBonded: 0n })
    net.check()
  })

  it('is refused before shares exceed a uint256, in which contracts see them', () => {
    const net = chain()
    const stake = { delegator: ANN, operator: A, amount: COIN }
    for (let times = 0; times < 2; times++) {
      burnTokens(net.context, A, net.validator(A).tokens - 1n)
      ok(delegate(net.context, stake))
    }
    burnTokens(net.context, A, net.validator(A).tokens - 1n)
    expect(delegate(net.context, stake)).toMatchObject({ codespace: 'staking' })
    ok(delegate(net.context, { ...stake, amount: 1n }))
    expect(net.validator(A).delegatorShares).toBeLessThan(2n ** 256n)
  })

  it('emits the events of the SDK', () => {
    const net = chain()
    expect(eventsOf(net, () => ok(delegate(net.context, { delegator: ANN, operator: A, amount: 5n })))).toEqual([
      ['coin_spent', 'spender=coin1pqyqszqgpqyqszqgpqyqszqgpqyqszqghxhl2t', 'amount=5acoin'],
      ['coin_received', expect.stringMatching(/^receiver=coin1/), 'amount=5acoin'],
      [
        'delegate',
        expect.stringMatching(/^validator=coinvaloper1/),
        'delegator=coin1pqyqszqgpqyqszqgpqyqszqgpqyqszqghxhl2t',
        'amount=5acoin',
        'new_shares=5.000000000000000000',
      ],
    ])
  })

  it.each([
    ['nothing', A, 0n, { codespace: 'sdk', code: 18 }],
    ['less than nothing', A, -1n, { codespace: 'sdk', code: 18 }],
    ['more than it has', A, MILLION + 1n, { codespace: 'sdk', code: 5 }],
    ['to nobody', ANN, 1n, { codespace: 'staking', code: 3 }],
  ])('refuses %s', (_, operator, amount, expected) => {
    const net = chain()
    expect(delegate(net.context, { delegator: ANN, operator, amount })).toMatchObject(expected)
  })

  it('to a validator that was slashed gives more shares than coins, and refuses one that was slashed to nothing', () => {
    const net = chain()
    burnTokens(net.context, A, (10n * COIN) / 4n)
    expect(delegate(net.context, { delegator: ANN, operator: A, amount: 3n })).toEqual({ newShares: decimalOf(4n) })
    burnTokens(net.context, A, net.validator(A).tokens)
    expect(delegate(net.context, { delegator: ANN, operator: A, amount: 3n })).toMatchObject({
      codespace: 'staking',
      code: 34,
    })
    expect(undelegate(net.context, { delegator: ANN, operator: A, amount: 1n })).toMatchObject({
      codespace: 'staking',
      code: 22,
    })
    net.check()
  })

  it('to a validator that is not bonded fills the other pool', () => {
    const net = chain()
    jail(net.context, consensusAddressOf(net.validator(A)))
    net.end()
    expect(net.validator(A).status).toBe('unbonding')
    net.begin()
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: COIN }))
    expect(poolsOf(net)).toEqual({ bonded: 50n, notBonded: 11n })
    net.check()
  })

  it('walks delegations of one account and to one validator, both ways and from anywhere', () => {
    const net = chain()
    const { native } = net.context.world
    for (const [delegator, operator] of [
      [ANN, B],
      [ANN, A],
      [BOB, A],
    ] as const) {
      ok(delegate(net.context, { delegator, operator, amount: COIN }))
    }
    const first = (walk: Iterable<{ delegator: Uint8Array; operator: Uint8Array }>) =>
      [...walk].map(({ delegator, operator }) => [delegator[0], operator[0]])
    expect(first(delegationsOf(native, ANN))).toEqual([
      [8, 1],
      [8, 2],
    ])
    expect(first(delegationsOf(native, ANN, { start: B }))).toEqual([[8, 2]])
    expect(first(delegationsOf(native, ANN, { start: B, reverse: true }))).toEqual([
      [8, 2],
      [8, 1],
    ])
    expect(first(delegationsTo(native, A, { start: ANN }))).toEqual([
      [8, 1],
      [9, 1],
    ])
  })
})

describe('undelegating', () => {
  it('pays after the unbonding time, from the not bonded pool', () => {
    const net = chain()
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: 5n * COIN }))
    const { block } = net.context
    const begun = undelegate(net.context, { delegator: ANN, operator: A, amount: 2n * COIN })
    const completionTimeMs = block.timeMs + UNBONDING_MS
    expect(begun).toEqual({ completionTimeMs, creationHeight: 2, amount: 2n * COIN })
    expect(poolsOf(net)).toEqual({ bonded: 63n, notBonded: 2n })
    expect(getUnbonding(net.context.world.native, ANN, A)!.entries).toEqual([
      { creationHeight: 2, completionTimeMs, initialBalance: 2n * COIN, balance: 2n * COIN, id: 1n },
    ])
    net.check()
    net.end()
    for (let height = 3; height < 12; height++) net.block()
    expect(net.context.world.getBalance(ANN)).toBe(MILLION - 5n * COIN)
    net.begin()
    expect(net.context.block.timeMs).toBe(completionTimeMs)
    net.end()
    expect(net.context.world.getBalance(ANN)).toBe(MILLION - 3n * COIN)
    expect(getUnbonding(net.context.world.native, ANN, A)).toBeUndefined()
    expect(poolsOf(net)).toEqual({ bonded: 63n, notBonded: 0n })
    net.check()
  })

  describe('at a price of 3/4', () => {
    /** Ann has 4 shares, worth 3 acoin. */
    function slashed(): StakingChain {
      const net = chain()
      ok(delegate(net.context, { delegator: ANN, operator: A, amount: 4n }))
      burnTokens(net.context, A, net.validator(A).tokens / 4n)
      return net
    }
    const take = (net: StakingChain, amount: bigint) => undelegate(net.context, { delegator: ANN, operator: A, amount })

    it('ends the delegation with all of its shares', () => {
      const net = slashed()
      expect(take(net, 4n)).toMatchObject({ codespace: 'sdk', code: 18 })
      expect(take(net, 3n)).toMatchObject({ amount: 3n })
      expect(sharesOf(net, ANN, A)).toBeUndefined()
      net.check()
    })

    it('leaves the dust that rounding makes', () => {
      const net = slashed()
      // 2 acoin are 2.666666666666666666 shares; those are worth 1.9999999999999999995 acoin, which rounds to even.
      expect(take(net, 2n)).toMatchObject({ amount: 2n })
      expect(sharesOf(net, ANN, A)).toBe(1_333_333_333_333_333_334n)
      expect(take(net, 1n)).toMatchObject({ amount: 1n })
      expect(sharesOf(net, ANN, A)).toBe(1n)
      expect(take(net, 1n)).toMatchObject({ codespace: 'sdk', code: 18 })
      net.check()
    })
  })

  it.each([
    ['nothing', A, 0n, { codespace: 'sdk', code: 18 }],
    ['more than was delegated', A, 5n * COIN + 1n, { codespace: 'sdk', code: 18 }],
    ['where nothing was delegated', B, 1n, { codespace: 'staking', code: 19 }],
    ['from nobody', ANN, 1n, { codespace: 'staking', code: 3 }],
  ])('refuses %s', (_, operator, amount, expected) => {
    const net = chain()
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: 5n * COIN }))
    expect(undelegate(net.context, { delegator: ANN, operator, amount })).toMatchObject(expected)
  })

  it('in one block is one entry; there may be max_entries of them', () => {
    const net = chain({ maxEntries: 2 })
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: 5n * COIN }))
    const take = () => undelegate(net.context, { delegator: ANN, operator: A, amount: COIN })
    ok(take())
    ok(take())
    expect(getUnbonding(net.context.world.native, ANN, A)!.entries).toMatchObject([
      { balance: 2n * COIN, initialBalance: 2n * COIN, id: 1n },
    ])
    net.end()
    net.begin()
    ok(take())
    // The SDK refuses by the number of entries, also where the coins would join one.
    expect(take()).toMatchObject({ codespace: 'staking', code: 27 })
    expect(getUnbonding(net.context.world.native, ANN, A)!.entries.map(({ id }) => id)).toEqual([1n, 3n])
    net.check()
  })

  it('by the operator below the minimum jails its validator, which falls out at the end of the block', () => {
    const net = chain()
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: COIN }))
    ok(undelegate(net.context, { delegator: A, operator: A, amount: 10n * COIN - 1n }))
    expect(net.validator(A).jailed).toBe(false)
    ok(undelegate(net.context, { delegator: A, operator: A, amount: 1n }))
    expect(net.validator(A)).toMatchObject({ jailed: true, status: 'bonded' })
    net.check()
    net.end()
    expect(net.validator(A).status).toBe('unbonding')
    expect(net.powers(4)).toHaveLength(2)
    net.check()
  })

  it('by everybody removes a validator as soon as it is unbonded', () => {
    const net = chain()
    ok(undelegate(net.context, { delegator: A, operator: A, amount: 10n * COIN }))
    net.end()
    expect(net.validator(A)).toMatchObject({ status: 'unbonding', delegatorShares: 0n, unbondingIds: [2n] })
    net.wait(UNBONDING_MS)
    net.block()
    expect(net.validator(A)).toBeUndefined()
    expect(net.context.world.getBalance(A)).toBe(10n * COIN)
    net.check()
  })

  it('by the last delegator removes a validator that is unbonded already', () => {
    const net = chain()
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: COIN }))
    jail(net.context, consensusAddressOf(net.validator(A)))
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    expect(net.validator(A).status).toBe('unbonded')
    net.begin()
    ok(undelegate(net.context, { delegator: A, operator: A, amount: 10n * COIN }))
    expect(net.validator(A)).toMatchObject({ tokens: COIN })
    ok(undelegate(net.context, { delegator: ANN, operator: A, amount: COIN }))
    expect(net.validator(A)).toBeUndefined()
    expect(poolsOf(net)).toEqual({ bonded: 50n, notBonded: 11n })
    net.check()
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    expect(net.context.world.getBalance(ANN)).toBe(MILLION)
    net.check()
  })

  it('lists what unbonds by delegator and by validator', () => {
    const net = chain()
    const { native } = net.context.world
    for (const [delegator, operator] of [
      [ANN, A],
      [ANN, B],
      [BOB, A],
    ] as const) {
      ok(delegate(net.context, { delegator, operator, amount: COIN }))
      ok(undelegate(net.context, { delegator, operator, amount: COIN }))
    }
    expect([...unbondingsOf(native, ANN)].map(({ operator }) => operator[0])).toEqual([1, 2])
    expect([...unbondingsOf(native, ANN, { start: A, reverse: true })].map(({ operator }) => operator[0])).toEqual([1])
    expect([...unbondingsFrom(native, A, { start: BOB })].map(({ delegator }) => delegator[0])).toEqual([9])
  })
})

describe('cancelling an unbonding', () => {
  function undelegated(): StakingChain {
    const net = chain()
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: 5n * COIN }))
    ok(undelegate(net.context, { delegator: ANN, operator: A, amount: 3n * COIN }))
    net.end()
    net.begin()
    return net
  }
  const cancelled = { delegator: ANN, operator: A, amount: COIN, creationHeight: 2 }

  it('delegates a part again, and all of it', () => {
    const net = undelegated()
    expect(cancelUnbonding(net.context, cancelled)).toBeUndefined()
    expect(getUnbonding(net.context.world.native, ANN, A)!.entries).toMatchObject([
      { balance: 2n * COIN, initialBalance: 2n * COIN },
    ])
    expect(sharesOf(net, ANN, A)).toBe(decimalOf(3n * COIN))
    expect(poolsOf(net)).toEqual({ bonded: 63n, notBonded: 2n })
    net.check()
    expect(cancelUnbonding(net.context, { ...cancelled, amount: 2n * COIN })).toBeUndefined()
    expect(getUnbonding(net.context.world.native, ANN, A)).toBeUndefined()
    net.check()
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    expect(poolsOf(net)).toEqual({ bonded: 65n, notBonded: 0n })
    net.check()
  })

  it.each([
    ['nothing', { amount: 0n }, { codespace: 'sdk', code: 18 }],
    ['no height', { creationHeight: 0 }, { codespace: 'sdk', code: 18 }],
    ['another height', { creationHeight: 3 }, { codespace: 'sdk', code: 38 }],
    ['more than unbonds', { amount: 3n * COIN + 1n }, { codespace: 'sdk', code: 18 }],
    ['what another one unbonds', { delegator: BOB }, { codespace: 'sdk', code: 38 }],
    ['at nobody', { operator: ANN }, { codespace: 'staking', code: 3 }],
  ])('refuses %s', (_, changed, expected) => {
    const net = undelegated()
    expect(cancelUnbonding(net.context, { ...cancelled, ...changed })).toMatchObject(expected)
  })

  it('refuses a jailed validator, and coins that are due in this block', () => {
    const net = undelegated()
    jail(net.context, consensusAddressOf(net.validator(A)))
    expect(cancelUnbonding(net.context, cancelled)).toMatchObject({ codespace: 'staking', code: 7 })
    unjail(net.context, consensusAddressOf(net.validator(A)))
    net.end()
    net.wait(UNBONDING_MS)
    net.begin()
    expect(cancelUnbonding(net.context, cancelled)).toMatchObject({
      codespace: 'sdk',
      code: 18,
      message: 'unbonding delegation is already processed: invalid request',
    })
  })
})

describe('redelegating', () => {
  const moved = { delegator: ANN, source: A, destination: B, amount: 2n * COIN }
  function delegated(staking: Parameters<typeof chain>[0] = {}): StakingChain {
    const net = chain(staking)
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: 5n * COIN }))
    return net
  }

  it('moves stake at once and remembers it for the unbonding time', () => {
    const net = delegated()
    const completionTimeMs = net.context.block.timeMs + UNBONDING_MS
    expect(beginRedelegate(net.context, moved)).toEqual({ completionTimeMs })
    expect(sharesOf(net, ANN, A)).toBe(decimalOf(3n * COIN))
    expect(sharesOf(net, ANN, B)).toBe(decimalOf(2n * COIN))
    expect(poolsOf(net)).toEqual({ bonded: 65n, notBonded: 0n })
    const { native } = net.context.world
    expect(getRedelegation(native, ANN, A, B)!.entries).toEqual([
      {
        creationHeight: 2,
        completionTimeMs,
        initialBalance: 2n * COIN,
        sharesDestination: decimalOf(2n * COIN),
        id: 1n,
      },
    ])
    expect([...redelegationsFrom(native, A)]).toEqual([...redelegationsOf(native, ANN)])
    net.check()
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    expect(getRedelegation(net.context.world.native, ANN, A, B)).toBeUndefined()
    net.check()
  })

  it('between prices gives as many shares as the coins buy', () => {
    const net = delegated()
    burnTokens(net.context, B, 5n * COIN)
    ok(beginRedelegate(net.context, { ...moved, amount: 3n }))
    expect(sharesOf(net, ANN, B)).toBe(decimalOf(4n))
  })

  it.each([
    ['nothing', { amount: 0n }, { codespace: 'sdk', code: 18 }],
    ['more than there is', { amount: 5n * COIN + 1n }, { codespace: 'sdk', code: 18 }],
    ['to the same validator', { destination: A }, { codespace: 'staking', code: 29 }],
    ['to nobody', { destination: BOB }, { codespace: 'staking', code: 31 }],
    ['from nobody', { source: BOB }, { codespace: 'staking', code: 3 }],
    ['what another one delegated', { delegator: BOB }, { codespace: 'staking', code: 19 }],
  ])('refuses %s', (_, changed, expected) => {
    const net = delegated()
    expect(beginRedelegate(net.context, { ...moved, ...changed })).toMatchObject(expected)
  })

  it('refuses to move on what came by a redelegation, until that is over', () => {
    const net = delegated()
    ok(delegate(net.context, { delegator: ANN, operator: B, amount: COIN }))
    ok(beginRedelegate(net.context, moved))
    const onwards = { delegator: ANN, source: B, destination: C, amount: COIN }
    expect(beginRedelegate(net.context, onwards)).toMatchObject({ codespace: 'staking', code: 32 })
    // Others may, and she may from elsewhere.
    ok(beginRedelegate(net.context, { ...moved, destination: C, amount: COIN }))
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    net.begin()
    ok(beginRedelegate(net.context, onwards))
    net.check()
  })

  it('has max_entries places from one to another validator', () => {
    const net = delegated({ maxEntries: 2 })
    ok(beginRedelegate(net.context, { ...moved, amount: COIN }))
    ok(beginRedelegate(net.context, { ...moved, amount: COIN }))
    expect(beginRedelegate(net.context, { ...moved, amount: COIN })).toMatchObject({ codespace: 'staking', code: 33 })
    ok(beginRedelegate(net.context, { ...moved, destination: C, amount: COIN }))
    net.check()
  })

  it('refuses coins that are worth nothing', () => {
    const net = chain()
    burnTokens(net.context, A, (10n * COIN) / 3n)
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: 2n }))
    const begun = beginRedelegate(net.context, { ...moved, amount: 1n })
    expect(begun).toMatchObject({ codespace: 'staking', code: 30 })
  })

  it('from an unbonding validator ends with it, from an unbonded one at once', () => {
    const net = delegated()
    jail(net.context, consensusAddressOf(net.validator(A)))
    net.end()
    const { unbondingTimeMs, unbondingHeight } = net.validator(A)
    net.begin()
    expect(beginRedelegate(net.context, { ...moved, amount: COIN })).toEqual({ completionTimeMs: unbondingTimeMs })
    expect(getRedelegation(net.context.world.native, ANN, A, B)!.entries).toMatchObject([
      { creationHeight: unbondingHeight, completionTimeMs: unbondingTimeMs },
    ])
    expect(poolsOf(net)).toEqual({ bonded: 51n, notBonded: 14n })
    net.check()
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    net.begin()
    expect(beginRedelegate(net.context, { ...moved, amount: COIN })).toEqual({ completionTimeMs: NO_TIME_MS })
    expect(getRedelegation(net.context.world.native, ANN, A, B)).toBeUndefined()
    net.check()
  })
})
