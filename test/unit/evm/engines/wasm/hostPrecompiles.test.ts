import { describe, expect, it } from 'vitest'
import { CALL_DELEGATED, CALL_STATIC } from '../../../../../assembly/evm/constants.ts'
import type { Log } from '../../../../../src/chain/block/receipt.ts'
import { EngineTrapError } from '../../../../../src/evm/engines/errorKinds.ts'
import { precompileImports } from '../../../../../src/evm/engines/wasm/hostPrecompiles.ts'
import type { PrecompileCall, PrecompileResult, StatefulPrecompile } from '../../../../../src/evm/precompile.ts'
import { bigIntToBytes, EMPTY_BYTES, equalBytes } from '../../../../../src/primitives/bytes.ts'
import { StateReadError } from '../../../../../src/state/reader.ts'
import { type HandMadeRun, handMadeRun } from '../../../../support/evm/engines/wasm/hostFixture.ts'
import { BLOCK, SENDER, stateWith } from '../../../../support/evm/evmFixture.ts'

const NATIVE = bigIntToBytes(0x900n, 20)
const DATA = Uint8Array.of(1, 2, 3)
const FAILED = -(1n << 63n)

function precompile(run: (call: PrecompileCall) => PrecompileResult): StatefulPrecompile {
  return { address: NATIVE, run }
}

/** Calls it with 1,000 gas; `output` is what was written last. */
function call(run: HandMadeRun, address: Uint8Array, flags = 0) {
  let output: { readonly at: number; readonly length: number } | undefined
  const { reserveOutput } = run.engine
  run.engine.reserveOutput = (length) => {
    const at = reserveOutput(length)
    output = { at, length }
    return at
  }
  const value = run.room(32)
  run.memory.writeWord(value, 5n)
  const answer = precompileImports(run).callPrecompile(
    run.place(address),
    run.place(SENDER),
    value,
    run.place(DATA),
    DATA.length,
    1_000n,
    flags,
  )
  return { answer, output: output === undefined ? undefined : run.memory.copy(output.at, output.length) }
}

