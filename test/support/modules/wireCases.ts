import fc from 'fast-check'
import { expect } from 'vitest'
import type { MessageType } from '../../../src/primitives/protoSchema.ts'
import { runs } from '../../propertyRuns.ts'

/** As much of a message of cosmjs-types as an oracle of encodings needs. */
export interface TheirMessage {
  readonly typeUrl: string
  encode(message: never): { finish(): Uint8Array }
  decode(bytes: Uint8Array): unknown
}

/** One of our message types, the same of cosmjs-types, and values of ours in which no field is zero. */
interface WireCase {
  readonly ours: MessageType<never>
  readonly theirs: TheirMessage
  readonly values: fc.Arbitrary<unknown>
}

export function wireCase<T>(ours: MessageType<T>, theirs: TheirMessage, values: fc.Arbitrary<T>): WireCase {
  return { ours: ours as unknown as MessageType<never>, theirs, values }
}

/**
 * cosmjs-types reads what we wrote and writes the same bytes again, so no field has a number or type that it does not
 * know; and we read those back to the value we began with.
 */
export function expectSameWire({ ours, theirs, values }: WireCase, numRuns = 30): void {
  expect(ours.typeUrl).toBe(theirs.typeUrl)
  fc.assert(
    fc.property(values, (value) => {
      const written = ours.encode(value as never)
      expect(Buffer.from(theirs.encode(theirs.decode(written) as never).finish()).toString('hex')).toBe(
        Buffer.from(written).toString('hex'),
      )
      expect(ours.decode(written)).toEqual(value)
    }),
    { numRuns: runs(numRuns) },
  )
}

export const text = fc.string({ minLength: 1 })
export const coin = fc.record({ denom: text, amount: fc.bigInt(1n, 2n ** 255n) })
export const decimals = fc.bigInt(1n, 10n ** 40n)
/** below 2^31: the writer of cosmjs-types garbles some that are larger */
export const count = fc.bigInt(1n, 2n ** 31n - 1n)
