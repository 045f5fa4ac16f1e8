import fc from 'fast-check'
import { type Hex, maxUint256 } from 'viem'
import { describe, expect, it } from 'vitest'
import { totalBurnt } from '../../../../../src/evm/coinMovements.ts'
import { allowanceSlot } from '../../../../../src/modules/bank/precompile/nativeToken.ts'
import { FEE_COLLECTOR } from '../../../../../src/modules/moduleAccounts.ts'
import { bytesToHex, hexToBytes } from '../../../../../src/primitives/bytes.ts'
import { runs } from '../../../../propertyRuns.ts'
import {
  CoinModel,
  encodeCreation,
  encodePayload,
  LAST_CREATED,
  MAX_CREATION_DEPTH,
  type ModelTransaction,
  type Payload,
  PUPPET_CODE,
  SELF,
  type Step,
  type TokenCall,
} from '../../../../support/precompiles/coinModel.ts'
import { createMemoryChain, GAS_PRICE, hexLogs, TOKEN } from '../../../../support/precompiles/memoryChain.ts'

const USERS: readonly Hex[] = [
  '0xa11ce00000000000000000000000000000000001',
  '0xb0b0000000000000000000000000000000000002',
  '0xca40100000000000000000000000000000000003',
]
const PUPPETS: readonly Hex[] = [
  '0x1000000000000000000000000000000000000001',
  '0x2000000000000000000000000000000000000002',
]
const NOBODY: Hex = '0xd00d000000000000000000000000000000000004'
const ZERO: Hex = '0x0000000000000000000000000000000000000000'
const COLLECTOR = bytesToHex(FEE_COLLECTOR)
const GAS_LIMIT = 16_000_000n
/** A transaction's gas can always be bought. */
const USER_BALANCE = 10n ** 11n
const PUPPET_BALANCE = 1000n

const user = fc.constantFrom(...USERS)
const party = fc.constantFrom(...USERS, ...PUPPETS, NOBODY)
const account = fc.oneof({ weight: 8, arbitrary: party }, { weight: 1, arbitrary: fc.constantFrom(ZERO, TOKEN) })
const amount = fc.oneof(
  { weight: 6, arbitrary: fc.bigInt(0n, 400n) },
  { weight: 1, arbitrary: fc.constantFrom(0n, PUPPET_BALANCE, USER_BALANCE, maxUint256) },
)
const must = fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
const value = fc.oneof({ weight: 2, arbitrary: fc.constant(0n) }, { weight: 3, arbitrary: fc.bigInt(0n, 1500n) })

const tokenCall: fc.Arbitrary<TokenCall> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ name: fc.constant('transfer' as const), to: account, amount }) },
  {
    weight: 4,
    arbitrary: fc.record({
      name: fc.constant('approve' as const),
      to: account,
      amount: fc.oneof(amount, fc.constant(maxUint256)),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      name: fc.constant('transferFrom' as const),
      from: party,
      to: account,
      amount: fc.oneof({ weight: 6, arbitrary: fc.bigInt(0n, 40n) }, { weight: 1, arbitrary: amount }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ name: fc.constant('withdraw' as const), amount }) },
  { weight: 2, arbitrary: fc.record({ name: fc.constantFrom('deposit', 'balanceOf', 'fallback') }) },
)

/** Calls with a target that fits the payload, most of the time. */
function callArbitrary(depth: number): fc.Arbitrary<{ readonly target: Hex; readonly payload: Payload }> {
  const onToken = fc.record({ target: fc.constant(TOKEN), payload: fc.record({ token: tokenCall }) })
  const plain = fc.record({
    target: fc.oneof(account, fc.constantFrom(LAST_CREATED, SELF)),
    payload: fc.constant(undefined),
  })
  if (depth >= 2) return fc.oneof({ weight: 5, arbitrary: onToken }, { weight: 1, arbitrary: plain })
  const onPuppet = fc.record({
    target: fc.constantFrom<Hex>(...PUPPETS, ...PUPPETS, LAST_CREATED, SELF, TOKEN),
    payload: fc.record({ steps: stepsArbitrary(depth + 1) }),
  })
  return fc.oneof(
    { weight: 4, arbitrary: onToken },
    { weight: 4, arbitrary: onPuppet },
    { weight: 1, arbitrary: plain },
  )
}

