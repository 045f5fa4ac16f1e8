import fc from 'fast-check'
import { type Abi, encodeDeployData, encodeFunctionData, getContractAddress, type Hex, zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import { compileContract } from '../../../contracts/compile.ts'
import { chooseEngine, createEngine } from '../../../src/evm/engines/createEngine.ts'
import { BONDED_POOL } from '../../../src/modules/moduleAccounts.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import {
  ABIS,
  ADDRESSES,
  ALICE,
  accountOf,
  BOB,
  COIN,
  NativeChain,
  OPERATORS,
  operatorOf,
} from '../../support/precompiles/nativeChain.ts'

const ENGINES = await Promise.all(
  (['wasm', 'reference'] as const).map(async (name) => createEngine(await chooseEngine(name), { hashSeed: 1n })),
)
const puppet = compileContract('test/Puppet.sol', 'Puppet')
const abi = puppet.abi as unknown as Abi
const [CALL, STATIC_CALL, , CREATE, SELF_DESTRUCT, REVERT] = [0, 1, 2, 3, 4, 5] as const
const ALL_GAS = 2n ** 256n - 1n

type Self = { readonly self: Hex; readonly other: Hex }
/** What a puppet does: a function, since the addresses of those that are created are known only from the nonce. */
type Tree = (at: Self) => object

const step = (kind: number, target: Hex, data: Hex, more = {}) => ({
  kind,
  target,
  value: 0n,
  gas: ALL_GAS,
  data,
  mustSucceed: false,
  ...more,
})
const run = (steps: readonly object[]) => encodeFunctionData({ abi, functionName: 'run', args: [steps] })

const delegation = (self: Hex, operator: Hex) => {
  const args = [self, operatorOf(operator), 100n * COIN]
  return step(CALL, ADDRESSES.staking, encodeFunctionData({ abi: ABIS.staking, functionName: 'delegate', args }))
}

const amount = fc.constantFrom(0n, 1n, COIN, 3n * COIN, 10n ** 30n)
const validator = fc.constantFrom(...OPERATORS.slice(0, 2).map(operatorOf))
const gas = fc.constantFrom(ALL_GAS, ALL_GAS, ALL_GAS, 75_000n, 60_000n, 0n)

/** The calls that move coins, each by the puppet for itself. */
const write: fc.Arbitrary<Tree> = fc
  .record({
    call: fc.constantFrom(
      ...(['delegate', 'delegate', 'delegate', 'undelegate', 'redelegate', 'cancelUnbondingDelegation'] as const),
      ...(['claimRewards', 'setWithdrawAddress', 'withdrawDelegatorRewards', 'fundCommunityPool'] as const),
      ...(['depositValidatorRewardsPool', 'deposit'] as const),
    ),
    amount,
    from: validator,
    to: validator,
    payee: fc.constantFrom(accountOf(BOB), 'other', 'self'),
    gas,
    kind: fc.constantFrom(CALL, CALL, CALL, CALL, STATIC_CALL),
  })
  .map(({ call, amount, from, to, payee, gas, kind }): Tree => {
    const coins = [{ denom: 'acoin', amount }]
    return ({ self, other }) => {
      const payeeText = payee === 'other' ? other : payee === 'self' ? self : payee
      const [name, args] = (
        {
          delegate: ['staking', [self, from, amount]],
          undelegate: ['staking', [self, from, amount]],
          redelegate: ['staking', [self, from, to, amount]],
          cancelUnbondingDelegation: ['staking', [self, from, amount, 2n]],
          claimRewards: ['distribution', [self, 5]],
          setWithdrawAddress: ['distribution', [self, payeeText]],
          withdrawDelegatorRewards: ['distribution', [self, from]],
          fundCommunityPool: ['distribution', [self, coins]],
          depositValidatorRewardsPool: ['distribution', [self, from, coins]],
          deposit: ['gov', [self, 1n, coins]],
        } as const
      )[call]
      return step(kind, ADDRESSES[name], encodeFunctionData({ abi: ABIS[name], functionName: call, args }), { gas })
    }
  })

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'calls' },
    { weight: 6, arbitrary: write },
    fc.tuple(fc.constantFrom(BOB, bytesToHex(BONDED_POOL), ADDRESSES.staking, 'other' as const), amount).map(
      ([to, value]): Tree =>
        ({ other }) =>
          step(CALL, to === 'other' ? other : to, '0x', { value }),
    ),
    fc.constant<Tree>(() => step(REVERT, zeroAddress, '0x', { mustSucceed: true })),
    fc.tuple(fc.array(tie('tree'), { minLength: 1, maxLength: 4 }), fc.boolean(), amount, gas).map(
      ([below, isOther, value, gas]): Tree =>
        ({ self, other }) => {
          const at = isOther ? { self: other, other: self } : { self, other }
          return step(CALL, at.self, run(below.map((each) => each(at))), { value: value > COIN ? 0n : value, gas })
        },
    ),
    fc.tuple(fc.array(tie('tree'), { minLength: 1, maxLength: 3 }), fc.boolean()).map(
      ([below, destroys]): Tree =>
        (at) => {
          const child = childOf(at.self)
          const steps = below.map((each) => each({ self: child, other: at.self }))
          if (destroys) steps.push(step(SELF_DESTRUCT, at.self, '0x', { mustSucceed: true }))
          const data = encodeDeployData({ abi, bytecode: puppet.bytecode, args: [steps] })
          return step(CREATE, zeroAddress, data, { value: 5n * COIN })
        },
    ),
  ),
}))

