import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPrecompileGas, type PrecompileGas } from '../../../src/evm/precompileGas.ts'
import { standardPrecompileGas } from '../../../src/evm/standard/runStandardPrecompile.ts'
import { applyBlockStart, BEACON_ROOTS } from '../../../src/evm/systemCalls.ts'
import { createCallTracer } from '../../../src/evm/tracers/callTracer.ts'
import { TraceBudget } from '../../../src/evm/tracers/traceCollector.ts'
import { type AppliedTransaction, applyCall, type CallMessage } from '../../../src/evm/transition.ts'
import { bytesToBigInt, bytesToHex, concatBytes, EMPTY_BYTES, hexToBytes } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import { CONTRACT, callOf, contextOn, ENGINES, OTHER, stateWith } from '../../support/evm/evmFixture.ts'
import { type PrecompileCalls, precompileCaller, precompileCalls } from '../../support/evm/precompileCaller.ts'

const ECRECOVER = 0x01
const SHA256 = 0x02
const RIPEMD160 = 0x03
const IDENTITY = 0x04
const BN254_ADD = 0x06
const BN254_PAIRING = 0x08
const POINT_EVALUATION = 0x0a
const P256_VERIFY = 0x100
/** All that are limited but MODEXP and BLAKE2F, whose price is in the input. */
const LIMITED = [ECRECOVER, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, P256_VERIFY]
const CALLER = bytesToHex(precompileCaller())

function addressOf(number: number): Uint8Array {
  return hexToBytes(`0x${number.toString(16).padStart(40, '0')}`)
}

/** An input that is wrong for all of {@link LIMITED}. */
const INPUT = new Uint8Array(768).fill(0xee)