describe('callPrecompile', () => {
  it("runs Ethereum's precompiles", () => {
    expect(call(handMadeRun(stateWith()), bigIntToBytes(4n, 20))).toEqual({ answer: 1_000n - 18n, output: DATA })
    const run = handMadeRun(stateWith())
    expect(call(run, bigIntToBytes(9n, 20))).toEqual({ answer: FAILED, output: EMPTY_BYTES })
    expect(run.precompileFailure).toBe('invalid input length')
  })

  it.each([
    [0, { isStatic: false, isDelegated: false }],
    [CALL_STATIC, { isStatic: true, isDelegated: false }],
    [CALL_DELEGATED, { isStatic: false, isDelegated: true }],
  ])('tells stateful ones all of the call (flags %i)', (flags, seen) => {
    const calls: PrecompileCall[] = []
    let given: Uint8Array | undefined
    const keeper = precompile((seenCall) => {
      given = seenCall.data
      calls.push({ ...seenCall, data: given.slice() })
      return { status: 'success', output: DATA, gasUsed: 1n }
    })
    const run = handMadeRun(stateWith(), { precompiles: [keeper] })
    call(run, NATIVE, flags)
    // a copy would take time that nobody pays for
    expect(given?.buffer).toBe(run.memory.bytes.buffer)
    // all else that it was given is its own
    run.memory.bytes.fill(0xaa)
    const { world } = run
    const beforeWrite = expect.any(Function)
    const all = { caller: SENDER, value: 5n, data: DATA, gasLimit: 1_000n, world, block: BLOCK, beforeWrite, ...seen }
    expect(calls).toEqual([all])
  })

  it.each<[string, Partial<StatefulPrecompile>, boolean, string[]]>([
    ['before it runs', {}, false, ['prepared', 'ran']],
    ['when it says that it writes, if it announces that', { announcesWrites: true }, true, ['prepared', 'ran']],
    ['not at all if it does not say so', { announcesWrites: true }, false, ['ran']],
  ])('prepares the writes of one %s', (_name, more, writes, expected) => {
    const steps: string[] = []
    const writer = precompile(({ beforeWrite }) => {
      if (writes) beforeWrite()
      steps.push('ran')
      return { status: 'success', output: EMPTY_BYTES, gasUsed: 0n }
    })
    const run = handMadeRun(stateWith(), { precompiles: [{ ...writer, ...more }] })
    run.engine.prepareWrites = () => void steps.push('prepared')
    call(run, NATIVE)
    expect(steps).toEqual(expected)
  })

  it.each<[string, PrecompileResult, bigint, Uint8Array, string]>([
    ['succeeds', { status: 'success', output: DATA, gasUsed: 10n }, 990n, DATA, ''],
    ['succeeds with all gas', { status: 'success', output: DATA, gasUsed: 1_000n }, 0n, DATA, ''],
    ['reverts', { status: 'revert', output: DATA, gasUsed: 10n }, -991n, DATA, ''],
    ['reverts with all gas', { status: 'revert', output: DATA, gasUsed: 1_000n }, -1n, DATA, ''],
    ['fails', { status: 'failure', output: DATA, gasUsed: 10n, failure: 'no' }, FAILED, EMPTY_BYTES, 'no'],
    ['takes too much', { status: 'success', output: DATA, gasUsed: 1_001n }, FAILED, EMPTY_BYTES, 'out of gas'],
  ])('gives what is left when one %s', (_name, result, answer, output, words) => {
    const run = handMadeRun(stateWith(), { precompiles: [precompile(() => result)] })
    expect(call(run, NATIVE)).toEqual({ answer, output })
    expect(run.precompileFailure).toBe(words)
  })

  it("ends the run where one of Ethereum's breaks, which is no outcome", () => {
    expect(() => call(handMadeRun(stateWith()), bigIntToBytes(0x12n, 20))).toThrow(EngineTrapError)
  })

  it('ends the run where a stateful one throws, whatever it is', () => {
    const throwing = (error: Error) =>
      handMadeRun(stateWith(), {
        precompiles: [
          precompile(() => {
            throw error
          }),
        ],
      })
    for (const error of [new TypeError('a bug'), new RangeError('a bug'), new StateReadError('disk')]) {
      expect(() => call(throwing(error), NATIVE)).toThrow(error)
    }
  })

  it('writes long outputs to a memory that grows for them', () => {
    const output = new Uint8Array(300_000).fill(7)
    const large = precompile(() => ({ status: 'success', output, gasUsed: 0n }))
    const written = call(handMadeRun(stateWith(), { precompiles: [large] }), NATIVE).output
    expect(written !== undefined && equalBytes(written, output)).toBe(true)
  })

  it('writes outputs that are views of a memory that grows', () => {
    const run = handMadeRun(stateWith(), {
      precompiles: [precompile(({ data }) => ({ status: 'success', output: data, gasUsed: 0n }))],
    })
    const { reserveOutput } = run.engine
    run.engine.reserveOutput = (length) => {
      reserveOutput(300_000)
      return reserveOutput(length)
    }
    expect(call(run, NATIVE).output).toEqual(DATA)
  })

  it('shows the logs of a success to a tracer, and no others', () => {
    const seen: Log[] = []
    const logging = (status: PrecompileResult['status']) =>
      precompile(({ world }) => {
        world.emitLog({ address: NATIVE, topics: [], data: DATA })
        return { status, output: EMPTY_BYTES, gasUsed: 0n }
      })
    for (const status of ['success', 'revert', 'failure'] as const) {
      const run = handMadeRun(stateWith(), {
        precompiles: [logging(status)],
        tracer: { onLog: (log) => void seen.push(log) },
      })
      run.world.emitLog({ address: SENDER, topics: [], data: EMPTY_BYTES })
      call(run, NATIVE)
    }
    expect(seen).toEqual([{ address: NATIVE, topics: [], data: DATA }])
  })
})
