import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { ProtobufError, ProtobufFields, ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { runs } from '../../propertyRuns.ts'

/** A varint by its definition. */
function varintHex(value: bigint): string {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  do {
    bytes.push(Number(rest & 127n) | (rest > 127n ? 128 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return Buffer.from(bytes).toString('hex')
}

describe('varints', () => {
  const around = Array.from({ length: 64 }, (_, bit) => 1n << BigInt(bit)).flatMap((power) => [
    power - 1n,
    power,
    -power,
  ])
  const values = [...new Set(around.map((value) => BigInt.asIntN(64, value)))].filter((value) => value !== 0n)

  it.each(values)('%d is written and read', (value) => {
    const bytes = new ProtobufWriter().varint(1, value).finish()
    expect(bytesToHex(bytes)).toBe(`0x08${varintHex(value)}`)
    expect(new ProtobufFields(bytes).integer(1)).toBe(value)
    if (Number.isSafeInteger(Number(value))) {
      expect(new ProtobufWriter().varint(1, Number(value)).finish()).toEqual(bytes)
    }
  })
})

describe('messages', () => {
  it('leave out defaults, but not nested messages and repeated empty bytes', () => {
    const writer = new ProtobufWriter()
      .varint(1, 0)
      .sfixed64(2, 0)
      .bytes(3, new Uint8Array())
      .string(4, '')
      .message(5, () => {}, undefined)
      .repeatedBytes(6, [new Uint8Array()])
    expect(bytesToHex(writer.finish())).toBe('0x2a003200')
    expect(bytesToHex(writer.finishDelimited())).toBe('0x042a003200')
  })

  it('hold integers of fixed width as Node.js writes them', () => {
    for (const value of [
      1,
      -1,
      2 ** 32 - 1,
      2 ** 32,
      -(2 ** 32),
      2 ** 40 + 7,
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
    ]) {
      const expected = Buffer.alloc(9, 9)
      expected.writeBigInt64LE(BigInt(value), 1)
      expect(bytesToHex(new ProtobufWriter().sfixed64(1, value).finish())).toBe(bytesToHex(expected))
    }
  })

  it('hold every kind of field', () => {
    const bytes = new ProtobufWriter()
      .sfixed64(1, -2)
      .string(2, 'é')
      .repeatedMessage(300, (nested, value: number) => nested.varint(1, value), [0, 7])
      .bytes(4, new Uint8Array(1000).fill(9))
      .finish()
    expect(bytesToHex(bytes.subarray(0, 21))).toBe('0x09feffffffffffffff1202c3a9e21200e212020807')
    const fields = new ProtobufFields(bytes)
    expect(fields.string(2)).toBe('é')
    expect(fields.repeatedMessage(300, (nested) => nested.integer(1))).toEqual([0n, 7n])
    expect(fields.bytes(4)).toEqual(new Uint8Array(1000).fill(9))
    expect(fields.integer(9)).toBe(0n)
    expect(fields.bytes(9)).toEqual(new Uint8Array())
  })

  it.each([0, 1, 125, 126, 127, 128, 16_381, 16_384, 2_097_152])(
    'nest with %d bytes in the innermost one',
    (length) => {
      const inner = new Uint8Array(length).fill(7)
      const write = (writer: ProtobufWriter, depth: number): void => {
        writer.varint(1, 300)
        if (depth === 0) writer.bytes(2, inner)
        else writer.message(3, write, depth - 1)
        writer.varint(4, 5)
      }
      const expected = (depth: number): string => {
        const [tag, nested] = depth === 0 ? ['12', Buffer.from(inner).toString('hex')] : ['1a', expected(depth - 1)]
        const field = nested === '' && depth === 0 ? '' : `${tag}${varintHex(BigInt(nested.length / 2))}${nested}`
        return `08ac02${field}2005`
      }
      const writer = new ProtobufWriter()
      write(writer, 3)
      expect(Buffer.from(writer.finish()).toString('hex') === expected(3)).toBe(true)
    },
  )

  it.each([
    { what: 'an unfinished varint', hex: '0880' },
    { what: 'an endless varint', hex: '08ffffffffffffffffffffff01' },
    { what: 'bytes longer than the input', hex: '0a0541' },
    { what: 'a length beyond 2^53', hex: '0affffffffffffffffff01' },
    { what: 'a group', hex: '0b0c' },
    { what: 'field number 0', hex: '0001' },
    { what: 'an unfinished fixed64', hex: '0900000000' },
  ])('with $what are refused', ({ hex }) => {
    expect(() => new ProtobufFields(hexToBytes(hex))).toThrow(ProtobufError)
  })

  it('refuse a field of another type', () => {
    const fields = new ProtobufFields(hexToBytes('08011201ff'))
    expect(() => fields.bytes(1)).toThrow(ProtobufError)
    expect(() => fields.integer(2)).toThrow(ProtobufError)
    expect(() => fields.string(2)).toThrow(ProtobufError)
    expect(() => fields.message(3, () => 0)).toThrow(ProtobufError)
  })

  it('of random bytes are read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          new ProtobufFields(bytes)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError)
        }
      }),
      { numRuns: runs(2000) },
    )
  })

  it('within other bytes are read as alone, never beyond their end', () => {
    const small = fc.uint8Array({ maxLength: 12 })
    const field = fc.oneof(
      fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }).map((value) => new ProtobufWriter().varint(1, value).finish()),
      small.map((value) => new ProtobufWriter().bytes(2, value).finish()),
      small.map((value) => Uint8Array.of(0x1a, value.length + (value[0] ?? 0) * 100, ...value)),
      small,
    )
    const read = (bytes: Uint8Array, start?: number, end?: number) => {
      try {
        const fields = new ProtobufFields(bytes, start, end)
        const nested = fields.repeatedMessage(3, (inner) => [...inner.numbers()])
        return [[...fields.numbers()], fields.integer(1), [...fields.bytes(2)], nested]
      } catch (error) {
        expect(error).toBeInstanceOf(ProtobufError)
        return 'refused'
      }
    }
    fc.assert(
      fc.property(fc.array(field, { maxLength: 4 }), small, small, (fields, before, after) => {
        const bytes = Uint8Array.from(fields.flatMap((part) => [...part]))
        const whole = Uint8Array.from([...before, ...bytes, ...after])
        expect(read(whole, before.length, before.length + bytes.length)).toEqual(read(bytes))
      }),
      { numRuns: runs(500) },
    )
  })
})
