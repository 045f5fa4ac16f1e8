import { describe, expect, it, vi } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { getDelegation } from '../../../../src/modules/staking/delegations.ts'
import { beginRedelegate, delegate, undelegate } from '../../../../src/modules/staking/delegatorActions.ts'
import { UNBONDING_DELEGATIONS } from '../../../../src/modules/staking/keys.ts'
import { editValidator } from '../../../../src/modules/staking/operatorActions.ts'
import { tokensFromShares } from '../../../../src/modules/staking/shares.ts'
import { slash } from '../../../../src/modules/staking/slash.ts'
import { getUnbonding } from '../../../../src/modules/staking/unbonding.ts'
import { consensusAddressOf, jail, unjail } from '../../../../src/modules/staking/validators.ts'
import { addressesKey } from '../../../../src/modules/storeKey.ts'
import type { Address } from '../../../../src/primitives/address.ts'
import { bytesKey } from '../../../../src/primitives/bytes.ts'
import { type Decimal, ONE, truncate } from '../../../../src/primitives/decimal.ts'
import { burnTokens } from '../../../support/modules/staking/burnTokens.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const A = account(1)
const B = account(2)
const ANN = account(8)
const BOB = account(9)
const TENTH = ONE / 10n
const UNBONDING_MS = 4000

/** A has 100 coins of its own and 50 of each holder; B has 100. Height 3 runs, nothing has left since height 2. */
function chain(): StakingChain {
  const net = new StakingChain({
    validators: [
      { operator: A, stake: 100n * COIN },
      { operator: B, stake: 100n * COIN },
    ],
    holders: [ANN, BOB],
  })
  net.block()
  net.begin()
  for (const delegator of [ANN, BOB]) ok(delegate(net.context, { delegator, operator: A, amount: 50n * COIN }))
  net.end()
  net.begin()
  return net
}

/** Slashes A for a fault at `height` with the power of its 200 coins. */
function slashA(net: StakingChain, height: number, fraction: Decimal = TENTH, power = 200n): bigint {
  const consensusAddress = consensusAddressOf(net.validator(A))
  const supply = getSupply(net.context.world)
  const held = stakeOf(net)
  const burnt = slash(net.context, { consensusAddress, height, power, fraction })
  expect(supply - getSupply(net.context.world)).toBe(held - stakeOf(net))
  net.check()
  return burnt
}

function stakeOf({ context: { world } }: StakingChain): bigint {
  return world.getBalance(BONDED_POOL) + world.getBalance(NOT_BONDED_POOL)
}

function worth(net: StakingChain, delegator: Address, operator: Address): bigint {
  const delegation = getDelegation(net.context.world.native, delegator, operator)
  return delegation === undefined ? 0n : truncate(tokensFromShares(net.validator(operator), delegation.shares))
}

const unbonds = (net: StakingChain, operator = A) =>
  getUnbonding(net.context.world.native, ANN, operator)?.entries.map(({ balance }) => balance)

describe('a slash', () => {
  it('burns the fraction of the power at the fault; all delegators lose alike', () => {
    const net = chain()
    expect(slashA(net, 2)).toBe(20n * COIN)
    expect(net.validator(A)).toMatchObject({ tokens: 180n * COIN, delegatorShares: 200n * COIN * ONE })
    expect([worth(net, A, A), worth(net, ANN, A), worth(net, B, B)]).toEqual([90n * COIN, 45n * COIN, 100n * COIN])
  })

  it('counts what the validator had then, not what it has now', () => {
    const net = chain()
    ok(delegate(net.context, { delegator: ANN, operator: A, amount: 200n * COIN }))
    expect(slashA(net, 2)).toBe(20n * COIN)
    expect(net.validator(A).tokens).toBe(380n * COIN)
  })

  it('takes no more than there is', () => {
    const net = chain()
    expect(slashA(net, 2, ONE, 1_000_000n)).toBe(200n * COIN)
    expect(net.validator(A).tokens).toBe(0n)
    // What has no tokens has no power: it falls out, its shares stay.
    net.end()
    expect(net.validator(A).status).toBe('unbonding')
    net.check()
  })

  it('of nothing, or of a stranger, changes nothing', () => {
    const net = chain()
    expect(slashA(net, 2, 0n)).toBe(0n)
    expect(slashA(net, 2, TENTH, 0n)).toBe(0n)
    const fault = { consensusAddress: account(7), height: 2, power: 5n, fraction: TENTH }
    expect(slash(net.context, fault)).toBe(0n)
    expect(net.validator(A).tokens).toBe(200n * COIN)
  })

  it.each([
    ['a fault in the future', { height: 4 }],
    ['more than everything', { fraction: ONE + 1n }],
    ['a negative fraction', { fraction: -1n }],
  ])('for %s is a bug', (_, changed) => {
    const net = chain()
    const consensusAddress = consensusAddressOf(net.validator(A))
    const fault = { consensusAddress, height: 2, power: 5n, fraction: TENTH, ...changed }
    expect(() => slash(net.context, fault)).toThrow(RangeError)
  })

  it('follows a validator while it unbonds, but not when it is unbonded', () => {
    const net = chain()
    jail(net.context, consensusAddressOf(net.validator(A)))
    net.end()
    net.begin()
    expect(net.context.world.getBalance(NOT_BONDED_POOL)).toBe(200n * COIN)
    expect(slashA(net, 2)).toBe(20n * COIN)
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    net.begin()
    expect(slashA(net, 2)).toBe(0n)
  })

  it('truncates to whole acoin', () => {
    const net = chain()
    expect(slashA(net, 2, 1n)).toBe(200n)
    expect(slashA(net, 2, 3n, 1n)).toBe(3n)
  })
})