describe.each(ENGINES)('precompile gas in the $name engine', (engine) => {
  async function apply(
    call: Partial<CallMessage>,
    precompileGas?: PrecompileGas,
    code = CALLER,
  ): Promise<AppliedTransaction> {
    const gas = precompileGas === undefined ? {} : { precompileGas }
    const outcome = await applyCall({ ...contextOn(stateWith(code), { engine, ...gas }), call: callOf(call) })
    if (outcome.kind !== 'applied') throw new Error(outcome.reason)
    return outcome
  }

  /** Successes of the calls, and what they left. */
  async function calls(
    fields: PrecompileCalls,
    limit: bigint | PrecompileGas,
  ): Promise<{
    readonly successes: bigint
    readonly left: bigint
    readonly hitLimit: boolean
    readonly gasUsed: bigint
  }> {
    const gas = typeof limit === 'bigint' ? createPrecompileGas(limit) : limit
    const { output, gasUsed } = await apply({ data: precompileCalls(fields) }, gas)
    return { successes: bytesToBigInt(output), ...gas, gasUsed }
  }

  it('is used up by the calls of a transaction, the rest of which fail', async () => {
    const all = await calls({ number: ECRECOVER, gas: 3_000n, count: 5 }, 15_000n)
    expect(all).toMatchObject({ successes: 5n, left: 0n, hitLimit: false })
    const some = await calls({ number: ECRECOVER, gas: 3_000n, count: 5 }, 10_000n)
    // all the gas that a failing call is given is its price here
    expect(some).toEqual({ successes: 3n, left: 1_000n, hitLimit: true, gasUsed: all.gasUsed })
    expect(await calls({ number: BN254_PAIRING, gas: 100_000n, count: 3 }, 90_000n)).toMatchObject({
      successes: 2n,
      left: 0n,
      hitLimit: true,
    })
  })

  it('leaves a cheaper call what it denied to a dearer one', async () => {
    const gas = createPrecompileGas(10_000n)
    expect(await calls({ number: BN254_PAIRING, gas: 45_000n, count: 1 }, gas)).toMatchObject({ successes: 0n })
    expect(await calls({ number: BN254_ADD, gas: 150n, count: 1 }, gas)).toMatchObject({ successes: 1n, left: 9_850n })
  })

  it('is shared by the transactions of a block', async () => {
    const gas = createPrecompileGas(10_000n)
    const each = { number: ECRECOVER, gas: 3_000n, count: 2 }
    expect(await calls(each, gas)).toMatchObject({ successes: 2n, left: 4_000n, hitLimit: false })
    expect(await calls(each, gas)).toMatchObject({ successes: 1n, left: 1_000n, hitLimit: true })
    expect(await calls(each, gas)).toMatchObject({ successes: 0n, left: 1_000n })
  })

  it('takes all the gas that a call over the limit was given', async () => {
    const within = await calls({ number: ECRECOVER, gas: 50_000n, count: 1 }, 3_000n)
    const beyond = await calls({ number: ECRECOVER, gas: 50_000n, count: 1 }, 2_999n)
    expect(beyond.gasUsed - within.gasUsed).toBe(47_000n)
  })

  it('has failed in the words of a call without gas, also for a transaction to a precompile', async () => {
    const gas = createPrecompileGas(2_999n)
    const outcome = await apply({ to: addressOf(ECRECOVER) }, gas)
    expect(outcome).toMatchObject({ status: 'failure', failure: 'out of gas', gasUsed: 1_000_000n })
    expect(gas).toEqual({ left: 2_999n, hitLimit: true })
    gas.left = 3_000n
    expect(await apply({ to: addressOf(ECRECOVER) }, gas)).toMatchObject({ status: 'success', gasUsed: 24_000n })
    expect(gas.left).toBe(0n)
  })

  it('shows in a trace as a call without gas', async () => {
    const { tracer, result } = createCallTracer(
      {},
      {
        fork: 'osaka',
        blockNumber: 1,
        blockHash: undefined,
        transactionHash: undefined,
        transactionIndex: 0,
        firstLogIndex: 0,
        budget: new TraceBudget(100_000),
      },
    )
    const data = precompileCalls({ number: ECRECOVER, gas: 5_000n, count: 2 })
    const context = contextOn(stateWith(CALLER), { engine, tracer, precompileGas: createPrecompileGas(3_000n) })
    await applyCall({ ...context, call: callOf({ data }) })
    const { calls: frames } = result() as { calls: { gasUsed: string; error?: string }[] }
    expect(frames.map(({ gasUsed, error }) => [gasUsed, error])).toEqual([
      ['0xbb8', undefined],
      ['0x1388', 'out of gas'],
    ])
  })

  it('counts calls of frames that are reverted', async () => {
    const gas = createPrecompileGas(10_000n)
    const data = precompileCalls({ number: ECRECOVER, gas: 3_000n, count: 2, reverts: true })
    expect(await apply({ data }, gas)).toMatchObject({ status: 'revert' })
    expect(gas).toEqual({ left: 4_000n, hitLimit: false })
    // an inner frame: the outer one passes its calldata on and does not care
    const outer = '0x365f5f375f5f365f5f7322222222222222222222222222222222222222225af100'
    const state = stateWith(CALLER)
    state.setAccount(OTHER, { nonce: 1n, code: hexToBytes(outer) })
    const context = contextOn(state, { engine, precompileGas: gas })
    const call = callOf({
      to: OTHER,
      data: precompileCalls({ number: ECRECOVER, gas: 3_000n, count: 1, reverts: true }),
    })
    expect(await applyCall({ ...context, call })).toMatchObject({ status: 'success' })
    expect(gas).toEqual({ left: 1_000n, hitLimit: false })
  })

  it('counts no call that cannot pay', async () => {
    expect(await calls({ number: ECRECOVER, gas: 2_999n, count: 3 }, 3_000n)).toMatchObject({
      successes: 0n,
      left: 3_000n,
      hitLimit: false,
    })
    expect(await calls({ number: ECRECOVER, gas: 2_999n, count: 1 }, 0n)).toMatchObject({ hitLimit: false })
  })

  it('counts a call with bad input by its price, not by the gas that it was given', async () => {
    expect(await calls({ number: POINT_EVALUATION, gas: 200_000n, count: 2 }, 120_000n)).toMatchObject({
      successes: 0n,
      left: 20_000n,
      hitLimit: false,
    })
  })

  it.each([SHA256, RIPEMD160, IDENTITY])('is not needed for precompile %i', async (number) => {
    expect(await calls({ number, gas: 10_000n, count: 3, input: INPUT }, 0n)).toMatchObject({
      successes: 3n,
      left: 0n,
      hitLimit: false,
    })
  })

  it.each(LIMITED)('is needed for precompile %i', async (number) => {
    const price = standardPrecompileGas(addressOf(number), INPUT, 'osaka')
    const each = { number, gas: 900_000n, count: 1, input: INPUT }
    expect(await calls(each, price)).toMatchObject({ left: 0n, hitLimit: false })
    expect(await calls(each, price - 1n)).toMatchObject({ successes: 0n, left: price - 1n, hitLimit: true })
  })

  it('is needed for MODEXP and BLAKE2F', async () => {
    const one = new Uint8Array(32).with(31, 1)
    const modexp = concatBytes(one, one, one, Uint8Array.of(2, 3, 5))
    expect(await calls({ number: 0x05, gas: 500n, count: 3, input: modexp }, 1_000n)).toMatchObject({
      successes: 2n,
      left: 0n,
    })
    const rounds = new Uint8Array(213).with(3, 200)
    expect(await calls({ number: 0x09, gas: 1_000n, count: 3, input: rounds }, 500n)).toMatchObject({
      successes: 2n,
      left: 100n,
    })
  })

  it('counts a cheap call with 100', async () => {
    const rounds = new Uint8Array(213).with(3, 12)
    expect(await calls({ number: 0x09, gas: 12n, count: 3, input: rounds }, 299n)).toMatchObject({
      successes: 2n,
      left: 99n,
      hitLimit: true,
    })
    expect(await calls({ number: 0x09, gas: 0n, count: 2 }, 150n)).toMatchObject({ successes: 0n, left: 50n })
  })

  it.each(['CALL', 'CALLCODE', 'DELEGATECALL', 'STATICCALL'] as const)('is used by a %s', async (opcode) => {
    const gas = createPrecompileGas(7_000n)
    const data = precompileCalls({ number: ECRECOVER, gas: 3_000n, count: 3 })
    const { output } = await apply({ data }, gas, bytesToHex(precompileCaller(opcode)))
    expect(bytesToBigInt(output)).toBe(2n)
    expect(gas).toEqual({ left: 1_000n, hitLimit: true })
  })

  it('has no limit where there is none', async () => {
    const { output } = await apply({ data: precompileCalls({ number: ECRECOVER, gas: 3_000n, count: 200 }) })
    expect(bytesToBigInt(output)).toBe(200n)
  })

  it('is used by system calls, too', async () => {
    const state = stateWith()
    state.setAccount(BEACON_ROOTS, { nonce: 1n, code: hexToBytes('0x5f5f5f5f5f60015af100') })
    const precompileGas = createPrecompileGas(10_000n)
    const root = new Uint8Array(32)
    const context = contextOn(state, { engine, precompileGas })
    await applyBlockStart({ ...context, parentHash: root, parentBeaconBlockRoot: root })
    expect(precompileGas.left).toBe(7_000n)
  })
})

describe('both engines', () => {
  const some = fc.record({
    number: fc.constantFrom(ECRECOVER, SHA256, IDENTITY, BN254_ADD, BN254_PAIRING, POINT_EVALUATION, P256_VERIFY, 0x09),
    gas: fc.bigInt(0n, 60_000n),
    count: fc.nat(4),
    reverts: fc.boolean(),
    input: fc.constantFrom(EMPTY_BYTES, INPUT, new Uint8Array(213).with(2, 9)),
  })

  it('come to the same in any block', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(some, { maxLength: 4 }), fc.bigInt(0n, 200_000n), async (block, limit) => {
        const [one, other] = await Promise.all(
          ENGINES.map(async (engine) => {
            const precompileGas = createPrecompileGas(limit)
            const context = contextOn(stateWith(CALLER), { engine, precompileGas })
            const outcomes: unknown[] = []
            for (const fields of block) {
              const call = callOf({ to: CONTRACT, data: precompileCalls(fields) })
              outcomes.push(await applyCall({ ...context, call }), { ...precompileGas })
            }
            return outcomes
          }),
        )
        expect(one).toEqual(other)
      }),
      { numRuns: runs(60) },
    )
  })
})
