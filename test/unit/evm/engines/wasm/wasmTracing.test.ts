import { describe, expect, it } from 'vitest'
import * as constants from '../../../../../assembly/evm/constants.ts'
import { engineFailureMessage } from '../../../../../src/evm/engines/wasm/engineFailureMessage.ts'
import { createTracing, tracingImports } from '../../../../../src/evm/engines/wasm/wasmTracing.ts'
import type { FrameEnter, FrameExit, OpcodeStep, Tracer } from '../../../../../src/evm/tracer.ts'
import { bytesToHex, concatBytes } from '../../../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../../../src/primitives/hash.ts'
import { handMadeRun } from '../../../../support/evm/engines/wasm/hostFixture.ts'
import { CONTRACT, OTHER, SENDER, stateWith } from '../../../../support/evm/evmFixture.ts'

const {
  CALL_DEPTH,
  INVALID_OPCODE,
  NO_FAILURE,
  OUT_OF_GAS,
  PRECOMPILE_FAILED,
  STACK_OVERFLOW,
  STACK_UNDERFLOW,
  SUCCESS,
  REVERTED,
  FAILED,
} = constants

function tracedRun() {
  const enters: FrameEnter[] = []
  const exits: FrameExit[] = []
  const steps: { step: OpcodeStep; stack: readonly bigint[]; memory: string; returnData: string }[] = []
  const run = handMadeRun(stateWith(), {
    tracer: {
      onEnter: (frame) => void enters.push(frame),
      onExit: (frame) => void exits.push(frame),
      onOpcode: (step) => {
        const { stack, memory, returnData } = step
        steps.push({ step, stack, memory: bytesToHex(memory), returnData: bytesToHex(returnData) })
      },
    },
  })
  return { run, enters, exits, steps, imports: tracingImports(run) }
}

describe('trace flags', () => {
  const hook = () => undefined
  it.each<[Tracer, number]>([
    [{}, 0],
    [{ onLog: hook }, 0],
    [{ onOpcode: hook }, constants.TRACE_STEPS],
    [{ onExit: hook }, constants.TRACE_FRAMES],
    [{ onParty: hook }, constants.TRACE_FRAMES],
    [{ onEnter: hook, onOpcode: hook }, constants.TRACE_STEPS | constants.TRACE_FRAMES],
  ])('ask only for what a tracer hears: %o', (tracer, flags) => {
    expect(createTracing(tracer, tracedRun().run.memory, 0n).flags).toBe(flags)
  })
})

describe('traceStep', () => {
  it('shows the machine', () => {
    const { run, steps, imports } = tracedRun()
    const { memory } = run
    const stack = run.room(64)
    memory.writeWord(stack, 1n)
    memory.writeWord(stack + 32, 1n << 200n)
    const evmMemory = run.place(new Uint8Array(32).fill(5))
    const frame = run.place(concatBytes(CONTRACT, new Uint8Array(12), SENDER, new Uint8Array(20)))
    memory.view.setUint32(frame + constants.FRAME_RETURN_DATA, run.place(Uint8Array.of(6, 7)), true)
    memory.view.setUint32(frame + constants.FRAME_RETURN_DATA_LENGTH, 2, true)
    imports.traceStep(3, 0x01, 500n, 3n, 1, 4800n, stack, stack + 32, evmMemory, 32, frame, NO_FAILURE, 0, 0)
    // an empty stack has its top one word below its lowest
    imports.traceStep(4, 0x50, 497n, 2n, 1, 0n, stack, stack - 32, evmMemory, 0, frame, STACK_UNDERFLOW, 0, 1)
    const shared = { depth: 1, address: CONTRACT, caller: SENDER }
    expect(steps).toMatchObject([
      {
        step: { pc: 3, op: 1, gas: 500n, gasCost: 3n, refund: 4800n, error: undefined, ...shared },
        stack: [1n, 1n << 200n],
        memory: `0x${'05'.repeat(32)}`,
        returnData: '0x0607',
      },
      {
        step: { pc: 4, op: 0x50, gas: 497n, gasCost: 2n, error: 'stack underflow (0 <=> 1)', ...shared },
        stack: [],
        memory: '0x',
      },
    ])
  })
})

