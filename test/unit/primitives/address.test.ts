import { bech32 } from 'bech32'
import { describe, expect, it } from 'vitest'
import {
  AddressChecksumError,
  AddressError,
  parseAddress,
  parseTypedAddress,
  toBech32,
  toChecksumAddress,
} from '../../../src/primitives/address.ts'

const ADDRESS = new Uint8Array(20).map((_, index) => index * 13)

describe('parseAddress', () => {
  it('reads both encodings', () => {
    for (const text of [toChecksumAddress(ADDRESS), toBech32(ADDRESS), toBech32(ADDRESS).toUpperCase()]) {
      expect(parseAddress(text)).toEqual(ADDRESS)
    }
    expect(parseAddress(toBech32(ADDRESS, 'coinvaloper'), 'coinvaloper')).toEqual(ADDRESS)
  })

  it.each([
    ['', 'expected 0x and 40 hex digits, or a coin1… address'],
    ['0x12', 'expected 0x and 40 hex digits'],
    [toBech32(ADDRESS, 'coinvaloper'), 'expected the prefix coin, not coinvaloper'],
    [toBech32(ADDRESS).replace(/.$/, (last) => (last === 'q' ? 'p' : 'q')), 'or a coin1… address'],
    [toBech32(new Uint8Array(21)), 'an address is 20 bytes, not 21'],
    [bech32.encode('coin', [...bech32.toWords(ADDRESS), 0]), 'whole bytes'],
    [bech32.encode('coin', [...bech32.toWords(new Uint8Array(19)).slice(0, -1), 1]), 'whole bytes'],
    ['0x', 'expected 0x and 40 hex digits'],
    // The lower case of this sign is k.
    [toBech32(ADDRESS).toUpperCase().replaceAll('K', '\u212a'), 'or a coin1… address'],
  ])('refuses %j', (text, problem) => {
    expect(() => parseAddress(text)).toThrow(problem)
    expect(() => parseAddress(text)).toThrow(AddressError)
  })
})

describe('parseTypedAddress', () => {
  const CHECKED = toChecksumAddress(ADDRESS)
  const digits = CHECKED.slice(2)

  it.each([CHECKED, `0x${digits.toLowerCase()}`, `0x${digits.toUpperCase()}`, toBech32(ADDRESS)])(
    'reads %s',
    (text) => {
      expect(parseTypedAddress(text)).toEqual(ADDRESS)
    },
  )

  it('calls a wrong checksum of bech32 that', () => {
    const typed = toBech32(ADDRESS).replace(/.$/, (last) => (last === 'q' ? 'p' : 'q'))
    expect(() => parseTypedAddress(typed)).toThrow(AddressChecksumError)
    expect(() => parseTypedAddress(typed)).toThrow('the checksum of bech32 does not fit')
    expect(() => parseTypedAddress(toBech32(ADDRESS, 'coinvaloper'))).toThrow('expected the prefix coin')
    expect(() => parseTypedAddress('coin1')).toThrow('or a coin1… address')
  })

  it('refuses one letter of the other case, which others read', () => {
    const at = digits.search(/[a-f]/)
    const typed = `0x${digits.slice(0, at)}${digits[at]!.toUpperCase()}${digits.slice(at + 1)}`
    expect(parseAddress(typed)).toEqual(ADDRESS)
    expect(() => parseTypedAddress(typed)).toThrow('EIP-55')
  })
})
