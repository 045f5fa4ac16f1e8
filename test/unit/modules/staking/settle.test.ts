import fc from 'fast-check'
import { expect, it } from 'vitest'
import { getSupply } from '../../../../src/modules/bank/ledger.ts'
import { BONDED_POOL, NOT_BONDED_POOL } from '../../../../src/modules/moduleAccounts.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import { allDelegations, getDelegation } from '../../../../src/modules/staking/delegations.ts'
import {
  beginRedelegate,
  cancelUnbonding,
  delegate,
  undelegate,
} from '../../../../src/modules/staking/delegatorActions.ts'
import { DUE_BUDGET_GAS } from '../../../../src/modules/staking/endStaking.ts'
import { allRedelegations } from '../../../../src/modules/staking/redelegations.ts'
import {
  pendingSlashes,
  SLASH_BUDGET_GAS,
  settledDelegation,
  settledUnbonding,
  settleSlashes,
} from '../../../../src/modules/staking/settle.ts'
import { slash } from '../../../../src/modules/staking/slash.ts'
import { allUnbondings } from '../../../../src/modules/staking/unbonding.ts'
import { consensusAddressOf, validators } from '../../../../src/modules/staking/validators.ts'
import type { Address } from '../../../../src/primitives/address.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'
import { ONE } from '../../../../src/primitives/decimal.ts'
import { firstSeed, runs } from '../../../propertyRuns.ts'
import { account, COIN, ok, StakingChain } from '../../../support/modules/stakingChain.ts'

const FAULTY = account(1)
const OTHERS = [account(2), account(3)]
const HOLDERS = [account(8), account(9), account(10)]

/** The most that one item may do beyond a budget: an unbonding with all its entries, or a redelegation. */
const ITEM_GAS = 300_000

function chain(slashBudget: number, holders: readonly Address[] = HOLDERS): StakingChain {
  const net = new StakingChain({
    validators: [FAULTY, ...OTHERS].map((operator) => ({ operator, stake: 1000n * COIN })),
    holders,
    slashBudget,
    staking: { maxEntries: 100 },
  })
  net.block()
  net.begin()
  return net
}

const amount = fc.bigInt(COIN / 1000n, 20n * COIN)
const holder = fc.constantFrom(...HOLDERS)
const other = fc.constantFrom(...OTHERS)
const operation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('delegate' as const), holder, amount }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('undelegate' as const), holder, amount }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('redelegate' as const), holder, other, amount }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('leave' as const), holder, other, amount }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cancel' as const), at: fc.nat(20), amount }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('slash' as const),
      ago: fc.integer({ min: 1, max: 6 }),
      fraction: fc.oneof(fc.constantFrom(ONE / 20n, ONE / 3n), fc.bigInt(0n, ONE / 2n)),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('block' as const), waitMs: fc.constantFrom(0, 0, 900) }) },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

/** @returns whether it was done */
function act(net: StakingChain, done: Operation, settleAtOnce: boolean): boolean {
  if (done.kind === 'block') {
    net.end()
    net.wait(done.waitMs)
    net.begin()
    return true
  }
  const { context } = net
  context.world.checkpoint()
  const outcome = (() => {
    switch (done.kind) {
      case 'delegate':
        return delegate(context, { delegator: done.holder, operator: FAULTY, amount: done.amount })
      case 'undelegate':
        return undelegate(context, { delegator: done.holder, operator: FAULTY, amount: done.amount })
      case 'redelegate': {
        const move = { delegator: done.holder, source: FAULTY, destination: done.other, amount: done.amount }
        return beginRedelegate(context, move)
      }
      case 'leave':
        return undelegate(context, { delegator: done.holder, operator: done.other, amount: done.amount })
      case 'cancel': {
        const all = [...allUnbondings(context.world.native)]
        const found = all[done.at % Math.max(all.length, 1)]
        return found && cancelUnbonding(context, { ...found, ...found.entries[0]!, amount: done.amount })
      }
      case 'slash': {
        const consensusAddress = consensusAddressOf(net.validator(FAULTY))
        const height = Math.max(context.block.height - done.ago, 1)
        return slash(
          context,
          { consensusAddress, height, power: 10n, fraction: done.fraction },
          { end: settleAtOnce ? Number.POSITIVE_INFINITY : 0 },
        )
      }
    }
  })()
  if (isSdkError(outcome)) context.world.revert()
  else context.world.commit()
  return !isSdkError(outcome)
}

/** Everything that the stakes of a chain are, as queries show it. */
function seen({ context: { world } }: StakingChain): Record<string, unknown> {
  const { native } = world
  return {
    holders: HOLDERS.map((address) => world.getBalance(address)),
    unbonding: [...allUnbondings(native)].map((record) =>
      settledUnbonding(native, record).entries.map(({ creationHeight, initialBalance, balance }) => [
        creationHeight,
        initialBalance,
        balance,
      ]),
    ),
    redelegating: [...allRedelegations(native)].map(({ entries }) =>
      entries.map(({ creationHeight, initialBalance, sharesDestination }) => [
        creationHeight,
        initialBalance,
        sharesDestination,
      ]),
    ),
    delegations: [...allDelegations(native)].flatMap((delegation) => {
      const { delegator, operator, shares } = settledDelegation(native, delegation)
      return shares === 0n ? [] : [[bytesToHex(delegator), bytesToHex(operator), shares]]
    }),
  }
}

