import * as theirs from 'cosmjs-types/cosmos/mint/v1beta1/mint'
import * as theirMessages from 'cosmjs-types/cosmos/mint/v1beta1/tx'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import { communityPool } from '../../../../src/modules/distribution/feePool.ts'
import { GOV_AUTHORITY } from '../../../../src/modules/gov/authority.ts'
import { MINT_MESSAGES, MsgUpdateParams, MsgUpdateParamsResponse } from '../../../../src/modules/mint/messages.ts'
import {
  annualProvisions,
  bondedRatio,
  getInflation,
  MAX_MINTED_SUPPLY_ACOIN,
  nextInflation,
} from '../../../../src/modules/mint/minter.ts'
import { MINT_PARAMS, MintParams } from '../../../../src/modules/mint/params.ts'
import { DISTRIBUTION, MINT } from '../../../../src/modules/moduleAccounts.ts'
import { decimalOf, ONE } from '../../../../src/primitives/decimal.ts'
import { account, COIN, StakingChain } from '../../../support/modules/stakingChain.ts'
import { count, decimals, expectSameWire, text, wireCase } from '../../../support/modules/wireCases.ts'

const A = account(1)
const PARAMS: MintParams = {
  mintDenom: 'acoin',
  inflationRateChange: (13n * ONE) / 100n,
  inflationMax: ONE / 5n,
  inflationMin: (7n * ONE) / 100n,
  goalBonded: (67n * ONE) / 100n,
  blocksPerYear: 6_311_520n,
}

const params = fc.record({
  mintDenom: text,
  inflationRateChange: decimals,
  inflationMax: decimals,
  inflationMin: decimals,
  goalBonded: decimals,
  blocksPerYear: count,
})
const CASES = [
  wireCase(MintParams, theirs.Params, params),
  wireCase(MsgUpdateParams, theirMessages.MsgUpdateParams, fc.record({ authority: text, params })),
  wireCase(MsgUpdateParamsResponse, theirMessages.MsgUpdateParamsResponse, fc.constant({})),
]
it.each(CASES.map((one) => [one.ours.name, one] as const))('%s has the form that cosmjs-types writes', (_, one) => {
  expectSameWire(one)
})

describe('the rate', () => {
  // The change of a year is
  // (1 - bonded / 0.67) x 0.13, that of a block a 6311520th of it; limits are 0.07 and 0.2.
  it.each([
    ['nothing bonded: it grows by all of 0.13 a year', 0n, 7, '70000020597257079'],
    ['everything bonded: it stays at the minimum', ONE, 7, '70000000000000000'],
    ['half bonded below the maximum', ONE / 2n, 10, '100000005226169707'],
    ['half bonded at the maximum', ONE / 2n, 20, '200000000000000000'],
    ['the goal is met', (67n * ONE) / 100n, 15, '150000000000000000'],
    ['over the goal it falls', ONE, 20, '199999989855082334'],
  ])('%s', (_, bonded, percent, expected) => {
    expect(nextInflation((BigInt(percent) * ONE) / 100n, PARAMS, bonded)).toBe(BigInt(expected))
  })
})

function chain(mint: Partial<MintParams>): StakingChain {
  return new StakingChain({
    validators: [{ operator: A, stake: 500_000n * COIN }],
    distribution: { communityTax: ONE / 50n },
    mint,
  })
}

it('mints nothing and writes nothing without inflation', () => {
  const net = chain({ inflationMax: 0n })
  net.block()
  net.block()
  const supply = getSupply(net.context.world)
  expect(net.block()).toEqual([])
  expect(getSupply(net.context.world)).toBe(supply)
})

it("gives a block's part of the year's coins to validators and the community", () => {
  // 1.5 million coins, a third of them bonded; always 10 % a year, 1000 blocks a year
  const net = chain({ inflationMax: ONE / 10n, inflationMin: ONE / 10n })
  const supply = 1_500_000n * COIN
  expect(bondedRatio(net.context)).toBe(333_333_333_333_333_333n)
  net.begin()
  expect(getInflation(net.context.world.native)).toBe(ONE / 10n)
  expect(getSupply(net.context.world)).toBe(supply + 150n * COIN)
  expect(annualProvisions(net.context)).toBe(decimalOf((supply + 150n * COIN) / 10n))
  // In the first block there is no commit to divide it by.
  expect(net.context.world.getBalance(DISTRIBUTION)).toBe(0n)
  net.end()
  net.begin()
  const minted = 150n * COIN + (supply + 150n * COIN) / 10_000n
  expect(getSupply(net.context.world)).toBe(supply + minted)
  expect(net.context.world.getBalance(DISTRIBUTION)).toBe(minted)
  expect(net.context.world.exists(MINT)).toBe(false)
  expect(communityPool(net.context.world.native)).toBe(decimalOf(minted) / 50n)
  net.check()
})

it.each<[string, Partial<MintParams>]>([
  ['another denomination', { mintDenom: 'other' }],
  ['no blocks a year', { blocksPerYear: 0n }],
  ['more than everything', { inflationMax: ONE + 1n }],
  ['a negative change', { inflationRateChange: -1n }],
  ['a minimum above the maximum', { inflationMin: ONE / 4n }],
  ['no goal', { goalBonded: 0n }],
])('parameters with %s are refused', (_, change) => {
  const net = chain({})
  net.begin()
  const before = MINT_PARAMS.get(net.context.world.native)
  const [update] = MINT_MESSAGES
  const refused = update!.run(net.context, { authority: GOV_AUTHORITY, params: { ...PARAMS, ...change } })
  expect(refused).toMatchObject({ codespace: 'sdk', code: 18 })
  expect(MINT_PARAMS.get(net.context.world.native)).toEqual(before)
})

it('takes parameters from governance alone', () => {
  const net = chain({})
  net.begin()
  const [update] = MINT_MESSAGES
  expect(update!.run(net.context, { authority: `0x${'01'.repeat(20)}`, params: PARAMS })).toMatchObject({ code: 13 })
  expect(update!.run(net.context, { authority: GOV_AUTHORITY, params: PARAMS })).toEqual(new Uint8Array(0))
  expect(MINT_PARAMS.get(net.context.world.native)).toEqual(PARAMS)
})

it('ends at its largest supply, so that no parameters can end the chain', () => {
  const net = chain({ inflationMax: ONE, inflationMin: ONE, blocksPerYear: 1n })
  for (let blocks = 0; blocks < 60; blocks++) net.block()
  expect(getSupply(net.context.world)).toBe(MAX_MINTED_SUPPLY_ACOIN)
  net.check()
})
