import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ByteWriter, decodeAscending, VarintReader, writeAscending } from '../../../src/state/varint.ts'

it('reads ascending numbers as they were written', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 2 ** 47 })), (numbers) => {
      const sorted = numbers.sort((a, b) => a - b)
      const writer = new ByteWriter()
      writeAscending(writer, sorted)
      expect(decodeAscending(new VarintReader(writer.finish()), sorted.length)).toEqual(sorted)
    }),
  )
  expect(() => new VarintReader(Uint8Array.of(0x80)).next()).toThrow('too early')
})
