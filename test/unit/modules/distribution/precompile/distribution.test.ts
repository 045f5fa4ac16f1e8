import { getAddress, type Hex, keccak256, toHex, zeroAddress } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { DISTRIBUTION_GAS } from '../../../../../src/modules/distribution/messages.ts'
import { DISTRIBUTION, GOVERNANCE } from '../../../../../src/modules/moduleAccounts.ts'
import { slash } from '../../../../../src/modules/staking/slash.ts'
import { consensusAddressOf, getValidator } from '../../../../../src/modules/staking/validators.ts'
import { bytesToHex, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import {
  ALICE,
  accountOf,
  BOB,
  COIN,
  FUNDS,
  NativeChain,
  OPERATORS,
  operatorOf,
} from '../../../../support/precompiles/nativeChain.ts'

const [FIRST, SECOND, THIRD] = OPERATORS as [Hex, Hex, Hex]
const NO_PAGE = { key: '0x', offset: 0n, limit: 0n, countTotal: false, reverse: false }

let chain: NativeChain

/** Alice delegates 100 COIN to each validator, Bob to the first; then the validators earn fees. */
beforeEach(async () => {
  chain = new NativeChain()
  for (const operator of OPERATORS)
    await chain.send(ALICE, 'staking', 'delegate', [ALICE, operatorOf(operator), 100n * COIN])
  await chain.send(BOB, 'staking', 'delegate', [BOB, operatorOf(FIRST), 100n * COIN])
  chain.nextBlock()
  chain.nextBlock()
  chain.nextBlock({ fees: 1000n * COIN })
})

const rewards = async (delegator: Hex, operator: Hex) => {
  const { result } = await chain.read('distribution', 'delegationRewards', [delegator, operatorOf(operator)])
  return (result as { amount: bigint }[])[0]?.amount ?? 0n
}
const withdraw = (from: Hex, operator: Hex) =>
  chain.send(from, 'distribution', 'withdrawDelegatorRewards', [from, operatorOf(operator)])

describe('withdrawDelegatorRewards', () => {
  it('pays what the query says, once', async () => {
    const due = await rewards(ALICE, FIRST)
    expect(due).toBeGreaterThan(COIN)
    const before = chain.balance(ALICE)
    const outcome = await withdraw(ALICE, FIRST)
    expect(outcome.result).toEqual([{ denom: 'acoin', amount: due }])
    expect(outcome.events).toMatchObject([
      {
        eventName: 'WithdrawDelegatorReward',
        args: { delegatorAddress: getAddress(ALICE), validatorAddress: FIRST, amount: due },
      },
    ])
    expect(outcome.native.map(({ type }) => type)).toContain('withdraw_rewards')
    expect(chain.balance(ALICE)).toBe(before + due)
    const again = await withdraw(ALICE, FIRST)
    expect(again.result).toEqual([{ denom: 'acoin', amount: 0n }])
    expect(again.events).toMatchObject([{ args: { amount: 0n } }])
    expect(chain.problems()).toEqual([])
  })

  it('pays to the withdraw address, which contracts and other accounts may be', async () => {
    const receiver: Hex = '0x5ec0000000000000000000000000000000000001'
    const set = await chain.send(ALICE, 'distribution', 'setWithdrawAddress', [ALICE, receiver])
    expect(set.events).toMatchObject([
      {
        eventName: 'SetWithdrawerAddress',
        args: { caller: getAddress(ALICE), withdrawerAddress: accountOf(receiver) },
      },
    ])
    expect((await chain.read('distribution', 'delegatorWithdrawAddress', [ALICE])).result).toBe(accountOf(receiver))
    const due = await rewards(ALICE, FIRST)
    await withdraw(ALICE, FIRST)
    expect(chain.balance(receiver)).toBe(due)
    expect((await chain.send(ALICE, 'distribution', 'setWithdrawAddress', [ALICE, accountOf(ALICE)])).result).toBe(true)
    expect((await chain.read('distribution', 'delegatorWithdrawAddress', [ALICE])).result).toBe(accountOf(ALICE))
  })

  it.each([
    [
      'of somebody else',
      () => chain.send(BOB, 'distribution', 'withdrawDelegatorRewards', [ALICE, operatorOf(FIRST)]),
      /does not match the requester/,
    ],
    ['without a delegation', () => withdraw(BOB, SECOND), /^no delegation for \(address, validator\) tuple$/],
    [
      'of no validator',
      () => chain.send(BOB, 'distribution', 'withdrawDelegatorRewards', [BOB, operatorOf(BOB)]),
      /^validator does not exist$/,
    ],
    [
      'to the community pool',
      () => chain.send(BOB, 'distribution', 'setWithdrawAddress', [BOB, accountOf(bytesToHex(DISTRIBUTION))]),
      /is not allowed to receive external funds/,
    ],
    [
      'to a precompile',
      () => chain.send(BOB, 'distribution', 'setWithdrawAddress', [BOB, '0x0000000000000000000000000000000000000801']),
      /is not allowed to receive external funds/,
    ],
    [
      'to no address',
      () => chain.send(BOB, 'distribution', 'setWithdrawAddress', [BOB, 'bob']),
      /expected 0x and 40 hex digits/,
    ],
    [
      'for somebody else',
      () => chain.send(BOB, 'distribution', 'setWithdrawAddress', [ALICE, BOB]),
      /does not match the requester/,
    ],
    [
      'as the address 0',
      () => chain.send(BOB, 'distribution', 'setWithdrawAddress', [zeroAddress, BOB]),
      new RegExp(`^invalid delegator address: ${zeroAddress}$`),
    ],
  ] as const)('is refused %s', async (_what, run, reason) => {
    const before = [...chain.snapshot()].filter(([key]) => key !== BOB)
    const outcome = await run()
    expect([outcome.reason, outcome.events]).toEqual([expect.stringMatching(reason), []])
    expect([...chain.snapshot()].filter(([key]) => key !== BOB)).toEqual(before)
  })
})

describe('claimRewards', () => {
  it('withdraws from as many validators as it is told, for gas of each', async () => {
    const due = [await rewards(ALICE, FIRST), await rewards(ALICE, SECOND), await rewards(ALICE, THIRD)]
    const claim = (count: number) => chain.send(ALICE, 'distribution', 'claimRewards', [ALICE, count])
    const two = await claim(2)
    expect(two.events).toMatchObject([{ eventName: 'ClaimRewards', args: { amount: due[0]! + due[1]! } }])
    expect(await rewards(ALICE, THIRD)).toBe(due[2])
    const none = await claim(0)
    expect(none.events).toMatchObject([{ args: { amount: 0n } }])
    expect(two.applied.gasUsed).toBeGreaterThanOrEqual(
      none.applied.gasUsed + 2n * DISTRIBUTION_GAS.withdrawRewards - 1_000n,
    )
    const all = await claim(50)
    expect(all.events).toMatchObject([{ args: { amount: due[2] } }])
    expect((await claim(51)).reason).toBe('maxRetrieve (51) parameter exceeds the maximum number of validators (50)')
    expect((await chain.send(BOB, 'distribution', 'claimRewards', [ALICE, 1])).reason).toMatch(/does not match/)
    expect(chain.problems()).toEqual([])
  })

  it('withdraws nothing at all when its gas does not reach for all of them', async () => {
    const { applied } = await chain.read('distribution', 'claimRewards', [ALICE, 50], ALICE)
    const before = chain.balance(ALICE)
    const short = await chain.send(ALICE, 'distribution', 'claimRewards', [ALICE, 50], { gas: applied.gasUsed - 1n })
    expect(short.status).toBe('failure')
    expect(chain.balance(ALICE)).toBe(before)
    expect(await rewards(ALICE, FIRST)).toBeGreaterThan(0n)
  })
})

describe('withdrawValidatorCommission', () => {
  it('pays the operator, and nobody else', async () => {
    const { result } = await chain.read('distribution', 'validatorCommission', [operatorOf(SECOND)])
    const due = (result as { amount: bigint }[])[0]!.amount
    expect(
      (await chain.send(ALICE, 'distribution', 'withdrawValidatorCommission', [operatorOf(SECOND)])).reason,
    ).toMatch(/does not match the requester/)
    const before = chain.balance(SECOND)
    const outcome = await chain.send(SECOND, 'distribution', 'withdrawValidatorCommission', [operatorOf(SECOND)])
    expect(outcome.result).toEqual([{ denom: 'acoin', amount: due }])
    expect(outcome.events).toMatchObject([
      {
        eventName: 'WithdrawValidatorCommission',
        args: { validatorAddress: keccak256(toHex(operatorOf(SECOND))), commission: due },
      },
    ])
    expect(chain.balance(SECOND)).toBe(before + due)
    chain.native((context) => slash(context, infraction(SECOND)))
    expect(chain.problems()).toEqual([])
  })

  it('has nothing for who is no validator', async () => {
    const outcome = await chain.send(BOB, 'distribution', 'withdrawValidatorCommission', [operatorOf(BOB)])
    expect(outcome.reason).toBe('no validator commission to withdraw')
    expect((await chain.send(BOB, 'distribution', 'withdrawValidatorCommission', [''])).reason).toMatch(/expected/)
  })
})

describe('deposits', () => {
  const coins = (amount: bigint, denom = 'acoin') => [{ denom, amount }]

  it('go to the community', async () => {
    const pool = async () =>
      ((await chain.read('distribution', 'communityPool')).result as { amount: bigint }[])[0]!.amount
    const before = await pool()
    const outcome = await chain.send(ALICE, 'distribution', 'fundCommunityPool', [ALICE, coins(COIN)])
    expect(outcome.events).toMatchObject([
      { eventName: 'FundCommunityPool', args: { depositor: getAddress(ALICE), denom: 'acoin', amount: COIN } },
    ])
    expect((await pool()) - before).toBe(COIN)
    expect(chain.problems()).toEqual([])
  })

  it('go to a validator and its delegators', async () => {
    const before = await rewards(ALICE, FIRST)
    const args = [BOB, operatorOf(FIRST), coins(10n * COIN)]
    const outcome = await chain.send(BOB, 'distribution', 'depositValidatorRewardsPool', args)
    expect(outcome.events).toMatchObject([
      {
        eventName: 'DepositValidatorRewardsPool',
        args: { validatorAddress: FIRST, denom: 'acoin', amount: 10n * COIN },
      },
    ])
    // a third of it without the commission of 10 %
    expect((await rewards(ALICE, FIRST)) - before).toBe(3n * COIN)
    expect(chain.problems()).toEqual([])
  })

  it.each([
    ['more than there is', coins(FUNDS), /insufficient funds/],
    ['another coin', coins(1n, 'other'), /insufficient funds/],
    ['nothing', [], /invalid coins/],
    ['an amount of 0', coins(0n), /invalid coins/],
    ['a coin twice', [...coins(1n), ...coins(1n)], /invalid coins/],
    ['no coin', coins(1n, ''), /invalid coins/],
    ['coins with one that there is not', [...coins(1n), ...coins(1n, 'zzz')], /insufficient funds/],
  ] as const)('of %s are refused', async (_what, amount, reason) => {
    for (const [name, args] of [
      ['fundCommunityPool', [ALICE, amount]],
      ['depositValidatorRewardsPool', [ALICE, operatorOf(FIRST), amount]],
    ] as const) {
      const outcome = await chain.send(ALICE, 'distribution', name, args)
      expect([outcome.reason, outcome.events]).toEqual([expect.stringMatching(reason), []])
    }
    expect(chain.problems()).toEqual([])
  })

  it('of somebody else are refused', async () => {
    const fund = await chain.send(ALICE, 'distribution', 'fundCommunityPool', [BOB, coins(1n)])
    expect(fund.reason).toMatch(/does not match/)
    const nobody = await chain.send(ALICE, 'distribution', 'fundCommunityPool', [zeroAddress, coins(1n)])
    expect(nobody.reason).toBe(`invalid hex address address: ${zeroAddress}`)
    const pool = await chain.send(ALICE, 'distribution', 'depositValidatorRewardsPool', [
      ALICE,
      operatorOf(bytesToHex(GOVERNANCE)),
      coins(1n),
    ])
    expect(pool.reason).toMatch(/validator does not exist/)
  })
})

const infraction = (operator: Hex) => {
  const validator = getValidator(chain.context.world.native, hexToBytes(operator))!
  const power = validator.tokens / COIN
  return { consensusAddress: consensusAddressOf(validator), height: chain.height, power, fraction: COIN / 10n }
}

describe('queries', () => {
  it('sum up', async () => {
    const all = await chain.read('distribution', 'delegationTotalRewards', [ALICE])
    const [list, total] = all.result as [
      { validatorAddress: string; reward: { amount: bigint }[] }[],
      { amount: bigint }[],
    ]
    expect(list.map(({ validatorAddress }) => validatorAddress)).toEqual(OPERATORS.map(operatorOf))
    const sum = list.reduce((before, { reward }) => before + reward[0]!.amount, 0n)
    expect(total[0]!.amount - sum).toBeLessThan(3n)
    expect((await chain.read('distribution', 'delegatorValidators', [ALICE])).result).toEqual(OPERATORS.map(operatorOf))
    const info = (await chain.read('distribution', 'validatorDistributionInfo', [operatorOf(FIRST)])).result as {
      operatorAddress: string
      selfBondRewards: { amount: bigint }[]
      commission: { amount: bigint }[]
    }
    expect(info.operatorAddress).toBe(accountOf(FIRST))
    expect(info.selfBondRewards[0]!.amount).toBe(await rewards(FIRST, FIRST))
    const outstanding = (await chain.read('distribution', 'validatorOutstandingRewards', [operatorOf(FIRST)]))
      .result as { amount: bigint; precision: number }[]
    expect(outstanding[0]!.precision).toBe(18)
    const parts =
      info.commission[0]!.amount +
      info.selfBondRewards[0]!.amount +
      (await rewards(ALICE, FIRST)) +
      (await rewards(BOB, FIRST))
    expect(outstanding[0]!.amount - parts).toBeLessThan(4n)
  })

  it('list slashes in pages; rewards cost the same after them', async () => {
    const gasBefore = (await chain.read('distribution', 'delegationRewards', [ALICE, operatorOf(FIRST)])).applied
      .gasUsed
    const heights: bigint[] = []
    for (let i = 0; i < 3; i++) {
      chain.native((context) => slash(context, infraction(FIRST)))
      heights.push(BigInt(chain.height))
      chain.nextBlock()
    }
    const page = async (from: bigint, to: bigint, request: object = {}) => {
      const args = [operatorOf(FIRST), from, to, { ...NO_PAGE, ...request }]
      const { result, reason } = await chain.read('distribution', 'validatorSlashes', args)
      if (reason !== undefined) return reason
      return result as [
        { validatorPeriod: bigint; fraction: { value: bigint; precision: number } }[],
        { nextKey: Hex; total: bigint },
      ]
    }
    const [all, { total }] = (await page(0n, 1000n)) as Exclude<Awaited<ReturnType<typeof page>>, string>
    expect(all.map(({ fraction }) => fraction)).toEqual(Array(3).fill({ value: COIN / 10n, precision: 18 }))
    expect(total).toBe(3n)
    const [first, { nextKey }] = (await page(0n, 1000n, { limit: 1n })) as Exclude<
      Awaited<ReturnType<typeof page>>,
      string
    >
    expect(first).toEqual([all[0]])
    expect((await page(0n, 1000n, { key: nextKey }))[0]).toEqual(all.slice(1))
    expect((await page(0n, 1000n, { reverse: true }))[0]).toEqual([...all].reverse())
    expect((await page(heights[1]!, heights[1]!))[0]).toEqual([all[1]])
    expect(await page(2n, 1n)).toMatch(/starting height greater than ending height \(2 > 1\)/)
    const gasAfter = (await chain.read('distribution', 'delegationRewards', [ALICE, operatorOf(FIRST)])).applied.gasUsed
    expect(gasAfter).toBe(gasBefore)
    expect(chain.problems()).toEqual([])
  })

  it.each([
    ['delegationRewards', [ALICE, operatorOf(BOB)], /validator does not exist$/],
    ['delegationRewards', [BOB, operatorOf(SECOND)], /^no delegation for \(address, validator\) tuple$/],
    ['delegationRewards', [zeroAddress, operatorOf(SECOND)], /^invalid delegator address/],
    ['delegationTotalRewards', [zeroAddress], /^invalid delegator address/],
    ['delegatorValidators', [zeroAddress], /^invalid delegator address/],
    ['delegatorWithdrawAddress', [zeroAddress], /^invalid delegator address/],
    ['validatorDistributionInfo', [''], /empty validator address$/],
    ['validatorDistributionInfo', [operatorOf(BOB)], /validator does not exist$/],
    ['validatorOutstandingRewards', ['coin'], /^rpc error: code = InvalidArgument desc = expected/],
    ['validatorCommission', [operatorOf(BOB)], /validator does not exist$/],
  ] as const)('%s(%j) is refused', async (name, args, reason) => {
    expect((await chain.read('distribution', name, args)).reason).toMatch(reason)
  })

  it('of somebody without delegations are empty', async () => {
    const nobody = '0x0b0d000000000000000000000000000000000000'
    const slashes = (validator: string) => chain.read('distribution', 'validatorSlashes', [validator, 0n, 9n, NO_PAGE])
    expect((await chain.read('distribution', 'delegationTotalRewards', [nobody])).result).toEqual([[], []])
    expect((await chain.read('distribution', 'delegatorValidators', [nobody])).result).toEqual([])
    expect((await slashes(operatorOf(nobody))).result).toEqual([[], { nextKey: '0x', total: 0n }])
    expect((await slashes('')).reason).toMatch(/empty validator address$/)
  })
})