/** Where the next creation of an account goes, when those before it in this transaction succeed. */
let childOf: (self: Hex) => Hex

describe('trees of calls into the native layer', () => {
  it('leave what both engines agree on, and no invariant broken', async () => {
    const chains = ENGINES.map((engine) => new NativeChain({ engine }))
    const puppets: Hex[] = []
    for (const chain of chains) {
      puppets.length = 0
      for (let i = 0; i < 2; i++) {
        const address = await chain.deploy(ALICE, 'test/Puppet.sol', 'Puppet', [[]])
        await chain.run({ from: ALICE, to: address, value: 1_000n * COIN })
        await chain.run({
          from: ALICE,
          to: address,
          data: run(OPERATORS.slice(0, 2).map((at) => delegation(address, at))),
        })
        puppets.push(address)
      }
    }
    const [self, other] = puppets as [Hex, Hex]
    const names = new Set<string>()
    const property = fc.asyncProperty(
      fc.array(tree, { minLength: 2, maxLength: 5 }),
      fc.nat(2),
      async (steps, turn) => {
        const nonces = new Map(puppets.map((each) => [each, nonceOf(chains[0]!, each)]))
        childOf = (from) => {
          const nonce = nonces.get(from) ?? 1n
          nonces.set(from, nonce + 1n)
          return getContractAddress({ from, nonce })
        }
        const data = run(steps.map((each) => each({ self, other })))
        const [first, second] = await Promise.all(
          chains.map(async (chain) => {
            const { status, gasUsed, output, logs, native } = await chain.run({ from: ALICE, to: self, data })
            return { status, gasUsed, output, logs, native }
          }),
        )
        expect(second).toEqual(first)
        for (const { type } of first!.native) names.add(type)
        if (turn === 0) for (const chain of chains) chain.nextBlock({ fees: 7n * COIN })
        expect(chains[0]!.problems()).toEqual([])
      },
    )
    // what one run leaves the next one finds, so there is nothing to shrink
    await fc.assert(property, { numRuns: runs(60), endOnFailure: true })
    expect([...chains[1]!.snapshot()]).toEqual([...chains[0]!.snapshot()])
    // Any call that changes a delegation, or withdraws from it, pays its rewards.
    expect([...names]).toContain('withdraw_rewards')
  })
})

function nonceOf(chain: NativeChain, account: Hex): bigint {
  return BigInt(chain.snapshot().get(account)!.split(' ')[0]!)
}
