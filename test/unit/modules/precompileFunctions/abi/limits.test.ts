import { describe, expect, it } from 'vitest'
import { decodeValues, encodeValues } from '../../../../../src/modules/precompileFunctions/abi/codec.ts'
import {
  array,
  bool,
  bytes,
  int64,
  string,
  tuple,
  uint8,
  uint256,
} from '../../../../../src/modules/precompileFunctions/abi/types.ts'
import { bigIntToBytes, concatBytes } from '../../../../../src/primitives/bytes.ts'

const words = (...values: readonly (bigint | number)[]) =>
  concatBytes(...values.map((value) => bigIntToBytes(BigInt.asUintN(256, BigInt(value)), 32)))

describe('what is pointed to again and again', () => {
  it('is refused, though every part is inside the data', () => {
    const length = 1_000
    const text = new Uint8Array(32_000).fill(97)
    const shared = length * 32
    const data = concatBytes(words(32, length, ...new Array(length).fill(shared)), words(text.length), text)
    expect(decodeValues({ texts: array(string) }, data)).toBeUndefined()
    // one after the other they are what they seem
    const texts = new Array(length).fill('a'.repeat(32))
    expect(decodeValues({ texts: array(string) }, encodeValues({ texts: array(string) }, { texts }))).toEqual({ texts })
  })

  it('is refused where lists of lists would double at each level', () => {
    const Nested = array(array(array(array(array(array(array(array(bytes))))))))
    // each list has two items, both the next list
    const level = words(2, 64, 64)
    const data = concatBytes(words(32), ...new Array(8).fill(level), words(0))
    expect(decodeValues({ nested: Nested }, data)).toBeUndefined()
    const wide = concatBytes(words(32), words(64, ...new Array(64).fill(64 * 32)), words(0))
    expect(decodeValues({ nested: array(bytes) }, wide)).toEqual({ nested: new Array(64).fill(new Uint8Array(0)) })
  })
})

describe('sizes', () => {
  it.each([
    ['a list of 2^256 - 1', words(32, -1)],
    ['a list of 2^48', words(32, 2n ** 48n)],
    ['a list of more than there is', words(32, 90, 1, 2)],
    ['an offset beyond the end', words(64)],
    ['an offset below the start', words(-32, 0)],
    ['an offset of 2^64', words(2n ** 64n, 0)],
    ['no offset', new Uint8Array(31)],
    ['nothing', new Uint8Array(0)],
  ])('of %s are refused before room is made', (_what, data) => {
    expect(decodeValues({ list: array(uint256) }, data)).toBeUndefined()
    expect(decodeValues({ list: bytes }, data)).toBeUndefined()
  })
})

describe('values', () => {
  it.each([
    ['a bool of 2', { value: bool }, words(2)],
    ['a uint8 of 256', { value: uint8 }, words(256)],
    ['an int64 of 2^63', { value: int64 }, words(2n ** 63n)],
    ['an int64 of -2^63 - 1', { value: int64 }, words(-(2n ** 63n) - 1n)],
    ['a text that is not UTF-8', { value: string }, concatBytes(words(32, 2), Uint8Array.of(0xc3, 0x28))],
  ])('%s is refused', (_what, fields, data) => {
    expect(decodeValues(fields, data)).toBeUndefined()
  })

  it('keep nothing of the memory that they were read from', () => {
    const fields = { account: bytes, pair: tuple({ text: string, raw: bytes }) }
    const data = Buffer.from(
      encodeValues(fields, { account: Uint8Array.of(1), pair: { text: 'a', raw: Uint8Array.of(2) } }),
    )
    const values = decodeValues(fields, data)
    data.fill(0xff)
    expect(values).toEqual({ account: Uint8Array.of(1), pair: { text: 'a', raw: Uint8Array.of(2) } })
  })

  it('that a type does not have are not encoded', () => {
    expect(() => encodeValues({ value: uint8 }, { value: 256n })).toThrow(RangeError)
    expect(() => encodeValues({ value: uint256 }, { value: -1n })).toThrow(RangeError)
    expect(() => encodeValues({ value: int64 }, { value: 2n ** 63n })).toThrow(RangeError)
  })

  it('of strings keep a byte order mark', () => {
    const text = '\ufeffa'
    expect(decodeValues({ text: string }, encodeValues({ text: string }, { text }))).toEqual({ text })
  })
})
