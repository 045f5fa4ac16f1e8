import fc from 'fast-check'
import { type Abi, getAddress, type Hex } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { chooseEngine, createEngine } from '../../../src/evm/engines/createEngine.ts'
import { runs } from '../../propertyRuns.ts'
import { ALICE, BOB, COIN, FUNDS, NativeChain, OPERATORS, operatorOf } from '../../support/precompiles/nativeChain.ts'

const FILE = 'examples/StakingVault.sol'
const abi = compileContract(FILE, 'StakingVault').abi as unknown as Abi
const [FIRST, SECOND] = OPERATORS as [Hex, Hex]
const UNBONDING_MS = 21 * 24 * 3600 * 1000
const ENGINES = await Promise.all(
  (['wasm', 'reference'] as const).map(async (name) => createEngine(await chooseEngine(name), { hashSeed: 1n })),
)

describe.each(ENGINES.map((engine) => [engine.name, engine] as const))('the staking vault (%s)', (_name, engine) => {
  let chain: NativeChain
  let vault: Hex

  beforeEach(async () => {
    chain = new NativeChain({ engine })
    vault = await chain.deploy(ALICE, FILE, 'StakingVault', [operatorOf(FIRST)])
  })

  const send = (from: Hex, functionName: string, args: readonly unknown[] = [], value = 0n) =>
    chain.sendTo(from, vault, abi, functionName, args, { value })
  const read = async (functionName: string, ...args: unknown[]) =>
    (await chain.readFrom(vault, abi, functionName, args)).result as bigint
  const stakeAt = async (operator: Hex) => {
    const { result } = await chain.read('staking', 'delegation', [vault, operatorOf(operator)])
    return (result as [bigint, { amount: bigint }])[1].amount
  }
  /** A block with fees; they are divided in the block after the next. */
  const earn = (fees: bigint) => {
    chain.nextBlock({ fees })
    chain.nextBlock()
  }

  it('delegates for its users and pays each what it earned', async () => {
    const deposited = await send(ALICE, 'deposit', [], 300n * COIN)
    expect(deposited.events.map(({ eventName }) => eventName)).toEqual(['Delegate', 'Deposited'])
    expect(await stakeAt(FIRST)).toBe(300n * COIN)
    chain.nextBlock()
    earn(1000n * COIN)
    const alone = await read('rewardsOf', ALICE)
    expect(alone).toBeGreaterThan(COIN)

    await send(BOB, 'deposit', [], 100n * COIN)
    expect([await read('rewardsOf', ALICE), await read('rewardsOf', BOB)]).toEqual([alone, 0n])
    chain.nextBlock()
    earn(1000n * COIN)
    const [alice, bob] = [(await read('rewardsOf', ALICE)) - alone, await read('rewardsOf', BOB)]
    expect(alice - 3n * bob).toBeLessThan(4n)
    expect(bob).toBeGreaterThan(COIN)

    const before = chain.balance(BOB)
    const claimed = await send(BOB, 'claim')
    expect(claimed.events.map(({ eventName }) => eventName)).toEqual([
      'WithdrawDelegatorReward',
      'RewardsCollected',
      'Paid',
    ])
    expect(chain.balance(BOB)).toBe(before + bob)
    expect((await send(BOB, 'claim')).reason).toBe('NothingToPay')
    expect(await read('rewardsOf', ALICE)).toBe(alone + alice)
    expect(chain.problems()).toEqual([])
  })

  it('gives stake back after the unbonding time', async () => {
    await send(ALICE, 'deposit', [], 300n * COIN)
    await send(BOB, 'deposit', [], 100n * COIN)
    const requested = await send(ALICE, 'requestWithdrawal', [120n * COIN])
    const readyAt = BigInt(Math.floor((chain.timeMs + UNBONDING_MS) / 1000))
    expect(requested.events).toContainEqual(
      expect.objectContaining({
        eventName: 'WithdrawalRequested',
        args: { user: getAddress(ALICE), amount: 120n * COIN, readyAt },
      }),
    )
    expect(await stakeAt(FIRST)).toBe(280n * COIN)
    expect((await send(ALICE, 'claim')).reason).toBe('NothingToPay')
    expect((await send(BOB, 'requestWithdrawal', [101n * COIN])).reason).toBe('NotEnoughShares')
    chain.nextBlock({ waitMs: UNBONDING_MS })
    chain.nextBlock({ waitMs: 2000 })
    const before = chain.balance(ALICE)
    expect((await send(ALICE, 'claim')).status).toBe('success')
    expect(chain.balance(ALICE)).toBe(before + 120n * COIN)
    expect(chain.balance(vault)).toBe(await read('rewardsHeld'))
    expect(chain.problems()).toEqual([])
  })

  it('gives a deposit back when the validator does not take it, and nothing is left of the attempt', async () => {
    const gone = await chain.deploy(ALICE, FILE, 'StakingVault', [operatorOf(BOB)])
    const before = chain.snapshot()
    const outcome = await chain.sendTo(BOB, gone, abi, 'depositOrRefund', [], { value: COIN })
    expect(outcome.events).toMatchObject([
      { eventName: 'Refunded', args: { user: getAddress(BOB), amount: COIN, reason: 'validator does not exist' } },
    ])
    expect(changed(before)).toEqual([BOB])
    expect((await chain.sendTo(BOB, gone, abi, 'deposit', [], { value: COIN })).reason).toBe('validator does not exist')
    expect(changed(before)).toEqual([BOB])
    expect([chain.balance(gone), chain.balance(BOB)]).toEqual([0n, FUNDS])
  })

  it('undoes a delegation that succeeded when what called it reverts', async () => {
    await send(ALICE, 'deposit', [], 5n * COIN)
    const before = chain.snapshot()
    const outcome = await send(BOB, 'simulateDeposit', [], 7n * COIN)
    expect(outcome.result).toBe(12n * COIN)
    expect([outcome.events, outcome.native]).toEqual([[], []])
    expect(changed(before)).toEqual([BOB])
    expect(chain.balance(BOB)).toBe(FUNDS)
    expect((await send(BOB, 'delegateAndRevert', [1n])).reason).toBe('NotSelf')
  })

  it('moves to another validator by its owner', async () => {
    await send(ALICE, 'deposit', [], 5n * COIN)
    expect((await send(BOB, 'changeValidator', [operatorOf(SECOND)])).reason).toBe('NotOwner')
    expect((await send(ALICE, 'changeValidator', [operatorOf(SECOND)])).status).toBe('success')
    expect([await stakeAt(FIRST), await stakeAt(SECOND)]).toEqual([0n, 5n * COIN])
    await send(BOB, 'deposit', [], 5n * COIN)
    expect(await stakeAt(SECOND)).toBe(10n * COIN)
    expect(chain.problems()).toEqual([])
  })

  /** Accounts and entries that are not as they were. */
  const changed = (before: ReadonlyMap<string, string>) => {
    const after = chain.snapshot()
    return [...new Set([...before.keys(), ...after.keys()])].filter((key) => before.get(key) !== after.get(key))
  }
})

