import { describe, expect, it } from 'vitest'
import {
  describeStepDifference,
  firstDifferingStep,
  type TracedRun,
} from '../../../../src/evm/engines/firstDifferingStep.ts'
import type { OpcodeStep } from '../../../../src/evm/tracer.ts'

const STEP: OpcodeStep = {
  pc: 0,
  op: 0x01,
  gas: 1_000n,
  gasCost: 3n,
  depth: 1,
  refund: 0n,
  stack: [],
  memory: new Uint8Array(0),
  returnData: new Uint8Array(0),
  address: new Uint8Array(20),
  caller: new Uint8Array(20),
  error: undefined,
}

/** Three steps, of which the second and the ones behind it have these fields. */
function run(count: number, fields: Partial<OpcodeStep> = {}): TracedRun {
  return async (tracer) => {
    for (let pc = 0; pc < count; pc++) tracer.onOpcode?.({ ...STEP, pc, ...(pc === 0 ? {} : fields) })
  }
}

describe('the first differing step', () => {
  it('is none when all steps are alike, in cost and error too or not', async () => {
    expect(await firstDifferingStep(run(3), run(3))).toBeUndefined()
    expect(await firstDifferingStep(run(3), run(3, { gasCost: 9n, error: 'out of gas' }))).toBeUndefined()
    expect(await firstDifferingStep(run(0), run(0))).toBeUndefined()
  })

  it.each<[string, Partial<OpcodeStep>]>([
    ['opcode', { op: 0x02 }],
    ['gas', { gas: 999n }],
    ['depth', { depth: 2 }],
    ['refund', { refund: 4_800n }],
    ['height of the stack', { stack: [0n] }],
    ['memory length', { memory: new Uint8Array(32) }],
    ['return data length', { returnData: new Uint8Array(1) }],
  ])('is found by its %s', async (_name, fields) => {
    const difference = await firstDifferingStep(run(3), run(3, fields))
    expect(difference).toMatchObject({ index: 1, before: { pc: 0 }, first: { pc: 1 }, second: { pc: 1 } })
  })

  it.each([
    ['the top word', [1n, 2n], [1n, 3n]],
    ['the order of words', [1n, 2n], [2n, 1n]],
    [
      'the deepest word that an opcode reaches',
      [7n, ...Array<bigint>(16).fill(0n)],
      [8n, ...Array<bigint>(16).fill(0n)],
    ],
  ])('is found by %s of the stack', async (_name, one, other) => {
    const difference = await firstDifferingStep(run(2, { stack: one }), run(2, { stack: other }))
    expect(difference?.index).toBe(1)
  })

  it('sees memory where an opcode hands it on', async () => {
    const memory = (byte: number) => ({ op: 0xf3, memory: Uint8Array.of(byte) })
    expect((await firstDifferingStep(run(2, memory(1)), run(2, memory(2))))?.index).toBe(1)
  })

  it('is the one behind the end of the run that is shorter', async () => {
    const longer = await firstDifferingStep(run(2), run(5))
    expect(longer).toMatchObject({ index: 2, first: undefined, second: { pc: 2 } })
    const shorter = await firstDifferingStep(run(5), run(2))
    expect(shorter).toMatchObject({ index: 2, first: { pc: 2 }, second: undefined })
    expect(describeStepDifference(shorter!, ['wasm', 'reference']).split('\n')).toEqual([
      'the engines agree on 2 steps',
      'last common step: depth 1 pc 1 ADD gas 1000 refund 0 memory 0 return data 0 stack (0, top first) ',
      'then wasm: depth 1 pc 2 ADD gas 1000 refund 0 memory 0 return data 0 stack (0, top first) ',
      'then reference: the end',
    ])
  })

  it('is found behind more steps than the list first has room for', async () => {
    const parting: TracedRun = async (tracer) => {
      for (let pc = 0; pc < 5_000; pc++) tracer.onOpcode?.({ ...STEP, pc, gas: pc < 4_321 ? 1_000n : 1n })
    }
    expect((await firstDifferingStep(run(5_000), parting))?.index).toBe(4_321)
  })
})