/** What is equal once no slash is pending. */
function settled({ context: { world } }: StakingChain): Record<string, unknown> {
  const all = [...validators(world.native)]
  return {
    supply: getSupply(world),
    pools: [world.getBalance(BONDED_POOL), world.getBalance(NOT_BONDED_POOL)],
    validators: all.map(({ status, tokens, delegatorShares }) => [status, tokens, delegatorShares]),
  }
}

/** acoin (or shares of so many): the price of the destination's shares rounds, at a time that differs */
const DUST = 1000n

function expectClose(a: unknown, b: unknown): void {
  const round = (value: unknown, other: unknown): unknown => {
    if (typeof value === 'bigint' && typeof other === 'bigint') {
      const bound = value > 10n ** 30n ? DUST * ONE : DUST
      const difference = value - other
      return difference < bound && -difference < bound ? other : value
    }
    if (Array.isArray(value) && Array.isArray(other)) return value.map((each, index) => round(each, other[index]))
    if (typeof value === 'object' && value !== null && typeof other === 'object' && other !== null) {
      return Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, round(each, other[key as keyof typeof other])]),
      )
    }
    return value
  }
  expect(round(a, b)).toEqual(b)
}

it('makes late slashes act on every coin that left as if they had been complete at once', () => {
  let late = 0
  fc.assert(
    fc.property(fc.array(operation, { minLength: 20, maxLength: 60 }), (operations) => {
      const eager = chain(Number.POSITIVE_INFINITY)
      const lazy = chain(0)
      for (const done of operations) {
        expect(act(lazy, done, false), done.kind).toBe(act(eager, done, true))
        if (pendingSlashes(lazy.context.world.native).length > 0) late++
        expectClose(seen(lazy), seen(eager))
        lazy.check()
        eager.check()
      }
      settleSlashes(lazy.context, { end: Number.POSITIVE_INFINITY })
      expect(pendingSlashes(lazy.context.world.native)).toEqual([])
      expectClose([seen(lazy), settled(lazy)], [seen(eager), settled(eager)])
      lazy.check()
    }),
    { numRuns: runs(10), seed: firstSeed(1) },
  )
  expect(late).toBeGreaterThan(100)
})

/** `count` holders redelegate and undelegate from the faulty validator, some in each block. */
function departed(count: number): StakingChain {
  const holders = Array.from({ length: count }, (_, index) => {
    const address = new Uint8Array(20).fill(0x77)
    new DataView(address.buffer).setUint32(0, index)
    return address
  })
  const net = chain(SLASH_BUDGET_GAS, holders)
  for (const [index, delegator] of holders.entries()) {
    ok(delegate(net.context, { delegator, operator: FAULTY, amount: 10n * COIN }))
    ok(beginRedelegate(net.context, { delegator, source: FAULTY, destination: OTHERS[0]!, amount: 4n * COIN }))
    ok(undelegate(net.context, { delegator, operator: FAULTY, amount: 4n * COIN }))
    if (index % 60 === 59) {
      net.end()
      net.begin()
    }
  }
  net.end()
  return net
}

function workOf({ context }: StakingChain, run: () => void): number {
  const { work } = context.world.native
  const before = work.done
  run()
  return work.done - before
}

it('does the same work in a slash, and no more than its budget in a block, however much left since the fault', () => {
  const works = [60, 300].map((count) => {
    const net = departed(count)
    net.begin()
    const { context } = net
    const fault = {
      consensusAddress: consensusAddressOf(net.validator(FAULTY)),
      height: 2,
      power: 1000n,
      fraction: ONE / 10n,
    }
    let burnt = 0n
    const work = workOf(net, () => {
      burnt = slash(context, fault, { end: 0 })
    })
    // The rest of what 1,000 coins owe.
    expect(burnt).toBe(
      100n * COIN - (BigInt(count) * 8n * COIN) / 10n < 0n ? 0n : 100n * COIN - (BigInt(count) * 8n * COIN) / 10n,
    )
    return work
  })
  expect(works[1]! - works[0]!).toBeLessThan(20_000)

  const net = departed(300)
  const address = consensusAddressOf(net.validator(FAULTY))
  const evidence = net.doubleSign(FAULTY, 3, address)
  let blocks = 0
  for (;;) {
    const work = workOf(net, () => net.begin(blocks === 0 ? { misbehaviour: [evidence] } : {}))
    expect(work).toBeLessThan(SLASH_BUDGET_GAS + ITEM_GAS)
    net.check()
    blocks++
    if (pendingSlashes(net.context.world.native).length === 0) break
    net.end()
  }
  expect(blocks).toBeGreaterThan(3)
  const { native } = net.context.world
  for (const { entries } of allUnbondings(native))
    expect(entries.map(({ balance }) => balance)).toEqual([(4n * COIN * 19n) / 20n])
  for (const { delegator } of allRedelegations(native)) {
    expect(getDelegation(native, delegator, OTHERS[0]!)?.shares).toBe(((4n * COIN * 19n) / 20n) * ONE)
  }
})

it('pays what is due within the budget of each block, in order of time, and all of it', () => {
  const count = 300
  const net = departed(count)
  net.wait(60_000)
  let blocks = 0
  const paid: number[] = []
  const left = () => [...allUnbondings(net.context.world.native)].length
  while (left() > 0) {
    net.begin()
    const before = left()
    expect(workOf(net, () => net.end())).toBeLessThan(DUE_BUDGET_GAS + ITEM_GAS)
    net.check()
    paid.push(before - left())
    expect(++blocks).toBeLessThan(40)
  }
  expect(blocks).toBeGreaterThan(3)
  expect(paid.reduce((sum, each) => sum + each, 0)).toBe(count)
  net.block()
  expect([...allRedelegations(net.context.world.native)]).toEqual([])
})
