import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { withdrawDelegationRewards } from '../../../src/modules/distribution/delegationRewards.ts'
import { communityPoolSpend, fundCommunityPool } from '../../../src/modules/distribution/feePool.ts'
import { depositValidatorRewards, withdrawCommission } from '../../../src/modules/distribution/rewards.ts'
import { setWithdrawAddress } from '../../../src/modules/distribution/withdrawAddress.ts'
import { unjailValidator } from '../../../src/modules/slashing/jail.ts'
import {
  beginRedelegate,
  cancelUnbonding,
  delegate,
  undelegate,
} from '../../../src/modules/staking/delegatorActions.ts'
import { createValidator, editValidator } from '../../../src/modules/staking/operatorActions.ts'
import { Description } from '../../../src/modules/staking/types.ts'
import type { Address } from '../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { ONE } from '../../../src/primitives/decimal.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import type { Name } from '../../independent/modelState.ts'
import { findDelegation } from '../../independent/rewardsModel.ts'
import { worth } from '../../independent/stakeModel.ts'
import { firstSeed, runs } from '../../propertyRuns.ts'
import { keyOf, ModelledChain, type ModelledSetup, PEOPLE } from '../../support/modules/modelledChain.ts'
import { account, COIN } from '../../support/modules/stakingChain.ts'

const HISTORIES = runs(60)
const SEED = firstSeed(1)

/** Whole numbers, and parts of what there is (in 1/1000, and some acoin more). */
type Amount = bigint | readonly [permille: number, more: bigint]

const amount: fc.Arbitrary<Amount> = fc.oneof(
  fc.constantFrom(1n, 2n, 3n, COIN - 1n, COIN, COIN + 1n, 10n ** 27n),
  fc.bigInt(1n, 50n * COIN),
  fc.bigInt(1n, 10n ** 27n),
  fc.tuple(fc.constantFrom(1000, 1000, 500, 333, 1, 1001), fc.constantFrom(0n, 0n, 1n, -1n)),
)
const fraction = fc.oneof(
  fc.constantFrom(0n, 1n, ONE / 2n, ONE / 3n, ONE - 1n, ONE),
  fc.bigInt(0n, ONE),
  fc.bigInt(0n, ONE / 10n),
)
const slashed = fc.oneof(
  { weight: 1, arbitrary: fraction },
  { weight: 2, arbitrary: fc.bigInt(0n, ONE / 10n) },
  { weight: 2, arbitrary: fc.bigInt(ONE / 10n, (ONE * 2n) / 3n) },
)
const stake = fc.oneof(fc.constantFrom(COIN, COIN, 2n * COIN, 10n ** 27n), fc.bigInt(COIN, 40n * COIN))

const setup: fc.Arbitrary<ModelledSetup> = fc
  .record({
    stakes: fc.array(fc.record({ stake, rate: fraction }), { minLength: 2, maxLength: 5 }),
    unbondingNs: fc.oneof(
      { weight: 1, arbitrary: fc.bigInt(1_000_000n, 3_000_000_000n) },
      { weight: 2, arbitrary: fc.bigInt(3_000_000_000n, 20_000_000_000n) },
      { weight: 2, arbitrary: fc.constant(3n * 86_400_000_000_000n) },
    ),
    communityTax: fraction,
    window: fc.integer({ min: 5, max: 20 }),
    maxEntries: fc.integer({ min: 1, max: 7 }),
    minSigned: fc.oneof(fc.constantFrom(ONE / 2n, ONE, (ONE * 9n) / 10n), fc.bigInt(1n, ONE)),
    jailNs: fc.bigInt(1n, 3_000_000_000n),
    doubleSign: slashed,
    downtime: slashed,
    inflation: fc.tuple(fraction, fraction, fraction),
    goalBonded: fc.oneof(fc.constant(ONE / 2n), fc.bigInt(1n, ONE)),
    blocksPerYear: fc.constantFrom(7n, 1000n, 78_840_000n),
    hasMint: fc.boolean(),
  })
  .map(({ stakes, unbondingNs, inflation: [rateChange, one, other], hasMint, ...params }) => {
    const [inflationMin, inflationMax] = one < other ? [one, other] : [other, one]
    const mint = hasMint
      ? { rateChange, inflationMin, inflationMax }
      : { rateChange, inflationMin: 0n, inflationMax: 0n }
    return {
      stakes,
      unbondingNs,
      params: { ...params, ...mint, unbondingMs: Number(unbondingNs / 1_000_000n), maxValidators: 50 },
    }
  })

