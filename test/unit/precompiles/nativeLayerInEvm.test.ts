import { type Abi, encodeFunctionData, getAddress, type Hex, toHex } from 'viem'
import { beforeEach, describe, expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { chooseEngine, createEngine } from '../../../src/evm/engines/createEngine.ts'
import {
  ABIS,
  ADDRESSES,
  ALICE,
  BOB,
  COIN,
  consensusKeyOf,
  NativeChain,
  OPERATORS,
  operatorOf,
} from '../../support/precompiles/nativeChain.ts'

const ENGINES = await Promise.all(
  (['wasm', 'reference'] as const).map(async (name) => createEngine(await chooseEngine(name), { hashSeed: 1n })),
)
const FILE = 'test/Delegator.sol'
const abi = compileContract(FILE, 'Delegator').abi as unknown as Abi
const [FIRST] = OPERATORS as [Hex]
const VALIDATOR = operatorOf(FIRST)
const SINK: Hex = '0x5154000000000000000000000000000000000001'
const HELD = 1000n * COIN

describe.each(ENGINES.map((engine) => [engine.name, engine] as const))(
  'contracts on the native layer (%s)',
  (_name, engine) => {
    let chain: NativeChain
    let contract: Hex

    beforeEach(async () => {
      chain = new NativeChain({ engine })
      contract = await chain.deploy(ALICE, FILE, 'Delegator')
      await chain.run({ from: ALICE, to: contract, value: HELD })
    })

    const call = (functionName: string, args: readonly unknown[], more = {}) =>
      chain.sendTo(ALICE, contract, abi, functionName, args, more)
    const delegated = async (delegator: Hex = contract) => {
      const { result } = await chain.read('staking', 'delegation', [delegator, VALIDATOR])
      return (result as [bigint, { amount: bigint }])[1].amount
    }
    /** That it is as if nothing had happened but a transaction of Alice's. */
    const expectUntouched = (before: ReadonlyMap<string, string>) => {
      const after = chain.snapshot()
      const keys = new Set([...before.keys(), ...after.keys()])
      expect([...keys].filter((key) => before.get(key) !== after.get(key))).toEqual([ALICE])
      expect(chain.problems()).toEqual([])
    }

    it('keep what survives of nested frames, and see true balances at every step', async () => {
      const outcome = await call('interleave', [VALIDATOR, COIN, SINK])
      expect(outcome.status).toBe('success')
      expect(await delegated()).toBe(5n * COIN)
      const seen = outcome.applied.logs
        .filter(({ topics }) => topics.length === 1)
        .map(({ data }) => BigInt(toHex(data)))
      expect(seen).toEqual([0n, 1n, 1n, 2n, 6n, 6n].map((spent) => HELD - spent * COIN))
      // one log of each delegation that survived, and of the withdrawal
      const names = outcome.events.map(({ eventName }) => eventName).filter((eventName) => eventName !== 'Seen')
      expect(names).toEqual(['Delegate', 'Delegate', 'WithdrawDelegatorReward'])
      expect(outcome.native.filter(({ type }) => type === 'delegate')).toHaveLength(2)
      expect([chain.balance(contract), chain.balance(SINK)]).toEqual([HELD - 6n * COIN, COIN])
      expect(chain.problems()).toEqual([])
    })

    it('delegate at every depth, and only frames that did not fail count', async () => {
      const outcome = await call('nest', [VALIDATOR, COIN, 8n])
      expect(outcome.result).toBe(1n)
      expect(await delegated()).toBe(COIN)
      const deeper = await call('nest', [VALIDATOR, COIN, 0n])
      expect(deeper.reason).toBe('deepest')
      expect(await delegated()).toBe(COIN)
      expect(chain.problems()).toEqual([])
    })

    it('catch failures, which leave nothing', async () => {
      const before = chain.snapshot()
      const outcome = await call('failEverywhere', [VALIDATOR, HELD + 1n, BOB])
      expect(outcome.result).toBe(7n)
      expect([outcome.events, outcome.native]).toEqual([[], []])
      expectUntouched(before)
    })

    it('lose everything of a transaction that reverts after success', async () => {
      const before = chain.snapshot()
      const outcome = await call('delegateAnd', [VALIDATOR, COIN, true])
      expect([outcome.status, outcome.reason, outcome.events, outcome.native]).toEqual([
        'revert',
        'AfterSuccess',
        [],
        [],
      ])
      expectUntouched(before)
    })

    it('lose everything when gas ends between two calls', async () => {
      const whole = await chain.readFrom(contract, abi, 'delegateMany', [VALIDATOR, COIN, 3n])
      expect(whole.status).toBe('success')
      const before = chain.snapshot()
      const { gasUsed } = whole.applied
      for (const gas of [gasUsed - 1n, (gasUsed * 2n) / 3n, gasUsed / 2n]) {
        const { status } = await call('delegateMany', [VALIDATOR, COIN, 3n], { gas })
        expect(status).not.toBe('success')
      }
      expectUntouched(before)
    })

    it('call as often as gas allows', async () => {
      const outcome = await call('delegateMany', [VALIDATOR, COIN, 60n])
      expect(outcome.status).toBe('success')
      expect(await delegated()).toBe(60n * COIN)
      expect(chain.problems()).toEqual([])
    })

    it('cannot keep stake that was bought with borrowed coins', async () => {
      const lender = await chain.deploy(ALICE, FILE, 'Lender')
      await chain.run({ from: ALICE, to: lender, value: HELD })
      const exploiter = await chain.deploy(BOB, FILE, 'Exploiter', [VALIDATOR])
      const exploit = compileContract(FILE, 'Exploiter').abi as unknown as Abi
      const run = await chain.sendTo(BOB, exploiter, exploit, 'run', [lender, HELD])
      expect(run.status).toBe('success')
      expect([chain.balance(lender), chain.balance(exploiter), await delegated(exploiter)]).toEqual([HELD, 0n, 0n])
      const kept = await chain.sendTo(BOB, exploiter, exploit, 'runWithoutFailing', [lender, HELD])
      expect(kept.reason).toBe('not paid back')
      expect(chain.balance(lender)).toBe(HELD)
      expect(chain.problems()).toEqual([])
    })

    it('have rewards in their balance within the call', async () => {
      await call('delegate', [VALIDATOR, 100n * COIN])
      chain.nextBlock()
      chain.nextBlock()
      chain.nextBlock({ fees: 700n * COIN })
      const { result } = await chain.read('distribution', 'delegationRewards', [contract, VALIDATOR])
      const due = (result as { amount: bigint }[])[0]!.amount
      expect(due).toBeGreaterThan(COIN)
      const outcome = await call('withdrawAndForward', [VALIDATOR, SINK])
      expect(outcome.result).toBe(due)
      expect(chain.balance(SINK)).toBe(due)
      expect(chain.problems()).toEqual([])
    })

    it('are no validators, also not while they are created', async () => {
      const key = Buffer.from(consensusKeyOf(BOB)).toString('base64')
      const refusal = 'this method can only be called directly to the precompile, not from a smart contract'
      expect((await call('createValidator', [key])).reason).toBe(refusal)
      await expect(chain.deploy(ALICE, FILE, 'ValidatorFromConstructor', [key], 2n * COIN)).rejects.toThrow(
        Buffer.from(refusal).toString('hex'),
      )
    })

    it('read everything through their interfaces', async () => {
      const text = toHex(JSON.stringify({ title: 'a title', summary: 's', metadata: 'm' }))
      await chain.send(ALICE, 'gov', 'submitProposal', [ALICE, text, [{ denom: 'acoin', amount: 10n ** 21n }]])
      await call('delegate', [VALIDATOR, COIN])
      const { result } = await chain.readFrom(contract, abi, 'readAll', [VALIDATOR, 1n])
      expect(result).toEqual([3n, 601n * COIN, 3n, 'a title', expect.any(BigInt)])
    })

    it('write only by plain calls', async () => {
      const writes: readonly (readonly [keyof typeof ADDRESSES, string, readonly unknown[]])[] = [
        ['staking', 'delegate', [contract, VALIDATOR, COIN]],
        ['staking', 'undelegate', [contract, VALIDATOR, COIN]],
        ['staking', 'redelegate', [contract, VALIDATOR, VALIDATOR, COIN]],
        ['staking', 'cancelUnbondingDelegation', [contract, VALIDATOR, COIN, 1n]],
        ['distribution', 'claimRewards', [contract, 1]],
        ['distribution', 'setWithdrawAddress', [contract, BOB]],
        ['distribution', 'withdrawDelegatorRewards', [contract, VALIDATOR]],
        ['distribution', 'withdrawValidatorCommission', [VALIDATOR]],
        ['distribution', 'fundCommunityPool', [contract, [{ denom: 'acoin', amount: 1n }]]],
        ['distribution', 'depositValidatorRewardsPool', [contract, VALIDATOR, [{ denom: 'acoin', amount: 1n }]]],
        ['gov', 'submitProposal', [contract, '0x7b7d', []]],
        ['gov', 'cancelProposal', [contract, 1n]],
        ['gov', 'deposit', [contract, 1n, []]],
        ['gov', 'vote', [contract, 1n, 1, '']],
        ['gov', 'voteWeighted', [contract, 1n, [], '']],
        ['slashing', 'unjail', [contract]],
      ]
      await call('delegate', [VALIDATOR, COIN])
      const before = chain.snapshot()
      for (const [name, functionName, args] of writes) {
        const data = encodeFunctionData({ abi: ABIS[name], functionName, args })
        for (const [kind, reason] of [
          [1n, 'write protection'],
          [2n, 'delegated call to a precompile'],
          [3n, 'delegated call to a precompile'],
        ] as const) {
          const { result } = await chain.readFrom(contract, abi, 'raw', [kind, ADDRESSES[name], data])
          const [ok, output] = result as [boolean, Hex]
          expect([name, functionName, ok]).toEqual([name, functionName, false])
          expect(Buffer.from(output.slice(2), 'hex').toString('latin1')).toContain(reason)
        }
      }
      const view = encodeFunctionData({ abi: ABIS.staking, functionName: 'validator', args: [FIRST] })
      expect((await chain.readFrom(contract, abi, 'raw', [1n, ADDRESSES.staking, view])).result).toMatchObject([
        true,
        {},
      ])
      const pure = encodeFunctionData({ abi: ABIS.bech32, functionName: 'hexToBech32', args: [FIRST, 'coin'] })
      expect((await chain.readFrom(contract, abi, 'raw', [1n, ADDRESSES.bech32, pure])).result).toMatchObject([
        true,
        {},
      ])
      expect([...chain.snapshot()]).toEqual([...before])
    })

    it('use the same gas in a call and in a transaction', async () => {
      const args = [VALIDATOR, COIN, SINK]
      const read = await chain.readFrom(contract, abi, 'interleave', args)
      const sent = await chain.sendTo(BOB, contract, abi, 'interleave', args)
      expect(sent.applied.gasUsed).toBe(read.applied.gasUsed)
      expect(getAddress(contract)).not.toBe(getAddress(BOB))
    })
  },
)

describe('both engines', () => {
  it('agree to the last entry of the state, gas and log', async () => {
    const runs = []
    for (const engine of ENGINES) {
      const chain = new NativeChain({ engine })
      const contract = await chain.deploy(ALICE, FILE, 'Delegator')
      await chain.run({ from: ALICE, to: contract, value: HELD })
      const outcomes = []
      for (const [name, args] of [
        ['interleave', [VALIDATOR, COIN, SINK]],
        ['nest', [VALIDATOR, COIN, 7n]],
        ['failEverywhere', [VALIDATOR, HELD, BOB]],
        ['delegateMany', [VALIDATOR, COIN, 9n]],
      ] as const) {
        const { applied, native } = await chain.sendTo(ALICE, contract, abi, name, args)
        outcomes.push([applied.status, applied.gasUsed, applied.output, applied.logs, native])
        chain.nextBlock({ fees: 33n * COIN })
      }
      runs.push({ outcomes, state: [...chain.snapshot()] })
    }
    expect(runs[1]).toEqual(runs[0])
  })
})
