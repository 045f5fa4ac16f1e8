import fc from 'fast-check'
import { type AbiFunction, type AbiParameter, encodeFunctionData, type Hex, toHex, zeroAddress } from 'viem'
import { describe, expect, it } from 'vitest'
import type { BlockContext } from '../../../src/evm/blockContext.ts'
import type { PrecompileResult } from '../../../src/evm/precompile.ts'
import { DISTRIBUTION, GOVERNANCE } from '../../../src/modules/moduleAccounts.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { bytesKey, bytesToHex, concatBytes, hexToBytes } from '../../../src/primitives/bytes.ts'
import { Journal } from '../../../src/state/journal.ts'
import { codePoint } from '../../codePoint.ts'
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
  type PrecompileName,
} from '../../support/precompiles/nativeChain.ts'

const NAMES = Object.keys(ADDRESSES) as PrecompileName[]
const PRECOMPILES = precompileTable(Object.values(ADDRESSES).map(hexToBytes))
const ACCOUNTS: readonly Hex[] = [ALICE, BOB, ...OPERATORS]
const CALLS = NAMES.flatMap((name) =>
  ABIS[name].filter((item): item is AbiFunction => item.type === 'function').map((item) => ({ name, item })),
)
const GAS = 5_000_000n

/** A chain with something of everything: delegations, one on its way back, one moved, a proposal, a vote, an unbonded validator. */
const chain = new NativeChain()
for (const operator of OPERATORS) {
  await chain.send(ALICE, 'staking', 'delegate', [ALICE, operatorOf(operator), 50n * COIN])
}
await chain.send(OPERATORS[0]!, 'staking', 'undelegate', [OPERATORS[0], operatorOf(OPERATORS[0]!), 100n * COIN])
chain.nextBlock()
chain.nextBlock({ waitMs: 22 * 24 * 3600 * 1000 })
await chain.send(ALICE, 'staking', 'undelegate', [ALICE, operatorOf(OPERATORS[1]!), COIN])
await chain.send(ALICE, 'staking', 'redelegate', [ALICE, operatorOf(OPERATORS[1]!), operatorOf(OPERATORS[2]!), COIN])
const proposal = toHex(JSON.stringify({ title: 't', summary: 's', metadata: 'm' }))
await chain.send(BOB, 'gov', 'submitProposal', [BOB, proposal, [{ denom: 'acoin', amount: 10n ** 24n }]])
await chain.send(ALICE, 'gov', 'vote', [ALICE, 1n, 1, ''])
chain.nextBlock({ fees: COIN })
chain.nextBlock()

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...OPERATORS.map(operatorOf), ...OPERATORS, ...ACCOUNTS.map(accountOf)) },
  fc.constantFrom(
    'acoin',
    '',
    'BOND_STATUS_BONDED',
    '0.5',
    '1',
    '-1',
    'coin',
    '[do-not-modify]',
    '\u0000',
    '9'.repeat(400),
  ),
  fc.constantFrom(Buffer.alloc(32, 7).toString('base64'), accountOf(bytesToHex(GOVERNANCE))),
  fc.string({ unit: codePoint, maxLength: 100 }),
)
const json = fc.oneof(
  fc.constant(proposal),
  fc.json({ maxDepth: 3 }).map((value) => toHex(value)),
  fc.json({ maxDepth: 2 }).map((value) => toHex(`{"title":"t","summary":"s","metadata":"m","messages":[${value}]}`)),
  fc.constantFrom<Hex>('0x', '0x00', `0x14${OPERATORS[1]!.slice(2)}`, '0x0000000000000001'),
  fc.uint8Array({ maxLength: 50 }).map(bytesToHex),
)
const account = fc.constantFrom(...ACCOUNTS, zeroAddress, bytesToHex(DISTRIBUTION), ADDRESSES.staking)

function integer(bits: number, isSigned: boolean): fc.Arbitrary<bigint> {
  const max = (1n << BigInt(isSigned ? bits - 1 : bits)) - 1n
  const min = isSigned ? -max - 1n : 0n
  const usual = [0n, 1n, 2n, 3n, COIN, 2n * COIN, BigInt(chain.height), max, min].filter((value) => value <= max)
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...usual) }, fc.bigInt(min, max))
}

