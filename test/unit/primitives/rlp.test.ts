import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import {
  encodeRLP,
  encodeRLPList,
  enterList,
  leaveList,
  openRLP,
  type RLPInput,
  readBytes,
  readFixedBytes,
  readInteger,
} from '../../../src/primitives/rlp.ts'

const { tree } = fc.letrec<{ tree: RLPInput }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.uint8Array({ maxLength: 80 }),
    fc.uint8Array({ minLength: 200, maxLength: 400 }),
    fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
    fc.array(tie('tree'), { maxLength: 6 }),
  ),
}))

describe('encodeRLP', () => {
  it('agrees with @ethereumjs/rlp', () => {
    fc.assert(
      fc.property(tree, (input) => {
        expect(bytesToHex(encodeRLP(input))).toBe(bytesToHex(RLP.encode(input as Parameters<typeof RLP.encode>[0])))
      }),
      { numRuns: 300 },
    )
  })

  it('writes long lengths', () => {
    for (const length of [55, 56, 255, 256, 65_535, 65_536, 70_000]) {
      const input = [new Uint8Array(length).fill(1)]
      expect(encodeRLP(input)).toEqual(RLP.encode(input))
    }
  })
})

describe('encodeRLPList', () => {
  it('joins encoded items', () => {
    const items = [1n, new Uint8Array(60), [2n]]
    expect(encodeRLPList(items.map((item) => encodeRLP(item)))).toEqual(encodeRLP(items))
  })
})

describe('reading', () => {
  const target = { type: 'uint64', path: '' }

  it('gives back what was written', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (bytes, integer) => {
        const cursor = openRLP(encodeRLP([bytes, [integer]]))
        const outer = enterList(cursor, target)
        expect(readBytes(cursor, target)).toEqual(bytes)
        const inner = enterList(cursor, target)
        expect(readInteger(cursor, 32, target)).toBe(integer)
        leaveList(cursor, inner, target)
        leaveList(cursor, outer, target)
      }),
    )
  })

  it.each([
    ['a single byte in the long form', '8105', 'rlp: non-canonical size information for uint64'],
    ['a short string with a long header', 'b801ff', 'rlp: non-canonical size information for uint64'],
    ['a length with a leading zero', 'b90038', 'rlp: non-canonical size information for uint64'],
    ['a string longer than the input', '83ffff', 'rlp: value size exceeds available input length'],
    ['a length of more than 48 bits', 'bfffffffffffffffff', 'rlp: value size exceeds available input length'],
    ['a cut length', 'b9ff', 'unexpected EOF'],
    ['a list', 'c0', 'rlp: expected input string or byte for uint64'],
    ['nothing', '', 'EOF'],
    ['a leading zero', '820001', 'rlp: non-canonical integer (leading zero bytes) for uint64'],
    ['the byte zero', '00', 'rlp: non-canonical integer (leading zero bytes) for uint64'],
    ['nine bytes', '89010000000000000000', 'rlp: input string too long for uint64'],
  ])('refuses %s as an integer', (_name, hex, message) => {
    expect(() => readInteger(openRLP(hexToBytes(hex)), 8, target)).toThrow(message)
  })

  it.each([
    ['83010203', 'input string too short'],
    ['8501020304ff', 'input string too long'],
    ['7f', 'input string too short'],
  ])('refuses %s as four bytes', (hex, message) => {
    expect(() => readFixedBytes(openRLP(hexToBytes(hex)), 4, target)).toThrow(message)
  })

  it('refuses an element that reaches out of its list', () => {
    const cursor = openRLP(hexToBytes('c28301020304'))
    enterList(cursor, target)
    expect(() => readBytes(cursor, target)).toThrow('rlp: element is larger than containing list')
  })

  it('refuses further elements of a list', () => {
    const cursor = openRLP(hexToBytes('c20102'))
    const end = enterList(cursor, target)
    readBytes(cursor, target)
    expect(() => leaveList(cursor, end, target)).toThrow('rlp: input list has too many elements for uint64')
  })
})