describe('unbonding coins', () => {
  function undelegated(): StakingChain {
    const net = chain()
    ok(undelegate(net.context, { delegator: ANN, operator: A, amount: 40n * COIN }))
    net.end()
    net.begin()
    return net
  }

  it('are slashed for a fault before they left, and the validator by as much less', () => {
    const net = undelegated()
    expect(slashA(net, 3)).toBe(16n * COIN)
    expect(unbonds(net)).toEqual([36n * COIN])
    expect(net.validator(A).tokens).toBe(144n * COIN)
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    expect(net.context.world.getBalance(ANN)).toBe(1_000_000n * COIN - 14n * COIN)
  })

  it('that began before the fault are not even read', () => {
    const net = undelegated()
    ok(undelegate(net.context, { delegator: BOB, operator: A, amount: 10n * COIN }))
    net.end()
    net.begin()
    const { native } = net.context.world
    const reads = vi.spyOn(native, 'get')
    const consensusAddress = consensusAddressOf(net.validator(A))
    slash(net.context, { consensusAddress, height: 4, power: 200n, fraction: TENTH })
    const keys = new Set(reads.mock.calls.map(([key]) => bytesKey(key)))
    const records = [...keys].filter((key) => key.startsWith(bytesKey(UNBONDING_DELEGATIONS)))
    expect(records).toEqual([bytesKey(addressesKey(UNBONDING_DELEGATIONS, BOB, A))])
    net.check()
  })

  it('are not slashed for a fault after they left', () => {
    const net = undelegated()
    net.end()
    net.begin()
    expect(slashA(net, 4, TENTH, 160n)).toBe(16n * COIN)
    expect(unbonds(net)).toEqual([40n * COIN])
  })

  it('of the block of the fault are not looked for when it is slashed in that block', () => {
    const net = undelegated()
    expect(slashA(net, 4)).toBe(20n * COIN)
    expect(unbonds(net)).toEqual([40n * COIN])
  })

  it('are slashed by what they began with, down to nothing', () => {
    const net = undelegated()
    for (const left of [30n, 20n, 10n, 0n]) {
      slashA(net, 3, ONE / 4n, 0n)
      expect(unbonds(net)).toEqual([left * COIN])
    }
    // Nothing is left to take, but the validator is still spared as if there were.
    expect(slashA(net, 3, ONE / 4n, 200n)).toBe(40n * COIN)
    net.end()
    net.wait(UNBONDING_MS)
    net.block()
    expect(getUnbonding(net.context.world.native, ANN, A)).toBeUndefined()
    expect(net.context.world.getBalance(ANN)).toBe(1_000_000n * COIN - 50n * COIN)
  })

  it('that are due are out of reach', () => {
    const net = undelegated()
    net.end()
    net.wait(UNBONDING_MS)
    net.begin()
    expect(slashA(net, 3)).toBe(20n * COIN)
    expect(unbonds(net)).toEqual([40n * COIN])
  })
})