function valuesOf(parameter: AbiParameter): fc.Arbitrary<unknown> {
  const { type } = parameter
  if (type.endsWith('[]')) return fc.array(valuesOf({ ...parameter, type: type.slice(0, -2) }), { maxLength: 3 })
  if (type === 'tuple') {
    const { components } = parameter as { components: readonly AbiParameter[] } & AbiParameter
    return fc.record(Object.fromEntries(components.map((each) => [each.name!, valuesOf(each)])))
  }
  if (type === 'address') return account
  if (type === 'bool') return fc.boolean()
  if (type === 'string') return text
  if (type === 'bytes') return json
  const [, unsigned, bits] = /^(u?)int(\d+)$/.exec(type)!
  const values = integer(Number(bits), unsigned === '')
  return Number(bits) <= 32 ? values.map(Number) : values
}

const call = fc
  .constantFrom(...CALLS)
  .chain(({ name, item }) =>
    fc.record({ name: fc.constant(name), item: fc.constant(item), args: fc.tuple(...item.inputs.map(valuesOf)) }),
  )

/** Calls the precompile itself: what it throws is not caught. */
function run(world: Journal, name: PrecompileName, caller: Hex, data: Uint8Array, more = {}): PrecompileResult {
  const precompile = PRECOMPILES.get(bytesKey(hexToBytes(ADDRESSES[name])))!
  const block = { number: chain.height, timeMs: chain.timeMs } as BlockContext
  return precompile.run({
    caller: hexToBytes(caller),
    value: 0n,
    data,
    gasLimit: GAS,
    isStatic: false,
    isDelegated: false,
    world,
    block,
    beforeWrite: () => undefined,
    ...more,
  })
}

/** As the engine ends a call: what did not succeed is undone. Gives the native entries and balances that changed. */
function changesOf(world: Journal): number {
  const { accounts, native } = world.changes()
  return [...accounts].length + native.length
}

describe('whatever is called', () => {
  it('answers or reverts, for the gas that it has, and a static call changes nothing', () => {
    const seen = new Map<string, number>()
    fc.assert(
      fc.property(call, fc.constantFrom(...ACCOUNTS), fc.boolean(), ({ name, item, args }, other, acts) => {
        const data = hexToBytes(encodeFunctionData({ abi: [item], functionName: item.name, args }))
        const [first] = args
        const caller = acts && item.inputs[0]?.type === 'address' ? (first as Hex) : other
        const result = run(new Journal(chain.state), name, caller, data)
        expect(['success', 'revert', 'failure']).toContain(result.status)
        expect(result.gasUsed).toBeLessThanOrEqual(GAS)
        if (result.status === 'failure') expect(result.failure).toBe('out of gas')
        if (result.status === 'success') seen.set(item.name, (seen.get(item.name) ?? 0) + 1)

        // exactly the same again, and not with less
        const again = run(new Journal(chain.state), name, caller, data, { gasLimit: result.gasUsed })
        expect(again).toEqual(result)
        const short = run(new Journal(chain.state), name, caller, data, { gasLimit: result.gasUsed - 1n })
        expect([short.status, short.gasUsed]).toEqual(['failure', result.gasUsed - 1n])

        const world = new Journal(chain.state)
        run(world, name, caller, data, { isStatic: true })
        expect(changesOf(world)).toBe(0)

        const { leastGas = 0n } = PRECOMPILES.get(bytesKey(hexToBytes(ADDRESSES[name])))!
        expect(result.gasUsed).toBeGreaterThanOrEqual(leastGas)
      }),
      { numRuns: runs(1_000) },
    )
    // the values are such that most functions succeed now and then
    expect(seen.size).toBeGreaterThan(CALLS.length / 2)
  })

  it('changes nothing before it has said so', () => {
    fc.assert(
      fc.property(call, fc.constantFrom(...ACCOUNTS), ({ name, item, args }, caller) => {
        const data = hexToBytes(encodeFunctionData({ abi: [item], functionName: item.name, args }))
        const world = new Journal(chain.state)
        let changesBefore: number | undefined
        const beforeWrite = (): void => {
          changesBefore ??= changesOf(world)
        }
        run(world, name, caller, data, { beforeWrite })
        expect(changesBefore ?? changesOf(world)).toBe(0)
      }),
      { numRuns: runs(500) },
    )
  })

  it('never breaks on bytes that are no arguments', () => {
    fc.assert(
      fc.property(
        call,
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        fc.nat(300),
        ({ name, item, args }, edits, cut) => {
          const whole = hexToBytes(encodeFunctionData({ abi: [item], functionName: item.name, args }))
          const data = cut < whole.length - 4 ? whole.slice(0, whole.length - cut) : concatBytes(whole)
          for (const [at, byte] of edits) if (data.length > 4) data[4 + (at % (data.length - 4))] = byte
          const { status } = run(new Journal(chain.state), name, ALICE, data)
          expect(['success', 'revert', 'failure']).toContain(status)
        },
      ),
      { numRuns: runs(1_000) },
    )
  })
})
