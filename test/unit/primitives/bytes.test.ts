import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bigIntToMinimalBytes, bytesToBigInt, bytesToHex, writeBigInt } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'

const bytes = fc
  .tuple(fc.nat(10), fc.uint8Array({ maxLength: 70 }))
  .map(([zeros, rest]) => Uint8Array.from([...new Uint8Array(zeros), ...rest]))

describe('integers as bytes', () => {
  it('are read and written as their hex digits say', () => {
    fc.assert(
      fc.property(bytes, (value) => {
        const integer = value.length === 0 ? 0n : BigInt(bytesToHex(value))
        expect(bytesToBigInt(value)).toBe(integer)
        const digits = integer === 0n ? '' : integer.toString(16)
        const minimal = `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`
        expect(bytesToHex(bigIntToMinimalBytes(integer))).toBe(minimal)
        const out = new Uint8Array(100)
        const end = writeBigInt(out, 3, integer)
        expect(bytesToHex(out.slice(3, end))).toBe(minimal)
        expect([...out.slice(0, 3), ...out.slice(end)].every((byte) => byte === 0)).toBe(true)
      }),
      { numRuns: runs(1_000) },
    )
  })
})