describe('in random histories', () => {
  const users = [ALICE, BOB]
  const step = fc.oneof(
    fc.record({ kind: fc.constant('deposit'), user: fc.constantFrom(...users), coins: fc.bigInt(1n, 1000n) }),
    fc.record({ kind: fc.constant('simulateDeposit'), user: fc.constantFrom(...users), coins: fc.bigInt(1n, 1000n) }),
    fc.record({ kind: fc.constant('requestWithdrawal'), user: fc.constantFrom(...users), coins: fc.bigInt(1n, 1000n) }),
    fc.record({ kind: fc.constant('claim'), user: fc.constantFrom(...users), coins: fc.constant(0n) }),
    fc.record({ kind: fc.constant('block'), user: fc.constant(ALICE), coins: fc.bigInt(0n, 1000n) }),
    fc.record({ kind: fc.constant('wait'), user: fc.constant(ALICE), coins: fc.constant(0n) }),
  )

  it('the vault holds what it owes, and its stake is the sum of its shares', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
        const chain = new NativeChain()
        const vault = await chain.deploy(ALICE, FILE, 'StakingVault', [operatorOf(FIRST)])
        const read = async (functionName: string, ...args: unknown[]) =>
          (await chain.readFrom(vault, abi, functionName, args)).result as bigint
        for (const { kind, user, coins } of steps) {
          if (kind === 'block') chain.nextBlock({ fees: coins * COIN })
          else if (kind === 'wait') chain.nextBlock({ waitMs: UNBONDING_MS / 3 })
          else {
            const args = kind === 'requestWithdrawal' ? [coins * COIN] : []
            const value = kind === 'requestWithdrawal' ? 0n : coins * COIN
            await chain.sendTo(user, vault, abi, kind, args, { value })
          }
          expect(await read('delegated')).toBe(await read('totalShares'))
          const owed = (await read('rewardsOf', ALICE)) + (await read('rewardsOf', BOB))
          const { result } = await chain.read('distribution', 'delegationTotalRewards', [vault])
          const unclaimed = (result as [unknown, { amount: bigint }[]])[1][0]?.amount ?? 0n
          expect(owed).toBeLessThanOrEqual((await read('rewardsHeld')) + unclaimed)
          expect(chain.balance(vault)).toBeGreaterThanOrEqual(await read('rewardsHeld'))
        }
        expect(chain.problems()).toEqual([])
      }),
      { numRuns: runs(12) },
    )
  })
})
