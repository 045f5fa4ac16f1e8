import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  bigIntToMinimalBytes,
  bytesToBigInt,
  bytesToHex,
  decodeUtf8,
  writeBigInt,
} from '../../../src/primitives/bytes.ts'
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

describe('decodeUtf8', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('gives the text, and nothing for other bytes', () => {
    expect(decodeUtf8(new TextEncoder().encode('\ufeffä🜁'))).toBe('\ufeffä🜁')
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]]) expect(decodeUtf8(Uint8Array.from(bytes))).toBeUndefined()
  })

  it('does not take a failure of this machine for wrong bytes', () => {
    vi.spyOn(TextDecoder.prototype, 'decode').mockImplementation(() => {
      throw new RangeError('Array buffer allocation failed')
    })
    expect(() => decodeUtf8(Uint8Array.of(0x61))).toThrow(RangeError)
  })
})
