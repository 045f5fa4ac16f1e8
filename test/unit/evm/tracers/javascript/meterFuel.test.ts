import { describe, expect, it } from 'vitest'
import { FUEL, meterFuel } from '../../../../../src/evm/tracers/javascript/meterFuel.ts'
import { WebAssembly } from '../../../../../src/primitives/webAssembly.ts'

/**
 * (module (memory 1) (global i32 (i32.const 0))
 *   (func (export "spin") (param i32) (result i32)
 *     (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (i32.const 7))
 *   (func (export "fill") (param i32) (memory.fill (i32.const 0) (i32.const 1) (local.get 0))))
 */
const MODULE = Buffer.from(
  '0061736d01000000010a0260017f017f60017f00030302000105030100010606017f0041000b070f02047370696e00000466696c6c00010a1e0210000340200041016b22000d000b41070b0b00410041012000fc0b000b',
  'hex',
)

interface Exports {
  readonly spin: (turns: number) => number
  readonly fill: (bytes: number) => void
  readonly [FUEL]: { value: number }
}

function instantiate(): Exports {
  return new WebAssembly.Instance(new WebAssembly.Module(meterFuel(MODULE))).exports as Exports
}

describe('metered code', () => {
  it('does what it did, and takes a unit for a turn or a call', () => {
    const { spin, [FUEL]: fuel } = instantiate()
    fuel.value = 1_000
    expect(spin(10)).toBe(7)
    expect(fuel.value).toBe(1_000 - 11)
  })

  it('traps where it has no fuel', () => {
    const { spin, [FUEL]: fuel } = instantiate()
    fuel.value = 1_000
    expect(() => spin(0)).toThrow(WebAssembly.RuntimeError)
  })

  it('pays for bytes', () => {
    const { fill, [FUEL]: fuel } = instantiate()
    fuel.value = 100
    fill(640)
    expect(fuel.value).toBe(89)
    expect(() => fill(65_536)).toThrow(WebAssembly.RuntimeError)
  })

  it('is refused where an instruction is unknown', () => {
    const unknown = Buffer.from(MODULE)
    unknown[unknown.length - 4] = 0xfe
    expect(() => meterFuel(unknown)).toThrow('unknown instruction')
  })
})