describe('traceEnter and traceExit', () => {
  it('give frames that stay what they are', () => {
    const { run, enters, exits, imports } = tracedRun()
    const value = run.room(32)
    run.memory.writeWord(value, 9n)
    const data = run.place(Uint8Array.of(1, 2))
    imports.traceEnter(1, 0xf1, run.place(SENDER), run.place(OTHER), data, 2, 700n, value, 1)
    imports.traceEnter(2, 0xfa, run.place(SENDER), run.place(OTHER), data, 0, 600n, 0, 0)
    imports.traceExit(2, data, 2, 5n, REVERTED, NO_FAILURE, 0, 0)
    imports.traceExit(1, data, 1, 10n, SUCCESS, NO_FAILURE, 0, 0)
    imports.traceExit(0, data, 2, 700n, FAILED, OUT_OF_GAS, 0, 0)
    run.memory.bytes.fill(0)
    const frame = { from: SENDER, to: OTHER }
    expect(enters).toEqual([
      { ...frame, depth: 1, type: 'CALL', input: Uint8Array.of(1, 2), gas: 700n, value: 9n, precompile: true },
      {
        ...frame,
        depth: 2,
        type: 'STATICCALL',
        input: new Uint8Array(0),
        gas: 600n,
        value: undefined,
        precompile: false,
      },
    ])
    expect(exits).toEqual([
      { depth: 2, output: Uint8Array.of(1, 2), gasUsed: 5n, error: 'execution reverted', reverted: true },
      { depth: 1, output: Uint8Array.of(1), gasUsed: 10n, error: undefined, reverted: false },
      { depth: 0, output: new Uint8Array(0), gasUsed: 700n, error: 'out of gas', reverted: true },
    ])
  })
})

describe('the addresses alone', () => {
  it('are told once or more, also those that share a place in the memory of what was told', () => {
    const told: string[] = []
    const run = handMadeRun(stateWith(), { tracer: { onParty: (address) => void told.push(bytesToHex(address)) } })
    const imports = tracingImports(run)
    const addresses = Array.from({ length: 2_000 }, (_, index) => keccak256(Uint8Array.of(index, index >> 8)).slice(12))
    // Nothing is taken for told before it was.
    addresses.push(new Uint8Array(20), Uint8Array.of(...new Uint8Array(19), 1))
    for (const from of addresses) {
      const at = run.place(from)
      for (let again = 0; again < 3; again++) imports.traceEnter(1, 0xf1, at, run.place(OTHER), 0, 1 << 30, 1n, 0, 0)
    }
    imports.traceExit(1, 0, 1 << 30, 10n, SUCCESS, NO_FAILURE, 0, 0)
    expect(new Set(told)).toEqual(new Set([...addresses, OTHER].map(bytesToHex)))
    expect(told.length).toBeLessThan(2 * addresses.length)
  })
})

describe('engineFailureMessage', () => {
  it.each([
    [{ code: STACK_UNDERFLOW, detail: 1, need: 2 }, 'stack underflow (1 <=> 2)'],
    [{ code: STACK_OVERFLOW, detail: 1024, need: 0 }, 'stack limit reached 1024 (1023)'],
    [{ code: INVALID_OPCODE, detail: 0x0c, need: 0 }, 'invalid opcode: opcode 0xc not defined'],
    [{ code: INVALID_OPCODE, detail: 0xfe, need: 0 }, 'invalid opcode: INVALID'],
    [{ code: PRECOMPILE_FAILED, detail: 0, need: 0 }, 'its own words'],
    [{ code: CALL_DEPTH, detail: 0, need: 0 }, 'max call depth exceeded'],
  ])('%o', (failure, words) => {
    expect(engineFailureMessage(failure, 'its own words')).toBe(words)
  })

  it('has words for every failure of the engine, and for no other', () => {
    const words = Array.from({ length: PRECOMPILE_FAILED }, (_, index) =>
      engineFailureMessage({ code: index + 1, detail: 0, need: 0 }, 'its own words'),
    )
    expect(new Set(words).size).toBe(words.length)
    expect(() => engineFailureMessage({ code: PRECOMPILE_FAILED + 1, detail: 0, need: 0 }, '')).toThrow('no failure')
  })
})