function stepsArbitrary(depth: number): fc.Arbitrary<readonly Step[]> {
  const call = callArbitrary(depth)
  const merge = <T extends object, U extends object>([a, b]: readonly [T, U]): T & U => ({ ...a, ...b })
  const choices: fc.WeightedArbitrary<Step>[] = [
    {
      weight: 8,
      arbitrary: fc.tuple(fc.record({ kind: fc.constant('call' as const), value, must }), call).map(merge),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.record({ kind: fc.constantFrom('staticCall' as const, 'delegateCall' as const), must }), call)
        .map(merge),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('selfDestruct' as const),
        target: fc.oneof(account, fc.constantFrom(LAST_CREATED, SELF)),
      }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('revert' as const) }) },
  ]
  if (depth <= MAX_CREATION_DEPTH) {
    const steps = stepsArbitrary(depth + 1)
    choices.push({ weight: 5, arbitrary: fc.record({ kind: fc.constant('create' as const), value, must, steps }) })
  }
  return fc.array(fc.oneof(...choices), { minLength: 1, maxLength: 3 })
}

/** By what fast-check calls them: a user calls the token, pays somebody, calls a Puppet, or creates one. */
const transaction: fc.Arbitrary<ModelTransaction> = fc
  .tuple(
    user,
    value,
    fc.oneof(
      fc.record({
        to: fc.constant<Hex | undefined>(TOKEN),
        payload: fc.record({ token: tokenCall }) as fc.Arbitrary<Payload>,
      }),
      fc.record({ to: account as fc.Arbitrary<Hex | undefined>, payload: fc.constant<Payload>(undefined) }),
      fc.record({
        to: fc.constantFrom<Hex | undefined>(...PUPPETS, undefined),
        payload: fc.record({ steps: stepsArbitrary(0) }) as fc.Arbitrary<Payload>,
      }),
      fc.record({
        to: fc.constantFrom<Hex | undefined>(...PUPPETS, undefined),
        payload: fc.record({ steps: stepsArbitrary(0) }) as fc.Arbitrary<Payload>,
      }),
    ),
  )
  .map(([from, coins, { to, payload }]) => ({
    from,
    to,
    value: coins,
    payload,
    gasLimit: GAS_LIMIT,
    gasPrice: GAS_PRICE,
  }))

function encodeTransaction({ to, payload }: ModelTransaction): Hex {
  if (to !== undefined) return encodePayload(payload, 0)
  return encodeCreation(payload !== undefined && 'steps' in payload ? payload.steps : [], 0)
}

async function checkAgainstModel(transactions: readonly ModelTransaction[], collector: Hex): Promise<void> {
  const balances: Record<Hex, bigint> = {}
  for (const address of USERS) balances[address] = USER_BALANCE
  for (const address of PUPPETS) balances[address] = PUPPET_BALANCE
  const code = Object.fromEntries(PUPPETS.map((address) => [address, PUPPET_CODE]))
  const evm = createMemoryChain({ balances, code, feesTo: hexToBytes(collector), coinbase: hexToBytes(collector) })
  const model = new CoinModel(TOKEN, balances, PUPPETS)
  let supply = evm.supply()
  for (const sent of transactions) {
    const expected = model.run(sent)
    const outcome = await evm.send({ ...sent, data: encodeTransaction(sent), gas: sent.gasLimit })
    model.settle(sent, outcome.gasUsed, collector)
    supply -= expected.burnt

    expect(outcome.status === 'success').toBe(expected.ok)
    expect(hexLogs(outcome.logs)).toEqual(expected.logs)
    expect(totalBurnt(outcome.burns)).toBe(expected.burnt)
    expect(sorted(evm.holders())).toEqual(sorted(model.holders()))
    expect([evm.supply(), evm.sumOfBalances()]).toEqual([supply, supply])
    for (const [pair, allowance] of model.allowances()) {
      const [owner, spender] = pair.split(':') as [Hex, Hex]
      expect(evm.storage(TOKEN, bytesToHex(allowanceSlot(hexToBytes(owner), hexToBytes(spender))))).toBe(allowance)
    }
  }
}

function sorted(holders: ReadonlyMap<Hex, bigint>): [Hex, bigint][] {
  return [...holders].sort(([a], [b]) => (a < b ? -1 : 1))
}

describe('no coin is lost or made', () => {
  it.each([
    ['the fee collector', COLLECTOR, 150],
    ['the token itself, as coinbase', TOKEN, 40],
  ] as const)(
    'in random call trees, with fees to %s',
    async (_, collector, numRuns) => {
      await fc.assert(
        fc.asyncProperty(fc.array(transaction, { minLength: 1, maxLength: 8 }), (transactions) =>
          checkAgainstModel(transactions, collector),
        ),
        { numRuns: runs(numRuns) },
      )
    },
    60_000,
  )
})
