import fc from 'fast-check'
import { encodeFunctionData, parseAbi } from 'viem'
import { expect, it } from 'vitest'
import { applyCall, type CallMessage, type TransitionOutcome } from '../../../../src/evm/transition.ts'
import { mint } from '../../../../src/modules/bank/ledger.ts'
import { nativeToken } from '../../../../src/modules/bank/precompile/nativeToken.ts'
import { multiSend, sendToAccount } from '../../../../src/modules/bank/send.ts'
import { isSdkError } from '../../../../src/modules/sdkError.ts'
import {
  beginRedelegate,
  cancelUnbonding,
  delegate,
  undelegate,
} from '../../../../src/modules/staking/delegatorActions.ts'
import { staking } from '../../../../src/modules/staking/precompile/staking.ts'
import { slash } from '../../../../src/modules/staking/slash.ts'
import { getUnbonding } from '../../../../src/modules/staking/unbonding.ts'
import { vestingInvariants } from '../../../../src/modules/vesting/invariants.ts'
import { precompileTable } from '../../../../src/precompiles/registry.ts'
import { toBech32 } from '../../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { ONE } from '../../../../src/primitives/decimal.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import type { Journal } from '../../../../src/state/journal.ts'
import { getDelegated, putSchedule, VESTING_KINDS, type VestingSchedule } from '../../../../src/state/vesting.ts'
import { type ModelSchedule, VestingModel } from '../../../independent/vestingModel.ts'
import { firstSeed, runs } from '../../../propertyRuns.ts'
import { BLOCK, ENGINES } from '../../../support/evm/evmFixture.ts'
import { account, COIN, StakingChain } from '../../../support/modules/stakingChain.ts'

const OPERATORS = [account(1), account(2)]
const HOLDER = account(8)
const OTHER = account(9)
const START = 1_767_225_600
const PRECOMPILES = precompileTable([nativeToken.address, staking.address])
const DELEGATE_ABI = parseAbi(['function delegate(address, string, uint256) returns (bool)'])

/** Parts of what may be spent or is there, in 1/1000, and some acoin more. */
const part = fc.tuple(fc.constantFrom(1000, 1000, 999, 500, 333, 10), fc.constantFrom(0n, 0n, 1n, -1n))
const operator = fc.constantFrom(...OPERATORS)
const payment = fc.constantFrom(
  'call' as const,
  'gas' as const,
  'token' as const,
  'send' as const,
  'multiSend' as const,
)
type Payment = typeof payment extends fc.Arbitrary<infer T> ? T : never
const operation = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: payment, part, gasPrice: fc.constantFrom(0n, 10n, 10n ** 9n) }) },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constantFrom('delegate' as const, 'precompile' as const), operator, part }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('undelegate' as const), operator, amount: fc.bigInt(1n, 400n * COIN) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('redelegate' as const), operator, amount: fc.bigInt(1n, 40n * COIN) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('cancel' as const), operator, amount: fc.bigInt(1n, 40n * COIN) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('slash' as const), operator, fraction: fc.bigInt(0n, ONE / 2n) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('receive' as const), amount: fc.bigInt(1n, 50n * COIN) }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('block' as const), waitS: fc.constantFrom(0, 1, 5, 7, 100) }) },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

const total = fc.oneof(fc.bigInt(1n, 100n), fc.bigInt(1n, 1_000n * COIN))
const schedule: fc.Arbitrary<ModelSchedule> = fc.oneof(
  fc
    .record({ total, start: fc.integer({ min: -50, max: 50 }), length: fc.integer({ min: 1, max: 400 }) })
    .map(({ start, length, ...rest }) => ({
      kind: 'continuous' as const,
      ...rest,
      start: START + start,
      end: START + start + length,
    })),
  fc.record({ kind: fc.constant('delayed' as const), total, end: fc.integer({ min: START, max: START + 300 }) }),
  fc.record({ kind: fc.constant('permanent' as const), total }),
  fc.record({
    kind: fc.constant('periodic' as const),
    start: fc.integer({ min: START - 30, max: START + 30 }),
    periods: fc.array(fc.tuple(fc.integer({ min: 1, max: 60 }), total), { minLength: 1, maxLength: 5 }),
  }),
)

