import { describe, expect, it } from 'vitest'
import { parseAddress, toBech32, toChecksumAddress } from '../../../src/primitives/address.ts'

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
    // The lower case of this sign is k.
    [toBech32(ADDRESS).toUpperCase().replaceAll('K', '\u212a'), 'or a coin1… address'],
  ])('refuses %j', (text, problem) => {
    expect(() => parseAddress(text)).toThrow(problem)
  })
})
