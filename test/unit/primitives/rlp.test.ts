import { RLP } from '@ethereumjs/rlp'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesToHex, EMPTY_BYTES, hexToBytes } from '../../../src/primitives/bytes.ts'
import {
  checkRLP,
  DecodingError,
  decodeDownTo,
  decodeRLP,
  EncodedItem,
  encodeRLP,
  encodeRLPList,
  enterList,
  itemAt,
  leaveList,
  openRLP,
  type RLPInput,
  readBytes,
  readFixedBytes,
  readInteger,
} from '../../../src/primitives/rlp.ts'
import { runs } from '../../propertyRuns.ts'

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
      { numRuns: runs(300) },
    )
  })

  it('writes long lengths', () => {
    for (const length of [55, 56, 255, 256, 65_535, 65_536, 70_000]) {
      const input = [new Uint8Array(length).fill(1)]
      expect(encodeRLP(input)).toEqual(RLP.encode(input))
    }
  })

  it('writes single low bytes as themselves, in an array of their own', () => {
    const low = Uint8Array.of(0x7f)
    expect(encodeRLP(low)).toEqual(Uint8Array.of(0x7f))
    expect(encodeRLP(low)).not.toBe(low)
    expect(encodeRLP(Uint8Array.of(0x80))).toEqual(Uint8Array.of(0x81, 0x80))
    expect(encodeRLP(EMPTY_BYTES)).toEqual(Uint8Array.of(0x80))
  })
})

describe('decodeDownTo', () => {
  it('leaves lists encoded that are so deep, and knows them from strings with the same bytes', () => {
    const inner = [Uint8Array.of(2), [Uint8Array.of(3)]]
    const encoded = encodeRLP([encodeRLP(inner), inner])
    expect(decodeDownTo(encoded, 0)).toEqual(new EncodedItem(encoded))
    expect(decodeDownTo(encoded, 1)).toEqual([encodeRLP(inner), new EncodedItem(encodeRLP(inner))])
    const innermost = new EncodedItem(encodeRLP([Uint8Array.of(3)]))
    expect(decodeDownTo(encoded, 2)).toEqual([encodeRLP(inner), [Uint8Array.of(2), innermost]])
    expect(decodeDownTo(encoded, 3)).toEqual(decodeRLP(encoded))
  })

  it('writes what it has left encoded as it was', () => {
    fc.assert(
      fc.property(tree, fc.nat(4), (input, depth) => {
        const bytes = encodeRLP(input)
        expect(encodeRLP(decodeDownTo(bytes, depth))).toEqual(bytes)
      }),
    )
  })

  it('refuses a list that reaches out of what is around it, although it does not look into it', () => {
    expect(() => decodeDownTo(Uint8Array.of(0xc2, 0xc2, 0x01), 1)).toThrow(DecodingError)
  })
})

describe('checkRLP', () => {
  it('gives up at more items than there may be, lists included', () => {
    const encoded = encodeRLP([Uint8Array.of(1), [Uint8Array.of(2), Uint8Array.of(3)]])
    checkRLP(encoded, 5)
    expect(() => checkRLP(encoded, 4)).toThrow('rlp: input contains too many values')
  })
})

describe('lists in one another', () => {
  const nested = (levels: number) => {
    let item = encodeRLP([])
    for (let level = 1; level < levels; level++) item = encodeRLPList([item])
    return item
  }

  it('are read down to 64 levels, whatever the stack would allow', () => {
    expect(() => decodeRLP(nested(64))).not.toThrow()
    expect(() => checkRLP(nested(64), 100)).not.toThrow()
    for (const levels of [65, 10_000]) {
      expect(() => decodeRLP(nested(levels))).toThrow(DecodingError)
      expect(() => checkRLP(nested(levels), 20_000)).toThrow(DecodingError)
    }
  })
})

describe('decodeRLP', () => {
  /** What @ethereumjs/rlp makes of the bytes; undefined when it refuses them. */
  const secondOpinion = (bytes: Uint8Array): unknown => {
    try {
      return RLP.decode(bytes)
    } catch {
      return undefined
    }
  }
  const ours = (bytes: Uint8Array): unknown => {
    try {
      const decoded = decodeRLP(bytes)
      checkRLP(bytes, Number.POSITIVE_INFINITY)
      return decoded
    } catch (error) {
      expect(error).toBeInstanceOf(DecodingError)
      expect(() => checkRLP(bytes, Number.POSITIVE_INFINITY)).toThrow(error as DecodingError)
      return undefined
    }
  }

  it('reads lists of strings as they were written', () => {
    const strings = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 })
    fc.assert(
      fc.property(strings, (items) => {
        expect(decodeRLP(encodeRLP(items))).toEqual(items)
      }),
    )
  })

  it('reads what was written as @ethereumjs/rlp does', () => {
    fc.assert(
      fc.property(tree, (input) => {
        const bytes = encodeRLP(input)
        const decoded = decodeRLP(bytes)
        expect(decoded).toEqual(RLP.decode(bytes))
        expect(encodeRLP(decoded)).toEqual(bytes)
      }),
      { numRuns: runs(300) },
    )
  })

  it('takes and refuses changed bytes as @ethereumjs/rlp does', () => {
    const change = fc.record({ at: fc.nat(), to: fc.integer({ min: 0, max: 255 }), cut: fc.nat(3) })
    fc.assert(
      fc.property(tree, change, (input, { at, to, cut }) => {
        const bytes = encodeRLP(input)
        bytes[at % bytes.length] = to
        const changed = bytes.subarray(0, Math.max(1, bytes.length - cut))
        expect(ours(changed)).toEqual(secondOpinion(changed))
      }),
      { numRuns: runs(2000) },
    )
  })

  it('takes and refuses any few bytes as @ethereumjs/rlp does', () => {
    const byte = fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0x81, 0xb8, 0xb9, 0xc0, 0xc1, 0xf8, 0xf9), fc.nat(255))
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 8 }), (items) => {
        const bytes = Uint8Array.from(items)
        expect(ours(bytes)).toEqual(secondOpinion(bytes))
      }),
      { numRuns: runs(5000) },
    )
  })

  it('refuses no bytes, of which @ethereumjs/rlp makes an empty string', () => {
    expect(() => decodeRLP(EMPTY_BYTES)).toThrow('EOF')
  })

  it('copies byte strings', () => {
    const bytes = encodeRLP([Uint8Array.of(1, 2, 3)])
    const [item] = decodeRLP(bytes) as [Uint8Array]
    bytes.fill(0)
    expect(item).toEqual(Uint8Array.of(1, 2, 3))
    expect(item.buffer.byteLength).toBe(3)
  })
})

describe('itemAt', () => {
  it.each([
    ['no bytes', []],
    ['a string beyond the end', [0x83, 1, 2]],
    ['a long length beyond the end', [0xb8]],
    ['a length of many bytes', [0xbf, 255, 255, 255, 255, 255, 255, 255, 255]],
  ])('refuses %s', (_, bytes) => {
    expect(() => itemAt(Uint8Array.from(bytes), 0)).toThrow('too early')
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