/** What a step does; its numbers pick whom among those that are there. */
const KINDS = {
  blocks: 12,
  evidence: 3,
  delegate: 7,
  undelegate: 5,
  redelegate: 7,
  undelegateMoved: 3,
  cancel: 3,
  withdraw: 4,
  commission: 2,
  address: 1,
  deposit: 2,
  fund: 1,
  spend: 1,
  create: 3,
  rate: 2,
  minimum: 1,
  unjail: 4,
  maxValidators: 2,
  window: 1,
} as const
type Kind = keyof typeof KINDS

const step = fc.record({
  kind: fc.oneof(
    ...(Object.keys(KINDS) as Kind[]).map((kind) => ({ weight: KINDS[kind], arbitrary: fc.constant(kind) })),
  ),
  a: fc.nat(999),
  b: fc.nat(999),
  c: fc.nat(999),
  amount,
  part: fraction,
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const WAITS_MS = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1500, 7000, 86_400_000]

/** One of a list, or undefined when it is empty. */
function pick<T>(list: readonly T[], number: number): T | undefined {
  return list[number % Math.max(list.length, 1)]
}

function bytes(name: Name): Address {
  return hexToBytes(name)
}

function resolve(wanted: Amount, whole: bigint): bigint {
  const found = typeof wanted === 'bigint' ? wanted : (whole * BigInt(wanted[0])) / 1000n + wanted[1]
  return found > 0n ? found : 1n
}

/** Kinds of messages that were not refused at least once: a generator that only makes refusals would prove nothing. */
const done = new Set<string>()
const NO_MESSAGES: readonly string[] = ['blocks', 'evidence', 'maxValidators', 'window']

function expectSame(net: ModelledChain, label: string): void {
  const model = net.describeModel()
  const chain = net.describeChain()
  if (!isDeepStrictEqual(chain, model)) expect(chain, label).toEqual(model)
}

function blocks(net: ModelledChain, { a, b, c, amount: fees, part }: Step): void {
  const count = 1 + (a % 8)
  const absent = PEOPLE.slice(4).filter((_, index) => b % 5 < 2 && ((c >> index) & 1) === 1)
  for (let i = 0; i < count; i++) {
    const paid = b % 4 === 0 ? 0n : resolve(fees, part * 1000n)
    block(net, { fees: paid, absent, evidence: [], waitMs: i > 0 ? 0 : WAITS_MS[(a >> 3) % WAITS_MS.length]! })
  }
}

function block(net: ModelledChain, beginning: Parameters<ModelledChain['begin']>[0]): void {
  net.end()
  expectSame(net, `end of block ${net.chain.height}`)
  const powers = net.powers()
  expect([...powers.chain].sort()).toEqual([...powers.model].sort())
  net.begin(beginning)
  expectSame(net, `beginning of block ${net.chain.height}`)
}

function evidence(net: ModelledChain, { a, b, c }: Step): void {
  const { sets, height } = net.model.state
  const at = Math.max(1, height - (a % 6))
  const keys = [...sets.get(at)!.keys()]
  const sources = net.model.state.redelegations.map(({ source }) => net.model.state.validators.get(source)?.key)
  const found = new Set(
    keys.filter((key, index) => index === b % keys.length || (c % 2 === 0 && sources.includes(key))),
  )
  const fresh = [...found].filter((key) => !net.model.state.evidence.has(`${key}/${at}`))
  block(net, { fees: 0n, absent: [], evidence: fresh.map((key) => ({ key, height: at })), waitMs: 0 })
}

/** What a message does to the chain and to its model; undefined when there is nobody for it. */
function message({ kind, a, b, c, amount: wanted, part }: Step, net: ModelledChain): Messages | undefined {
  const { state } = net.model
  const operators = [...state.validators.keys()]
  const delegator = PEOPLE[a % PEOPLE.length]!
  const name = bytesToHex(delegator)
  const operator = pick(operators, b) ?? bytesToHex(PEOPLE[0]!)
  const moved = state.redelegations.map((entry) => findDelegation(state, entry.delegator, entry.destination))
  const present = kind === 'undelegateMoved' ? moved.filter((one) => one !== undefined) : state.delegations.values()
  const stakeOf = pick([...present], a)
  const validator = stakeOf && state.validators.get(stakeOf.operator)!
  const value = stakeOf && validator ? worth(validator, stakeOf.shares) : 0n
  const balance = state.balances.get(name) ?? 0n
  switch (kind) {
    case 'delegate': {
      const given = { delegator, operator: bytes(operator), amount: resolve(wanted, balance) }
      return [(ctx) => delegate(ctx, given), (model) => model.delegate({ ...given, delegator: name, operator })]
    }
    case 'undelegate':
    case 'undelegateMoved': {
      if (stakeOf === undefined) return undefined
      const taken = resolve(wanted, value)
      const own = { delegator: bytes(stakeOf.delegator), operator: bytes(stakeOf.operator), amount: taken }
      return [(ctx) => undelegate(ctx, own), (model) => model.undelegate({ ...stakeOf, amount: taken })]
    }
    case 'redelegate': {
      if (stakeOf === undefined) return undefined
      const taken = resolve(wanted, value)
      const real = {
        delegator: bytes(stakeOf.delegator),
        source: bytes(stakeOf.operator),
        destination: bytes(operator),
        amount: taken,
      }
      return [
        (ctx) => beginRedelegate(ctx, real),
        (model) => model.redelegate({ ...stakeOf, destination: operator, amount: taken }),
      ]
    }
    case 'cancel': {
      const entry = pick(state.unbondings, a)
      if (entry === undefined) return undefined
      const taken = resolve(wanted, entry.balance)
      const real = { delegator: bytes(entry.delegator), operator: bytes(entry.operator), creationHeight: entry.height }
      return [
        (ctx) => cancelUnbonding(ctx, { ...real, amount: taken }),
        (model) => model.cancelUnbonding({ ...entry, amount: taken }),
      ]
    }
    case 'withdraw': {
      const [who, from] = stakeOf && c % 5 > 0 ? [stakeOf.delegator, stakeOf.operator] : [name, operator]
      return [(ctx) => withdrawDelegationRewards(ctx, bytes(who), bytes(from)), (model) => model.withdraw(who, from)]
    }
    case 'commission':
      return [(ctx) => withdrawCommission(ctx, bytes(operator)), (model) => model.withdrawCommission(operator)]
    case 'address': {
      const address = PEOPLE[b % PEOPLE.length]!
      return [
        (ctx) => setWithdrawAddress(ctx, delegator, address),
        (model) => model.setWithdrawAddress(name, bytesToHex(address)),
      ]
    }
    case 'deposit': {
      const given = resolve(wanted, balance)
      return [
        (ctx) => depositValidatorRewards(ctx, delegator, bytes(operator), given),
        (model) => model.deposit(name, operator, given),
      ]
    }
    case 'fund': {
      const given = resolve(wanted, balance)
      return [(ctx) => fundCommunityPool(ctx, delegator, given), (model) => model.fundCommunity(name, given)]
    }
    case 'spend': {
      const given = resolve(wanted, state.communityPool / ONE)
      return [(ctx) => communityPoolSpend(ctx, delegator, given), (model) => model.spendCommunity(name, given)]
    }
    case 'create': {
      const from = account(1 + (a % 9))
      const publicKey = sha256(account(1 + (b % 9)))
      const minSelfDelegation = c % 3 === 0 ? COIN : 1n
      const commission = { rate: part, maxRate: ONE, maxChangeRate: c % 2 === 0 ? ONE : ONE / 7n }
      const given = resolve(wanted, state.balances.get(bytesToHex(from))!)
      if (commission.rate > commission.maxRate) return undefined
      const rest = { amount: given, minSelfDelegation }
      const description = Description.create({ moniker: 'new' })
      return [
        (ctx) => createValidator(ctx, { operator: from, publicKey, description, commission, ...rest }),
        (model) =>
          model.createValidator({
            operator: bytesToHex(from),
            key: keyOf(account(1 + (b % 9))),
            ...commission,
            ...rest,
          }),
      ]
    }
    case 'rate':
      return [edit(operator, part, undefined), (model) => model.changeRate(operator, part)]
    case 'minimum': {
      const given = resolve(wanted, state.validators.get(operator)?.tokens ?? 0n)
      return [edit(operator, undefined, given), (model) => model.raiseMinimum(operator, given)]
    }
    case 'unjail': {
      const jailed = [...state.validators.values()].filter((one) => one.jailed).map((one) => one.operator)
      const who = pick(jailed, a) ?? operator
      return [(ctx) => unjailValidator(ctx, bytes(who)), (model) => model.unjail(who)]
    }
    default:
      return undefined
  }
}
type Messages = Parameters<ModelledChain['message']>

function edit(operator: Name, commissionRate: bigint | undefined, minSelfDelegation: bigint | undefined): Messages[0] {
  const description = Description.create({ moniker: 'edited' })
  return (ctx) => editValidator(ctx, { operator: bytes(operator), description, commissionRate, minSelfDelegation })
}

function run(net: ModelledChain, present: Step): void {
  const { kind, a } = present
  if (kind === 'blocks') blocks(net, present)
  if (kind === 'evidence') evidence(net, present)
  if (kind === 'maxValidators') net.setMaxValidators(1 + (a % 7))
  if (kind === 'window') net.setWindow(5 + (a % 16))
  const both = message(present, net)
  if (both === undefined) return
  const outcome = net.message(...both)
  const isDone = outcome.chain === 'done'
  if (isDone) done.add(kind)
  expect(isDone, `${kind}: ${JSON.stringify(outcome)}`).toBe(outcome.model === 'done')
  expectSame(net, kind)
}

it('moves every acoin as a model does that was written from the specification alone', () => {
  const history = fc.array(step, { minLength: 1, maxLength: 70, size: 'max' })
  fc.assert(
    fc.property(setup, history, (given, steps) => {
      const net = new ModelledChain(given)
      net.begin({ fees: 0n, absent: [], evidence: [], waitMs: 0 })
      expectSame(net, 'genesis')
      for (const one of steps) run(net, one)
      net.chain.check()
    }),
    { numRuns: HISTORIES, seed: SEED },
  )
  const missing = Object.keys(KINDS).filter((kind) => !done.has(kind) && !NO_MESSAGES.includes(kind))
  expect(missing, 'never done').toEqual([])
})

/** Two validators, the second with half the stake of the first. */
const SMALL: ModelledSetup = {
  stakes: [2n * COIN, COIN].map((each) => ({ stake: each, rate: 0n })),
  unbondingNs: 1_000_000_000n,
  params: {
    unbondingMs: 1000,
    maxValidators: 50,
    maxEntries: 3,
    communityTax: 0n,
    window: 5,
    minSigned: ONE,
    jailNs: 1n,
    doubleSign: ONE / 2n,
    downtime: ONE / 4n,
    rateChange: 0n,
    inflationMin: 0n,
    inflationMax: 0n,
    goalBonded: ONE,
    blocksPerYear: 7n,
  },
}

it('does not count the last votes of a validator that is unbonded before them', () => {
  const net = new ModelledChain(SMALL)
  net.begin({ fees: 0n, absent: [], evidence: [], waitMs: 0 })
  for (let i = 0; i < 7; i++) block(net, { fees: 100n, absent: [], evidence: [], waitMs: 0 })
  net.setMaxValidators(1)
  block(net, { fees: 100n, absent: [], evidence: [], waitMs: 5000 })
  const late = account(2)
  const evidence = [{ key: keyOf(late), height: net.chain.height }]
  expect(net.chain.powers(net.chain.height)).toHaveLength(2)
  block(net, { fees: 100n, absent: [late], evidence, waitMs: 0 })
  expect(net.chain.validator(late)).toMatchObject({ status: 'unbonded', jailed: false, tokens: COIN })
  net.chain.check()
})

it('lets nobody use the key of a removed validator that signed twice', () => {
  const key = sha256(account(2))
  const net = new ModelledChain(SMALL)
  const own = { delegator: account(2), operator: account(2), amount: COIN }
  const created = {
    operator: account(9),
    publicKey: key,
    description: Description.create({ moniker: 'again' }),
    commission: { rate: 0n, maxRate: ONE, maxChangeRate: ONE },
    minSelfDelegation: 1n,
    amount: COIN,
  }
  const { publicKey: _, description: __, commission, ...rest } = created
  const modelled = { ...rest, ...commission, operator: bytesToHex(account(9)), key: keyOf(account(2)) }
  const create = () =>
    net.message(
      (ctx) => createValidator(ctx, created),
      (model) => model.createValidator(modelled),
    )
  net.begin({ fees: 0n, absent: [], evidence: [], waitMs: 0 })
  const taken = net.message(
    (ctx) => undelegate(ctx, own),
    (model) => model.undelegate({ ...own, delegator: bytesToHex(account(2)), operator: bytesToHex(account(2)) }),
  )
  expect(taken).toEqual({ chain: 'done', model: 'done' })
  block(net, { fees: 0n, absent: [], evidence: [{ key: keyOf(account(2)), height: 1 }], waitMs: 0 })
  expect(create().chain).toMatch(/^refused.*already exist for this pubkey/)
  block(net, { fees: 0n, absent: [], evidence: [], waitMs: 5000 })
  block(net, { fees: 0n, absent: [], evidence: [], waitMs: 0 })
  expect(net.model.state.validators.has(bytesToHex(account(2)))).toBe(false)
  expect(create()).toEqual({
    chain: expect.stringMatching(/^refused: tombstoned/),
    model: expect.stringMatching(/^refused: key signed twice/),
  })
})
