import fc from 'fast-check'
import { type AbiParameter, decodeAbiParameters, encodeAbiParameters, parseAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import { readArgument } from '../../../../explorer/web/src/abi/readArgument.ts'
import { runs } from '../../../propertyRuns.ts'

const WHO = `0x${'1'.repeat(40)}`
const parameterOf = (type: string): AbiParameter =>
  (type.includes('Entry')
    ? parseAbiParameters([
        `${type} x`,
        'struct Entry { address who; uint256 amount; Tag[2] tags; }',
        'struct Tag { bytes4 id; string text; }',
      ])
    : parseAbiParameters(`${type} x`))[0] as AbiParameter

describe('what is typed for a parameter', () => {
  const tags = [
    { id: '0x01020304', text: 'a' },
    { id: '0x00000000', text: '"' },
  ]
  it.each([
    ['uint256', '115792089237316195423570985008687907853269984665640564039457584007913129639935', 2n ** 256n - 1n],
    ['int64', ' -5 ', -5n],
    ['uint64', '0xff', 255n],
    ['bool', 'true', true],
    ['address', WHO, WHO],
    ['bytes', '0x', '0x'],
    ['bytes4', '0x01020304', '0x01020304'],
    ['string', ' as it is "', ' as it is "'],
    ['uint64[]', '[1, "2", "0x3"]', [1n, 2n, 3n]],
    ['bool[2][]', '[[true, "false"]]', [[true, false]]],
    ['string[]', '["a", ""]', ['a', '']],
    ['Entry', JSON.stringify({ who: WHO, amount: '7', tags }), { who: WHO, amount: 7n, tags }],
    ['Entry[1]', JSON.stringify([[WHO, 7, tags]]), [{ who: WHO, amount: 7n, tags }]],
  ])('%s: %s', (type, text, value) => {
    const parameter = parameterOf(type)
    const read = readArgument(parameter, text)
    expect(read).toEqual(value)
    expect(decodeAbiParameters([parameter], encodeAbiParameters([parameter], [read]))).toEqual([value])
  })

  it.each([
    ['uint256', '1.5', 'whole number'],
    ['uint256', '1e3', 'whole number'],
    ['uint256', '', 'whole number'],
    ['uint256[]', '[12345678901234567890]', 'in quotes'],
    ['uint256[]', '1, 2', 'list in JSON'],
    ['uint256[]', '{}', 'list in JSON'],
    ['uint256[2]', '[1]', 'list of 2'],
    ['bool', 'yes', 'true or false'],
    ['address', '0x12', '40 hex digits'],
    ['address[]', '[1]', 'text in quotes'],
    ['bytes', 'abc', 'hex digits'],
    ['bytes4', '0x01', '4 bytes'],
    ['Entry', '{"who":"0x"}', 'field amount'],
    ['Entry', '[1]', 'list of 3'],
    ['Entry', '1', 'JSON'],
    ['Entry', '{"__proto__":1}', 'field who'],
  ])('%s: not %s', (type, text, reason) => {
    expect(() => readArgument(parameterOf(type), text)).toThrow(reason)
  })

  it('is read or refused, whatever it is', () => {
    const types = ['uint256', 'bool', 'address', 'bytes3', 'uint8[2][]', 'Entry']
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.oneof(fc.json(), fc.string()), (type, text) => {
        try {
          readArgument(parameterOf(type), text)
        } catch (error) {
          expect((error as Error).message).not.toMatch(/undefined|is not a function|cannot read/i)
        }
      }),
      { numRuns: runs(200) },
    )
  })
})