describe('redelegated stake', () => {
  /** Ann moved 40 coins from A to B at height 3; height 4 runs. */
  function redelegated(): StakingChain {
    const net = chain()
    ok(beginRedelegate(net.context, { delegator: ANN, source: A, destination: B, amount: 40n * COIN }))
    net.end()
    net.begin()
    return net
  }

  it('is slashed where it is now, and the source by as much less', () => {
    const net = redelegated()
    expect(slashA(net, 3)).toBe(16n * COIN)
    expect(worth(net, ANN, B)).toBe(36n * COIN)
    expect(worth(net, B, B)).toBe(100n * COIN)
    expect(net.validator(B).tokens).toBe(136n * COIN)
    expect(net.validator(A).tokens).toBe(144n * COIN)
  })

  it('is not slashed for a fault after it left, nor for one of the destination twice', () => {
    const net = redelegated()
    net.end()
    net.begin()
    expect(slashA(net, 4, TENTH, 160n)).toBe(16n * COIN)
    expect(worth(net, ANN, B)).toBe(40n * COIN)
  })

  it('whose destination was slashed gives the fraction of its shares', () => {
    const net = redelegated()
    burnTokens(net.context, B, 70n * COIN)
    slashA(net, 3)
    // A tenth of 40 shares at half an acoin each; the others' price stays.
    expect(net.validator(B).tokens).toBe(68n * COIN)
    expect(worth(net, ANN, B)).toBe(18n * COIN)
    expect(worth(net, B, B)).toBe(50n * COIN)
  })

  it('that is being undelegated is slashed there first, and in all by no more than the fraction', () => {
    const net = redelegated()
    ok(undelegate(net.context, { delegator: ANN, operator: B, amount: 39n * COIN }))
    net.end()
    net.begin()
    expect(slashA(net, 3)).toBe(16n * COIN)
    expect(unbonds(net, B)).toEqual([35n * COIN])
    expect(worth(net, ANN, B)).toBe(COIN)
  })

  it('is taken from the delegation as far as unbonding coins do not suffice', () => {
    const net = redelegated()
    ok(undelegate(net.context, { delegator: ANN, operator: B, amount: 3n * COIN }))
    expect(slashA(net, 3)).toBe(16n * COIN)
    expect(unbonds(net, B)).toEqual([0n])
    // 4 coins were to be burnt: 3 of those that unbond, 1 of the delegation.
    expect(worth(net, ANN, B)).toBe(36n * COIN)
    expect(net.validator(B).tokens).toBe(136n * COIN)
  })

  it('that has gone altogether cannot be slashed; the source is spared all the same', () => {
    const net = redelegated()
    ok(undelegate(net.context, { delegator: ANN, operator: B, amount: 40n * COIN }))
    net.end()
    for (let blocks = 0; blocks < 8; blocks++) net.block()
    net.begin()
    // The redelegation of height 3 ends in this block.
    expect(slashA(net, 3)).toBe(20n * COIN)
    expect(worth(net, ANN, B)).toBe(0n)
  })

  it('of an operator to its own validator can jail that', () => {
    const net = new StakingChain({
      validators: [
        { operator: A, stake: 100n * COIN },
        { operator: B, stake: COIN },
      ],
      holders: [ANN, B],
    })
    net.block()
    net.begin()
    ok(delegate(net.context, { delegator: B, operator: A, amount: 100n * COIN }))
    ok(beginRedelegate(net.context, { delegator: B, source: A, destination: B, amount: 100n * COIN }))
    const promise = { ...net.validator(B), commissionRate: undefined, minSelfDelegation: 50n * COIN }
    expect(editValidator(net.context, promise)).toBeUndefined()
    net.end()
    net.begin()
    slashA(net, 2, ONE / 2n, 200n)
    expect(net.validator(B)).toMatchObject({ jailed: false, tokens: 51n * COIN })
    slashA(net, 2, ONE / 2n, 200n)
    expect(net.validator(B)).toMatchObject({ jailed: true })
    net.end()
    net.check()
  })

  it('that was the last of an unbonded validator takes that with it', () => {
    const net = chain()
    // B unbonds, only Ann's redelegated coins stay with it.
    jail(net.context, consensusAddressOf(net.validator(B)))
    ok(undelegate(net.context, { delegator: B, operator: B, amount: 100n * COIN }))
    net.end()
    net.wait(UNBONDING_MS - 800)
    net.begin()
    ok(beginRedelegate(net.context, { delegator: ANN, source: A, destination: B, amount: 40n * COIN }))
    net.end()
    net.wait(800)
    net.block()
    net.begin()
    expect(net.validator(B)).toMatchObject({ status: 'unbonded', tokens: 40n * COIN })
    slashA(net, 3, ONE, 200n)
    expect(net.validator(B)).toBeUndefined()
  })
})

describe('jailing', () => {
  it('is for validators that exist, once; letting out too', () => {
    const net = chain()
    const address = consensusAddressOf(net.validator(A))
    unjail(net.context, address)
    expect(net.validator(A).jailed).toBe(false)
    jail(net.context, address)
    jail(net.context, address)
    jail(net.context, account(7))
    expect(net.validator(A)).toMatchObject({ jailed: true, status: 'bonded' })
    unjail(net.context, address)
    net.check()
    net.end()
    expect(net.validator(A)).toMatchObject({ jailed: false, status: 'bonded' })
    expect(net.powers(5)).toEqual(net.powers(4))
  })
})