function scheduleOf(model: ModelSchedule, originalVesting: bigint): VestingSchedule {
  const common = { originalVesting, startTime: 0n, endTime: 0n, periods: [] }
  switch (model.kind) {
    case 'permanent':
      return { ...common, kind: VESTING_KINDS.PERMANENT }
    case 'delayed':
      return { ...common, kind: VESTING_KINDS.DELAYED, endTime: BigInt(model.end) }
    case 'continuous':
      return { ...common, kind: VESTING_KINDS.CONTINUOUS, startTime: BigInt(model.start), endTime: BigInt(model.end) }
    case 'periodic': {
      const periods = model.periods.map(([length, amount]) => ({ length: BigInt(length), amount }))
      const endTime = periods.reduce((end, { length }) => end + length, BigInt(model.start))
      return { ...common, kind: VESTING_KINDS.PERIODIC, startTime: BigInt(model.start), endTime, periods }
    }
  }
}

/** The chain and the model side by side. */
class Pair {
  readonly chain = new StakingChain({
    validators: OPERATORS.map((one) => ({ operator: one, stake: 100n * COIN })),
    holders: [OTHER],
  })
  readonly model: VestingModel

  constructor(given: ModelSchedule) {
    this.model = new VestingModel(given)
    putSchedule(this.world.native, HOLDER, scheduleOf(given, this.model.original))
    mint(this.world, HOLDER, this.model.original)
    // It has signed what it delegates.
    this.world.setNonce(HOLDER, 1n)
    this.chain.begin()
    this.world.setTime(this.now)
  }

  get world(): Journal {
    return this.chain.context.world as Journal
  }

  get now(): number {
    return Math.floor(this.chain.context.block.timeMs / 1000)
  }

  amountOf([permille, more]: readonly [number, bigint], of: bigint): bigint {
    const amount = (of * BigInt(permille)) / 1000n + more
    return amount > 0n ? amount : 1n
  }

  /** Runs in a checkpoint, as messages do. @returns whether it succeeded */
  message(run: () => unknown): boolean {
    this.world.beginTransaction()
    this.world.checkpoint()
    const failed = isSdkError(run())
    if (failed) this.world.revert()
    else this.world.commit()
    this.world.endTransaction({ clearEmpty: true })
    return !failed
  }

  async pay(kind: Payment, amount: bigint, gasPrice: bigint): Promise<void> {
    const { model, now } = this
    if (kind === 'send' || kind === 'multiSend') {
      const payments = [{ to: OTHER, amount }]
      const sent = this.message(() =>
        kind === 'send'
          ? sendToAccount(this.chain.context, HOLDER, OTHER, amount)
          : multiSend(this.chain.context, HOLDER, amount, payments),
      )
      expect(sent).toBe(model.spend(now, amount))
      return
    }
    const price = kind === 'gas' ? 10n ** 9n : gasPrice
    const value = kind === 'token' ? 0n : amount
    const data = hexToBytes(
      `0xa9059cbb${'00'.repeat(12)}${bytesToHex(OTHER).slice(2)}${amount.toString(16).padStart(64, '0')}`,
    )
    const outcome = await this.call({
      to: kind === 'token' ? nativeToken.address : OTHER,
      value,
      gasLimit: 100_000n,
      maxFeePerGas: price,
      maxPriorityFeePerGas: price,
      ...(kind === 'token' && { data }),
    })
    const canStart = model.spendable(now) >= value + price * 100_000n
    expect(outcome.kind).toBe(canStart ? 'applied' : 'skipped')
    if (outcome.kind === 'skipped') return
    // The contract looks at what is left after all gas was bought.
    model.balance -= price * 100_000n
    const paid = model.spend(now, amount)
    model.balance += price * (100_000n - outcome.gasUsed)
    expect(outcome.status).toBe(paid ? 'success' : 'revert')
  }

  async call(call: Omit<CallMessage, 'sender'>): Promise<TransitionOutcome> {
    const { height, timeMs } = this.chain.context.block
    return applyCall({
      world: this.world,
      engine: ENGINES[0]!,
      block: { ...BLOCK, number: height, timeMs, timestamp: this.now, baseFeePerGas: 0n },
      rules: { fork: 'osaka', chainId: 7628n },
      precompiles: PRECOMPILES,
      call: { sender: HOLDER, ...call },
    })
  }

