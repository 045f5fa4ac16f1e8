import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MsgExec } from '../../../src/modules/authz/types.ts'
import { MsgVote } from '../../../src/modules/gov/types.ts'
import { MESSAGES } from '../../../src/modules/messageTable.ts'
import {
  nestedGas,
  nestedSigners,
  readAllNested,
  readNested,
  validateNested,
} from '../../../src/modules/nestedMessages.ts'
import { isSdkError } from '../../../src/modules/sdkError.ts'
import { toBech32 } from '../../../src/primitives/address.ts'
import type { AnyValue } from '../../../src/primitives/protoSchema.ts'
import { runs } from '../../propertyRuns.ts'
import { account, codeOf, GovChain } from '../../support/modules/gov/govChain.ts'

const vote = (voter: string): AnyValue => ({
  typeUrl: MsgVote.typeUrl,
  value: MsgVote.encode(MsgVote.create({ proposalId: 1n, voter, option: 1 })),
})

describe('messages inside of others', () => {
  it('are read with their handlers', () => {
    const message = vote(toBech32(account(1)))
    expect(readAllNested([message, message], MESSAGES)).toHaveLength(2)
    const nested = readNested(message, MESSAGES)
    if (isSdkError(nested)) throw new Error(nested.message)
    expect(nestedSigners(nested)).toEqual([account(1)])
    expect(validateNested(nested)).toBeUndefined()
    const { gas } = MESSAGES.get(MsgVote.typeUrl)!
    expect(nestedGas([message, message, { typeUrl: '/a.B', value: new Uint8Array(0) }], MESSAGES)).toBe(
      2n * gas(nested.value),
    )
  })

  it.each([
    { name: 'an unknown type', message: { typeUrl: '/a.B', value: new Uint8Array(0) } },
    { name: 'other bytes', message: { typeUrl: MsgVote.typeUrl, value: Uint8Array.of(0xff) } },
  ])('of $name are a transaction that does not parse', ({ message }) => {
    expect(codeOf(readNested(message, MESSAGES))).toBe('sdk/2')
    expect(codeOf(readAllNested([vote(toBech32(account(1))), message], MESSAGES))).toBe('sdk/2')
  })

  it('with an address that is none say so', () => {
    const nested = readNested(vote('coin1nobody'), MESSAGES)
    if (isSdkError(nested)) throw new Error(nested.message)
    expect(codeOf(nestedSigners(nested))).toBe('sdk/7')
  })
})

/** Bytes that are often a message: fields of all wire types, texts that are addresses or digits among them. */
const field: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 15 }), fc.nat(127)).map(([number, value]) => Uint8Array.of(number * 8, value)),
  fc
    .tuple(
      fc.integer({ min: 1, max: 15 }),
      fc.oneof(
        fc
          .constantFrom(toBech32(account(1)), toBech32(account(2), 'coinvaloper'), '5', '-3', 'acoin')
          .map((text) => Buffer.from(text)),
        fc.constant(Buffer.from(MsgExec.encode({ grantee: toBech32(account(1)), msgs: [vote('x')] }))),
        fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      ),
    )
    .map(([number, bytes]) => Buffer.concat([Uint8Array.of(number * 8 + 2, bytes.length), bytes])),
)
const wire = fc.array(field, { maxLength: 6 }).map((fields) => new Uint8Array(Buffer.concat(fields)))

describe.each([...MESSAGES.keys()].map((typeUrl) => ({ typeUrl })))('any bytes as $typeUrl', ({ typeUrl }) => {
  it('are refused with an error of the SDK, or run or fail without throwing', () => {
    const chain = new GovChain()
    fc.assert(
      fc.property(wire, (value) => {
        const nested = readNested({ typeUrl, value }, MESSAGES)
        if (isSdkError(nested)) return
        if (isSdkError(nestedSigners(nested)) || validateNested(nested) !== undefined) return
        expect(nestedGas([{ typeUrl, value }], MESSAGES)).toBeGreaterThan(0n)
        chain.run({ typeUrl, value })
      }),
      { numRuns: runs(100) },
    )
    expect(chain.problems()).toEqual([])
  })
})