  async act(done: Operation): Promise<void> {
    const { chain, model, world, now } = this
    const { context } = chain
    switch (done.kind) {
      case 'delegate': {
        const amount = this.amountOf(done.part, model.balance)
        const succeeded = this.message(() => delegate(context, { delegator: HOLDER, operator: done.operator, amount }))
        // A validator whose stake was slashed away takes no delegations.
        if (chain.validator(done.operator).tokens > 0n) expect(succeeded).toBe(model.delegate(now, amount))
        return
      }
      case 'precompile': {
        const amount = this.amountOf(done.part, model.balance)
        const args = [bytesToHex(HOLDER), toBech32(done.operator, 'coinvaloper'), amount] as const
        const data = hexToBytes(encodeFunctionData({ abi: DELEGATE_ABI, args }))
        const outcome = await this.call({ to: staking.address, data, gasLimit: 500_000n })
        if (outcome.kind === 'skipped') throw new Error(outcome.reason)
        const succeeded = outcome.status === 'success'
        if (chain.validator(done.operator).tokens > 0n) expect(succeeded).toBe(model.delegate(now, amount))
        return
      }
      case 'undelegate':
        this.message(() => undelegate(context, { delegator: HOLDER, ...done }))
        return
      case 'redelegate': {
        const destination = OPERATORS.find((other) => other !== done.operator)!
        const redelegation = { delegator: HOLDER, source: done.operator, destination, amount: done.amount }
        this.message(() => beginRedelegate(context, redelegation))
        return
      }
      case 'cancel': {
        const entry = getUnbonding(world.native, HOLDER, done.operator)?.entries[0]
        if (entry === undefined) return
        this.message(() =>
          cancelUnbonding(context, { delegator: HOLDER, ...done, creationHeight: entry.creationHeight }),
        )
        return
      }
      case 'slash': {
        const { fraction } = done
        const infraction = { height: chain.height - 3, power: chain.validator(done.operator).tokens / COIN, fraction }
        slash(context, { ...infraction, consensusAddress: sha256(done.operator).slice(0, 20) })
        return
      }
      case 'receive':
        this.message(() => sendToAccount(context, OTHER, HOLDER, done.amount))
        model.balance += done.amount
        return
      case 'block':
        this.#endBlock(done.waitS)
        return
      default:
        await this.pay(done.kind, this.amountOf(done.part, model.spendable(now)), done.gasPrice)
    }
  }

  #endBlock(waitS: number): void {
    const { world } = this
    world.beginTransaction()
    const before = world.events().length
    this.chain.end()
    for (const { type, attributes } of world.events().slice(before)) {
      const value = (key: string) => attributes.find((attribute) => attribute.key === key)?.value ?? ''
      if (type !== 'complete_unbonding' || value('delegator') !== toBech32(HOLDER)) continue
      const amount = BigInt(value('amount').replace('acoin', '') || '0')
      if (amount > 0n) this.model.undelegated(amount)
    }
    this.chain.wait(waitS * 1000)
    this.chain.begin()
    this.world.setTime(this.now)
  }

  compare(): void {
    const { model, world, now } = this
    const delegated = getDelegated(world.native, HOLDER)
    expect({
      balance: world.getBalance(HOLDER),
      spendable: world.getSpendable(HOLDER),
      vesting: delegated.vesting,
      free: delegated.free,
    }).toEqual({
      balance: model.balance,
      spendable: model.spendable(now),
      vesting: model.delegatedVesting,
      free: model.delegatedFree,
    })
    expect(vestingInvariants(this.chain.context)).toEqual([])
  }
}

it('locks and tracks coins through delegations, slashes, EVM transactions and sends as an independent model does', async () => {
  await fc.assert(
    fc.asyncProperty(schedule, fc.array(operation, { minLength: 10, maxLength: 60 }), async (given, operations) => {
      const pair = new Pair(given)
      pair.compare()
      for (const done of operations) {
        await pair.act(done)
        pair.compare()
      }
    }),
    { numRuns: runs(60), seed: firstSeed(1) },
  )
})
