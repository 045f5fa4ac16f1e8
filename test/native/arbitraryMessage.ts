import { bech32 } from 'bech32'
import fc from 'fast-check'
import { GOV_AUTHORITY } from '../../src/modules/gov/authority.ts'
import {
  type AnyMessageType,
  boolCodec,
  bytesCodec,
  decimalCodec,
  durationCodec,
  int32Codec,
  int64Codec,
  integerCodec,
  stringCodec,
  timestampCodec,
  uint32Codec,
  uint64Codec,
  type ValueCodec,
} from '../../src/primitives/protoScalars.ts'
import { type AnyValue, anyCodec } from '../../src/primitives/protoSchema.ts'
import { codePoint } from '../codePoint.ts'
import { testAccount } from './signTransaction.ts'

/** How deep messages within an Any go. */
const DEPTH = 2

/** Texts that messages hold: addresses in every form, and what resembles them. */
const texts = fc.oneof(
  { weight: 6, arbitrary: fc.nat({ max: 4 }).map((number) => testAccount(number).bech32) },
  { weight: 6, arbitrary: fc.nat({ max: 4 }).map((number) => testAccount(number).operator) },
  fc.constantFrom(
    '',
    'acoin',
    'coin1',
    'cosmos1qypqxpq9qcrsszg2pvxq6rs0zqg3yyc5lzv7xu',
    '0x',
    `0x${'ab'.repeat(20)}`,
    '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
    GOV_AUTHORITY,
    '/cosmos.bank.v1beta1.MsgSend',
    '[do-not-modify]',
    '{}',
  ),
  // Bits that make no whole bytes, or not 20 of them.
  fc
    .tuple(fc.constantFrom('coin', 'coinvaloper'), fc.array(fc.nat({ max: 31 }), { minLength: 30, maxLength: 34 }))
    .map(([prefix, words]) => bech32.encode(prefix, words)),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: codePoint, maxLength: 4 }),
)

const edges = [0n, 1n, -1n, 10n ** 17n, 10n ** 18n, 2n ** 63n - 1n]
const wide = fc.oneof(fc.constantFrom(...edges, 2n ** 255n), fc.bigInt(-(2n ** 250n), 2n ** 250n))
const uint64 = fc.oneof(fc.constantFrom(0n, 1n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 64n - 1n))
const int64 = fc.oneof(fc.constantFrom(...edges, -(2n ** 63n)), fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n))
const nanos = fc.oneof(fc.constantFrom(0n, 1n, 10n ** 9n), fc.bigInt(0n, 253_402_300_799n * 10n ** 9n))

const SCALARS: ReadonlyMap<unknown, fc.Arbitrary<unknown>> = new Map<unknown, fc.Arbitrary<unknown>>([
  [stringCodec, texts],
  [bytesCodec, fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 20, maxLength: 20 }))],
  [boolCodec, fc.boolean()],
  [uint64Codec, uint64],
  [int64Codec, int64],
  [uint32Codec, fc.integer({ min: 0, max: 0xffff_ffff })],
  [int32Codec, fc.integer()],
  [integerCodec, wide],
  [decimalCodec, wide],
  [timestampCodec, nanos],
  [durationCodec, nanos],
])

/**
 * Any value of a message type, whatever it says: each field is of its type, and that is all.
 * @param types what an Any may hold
 */
export function arbitraryMessage(
  type: AnyMessageType,
  types: readonly AnyMessageType[],
  depth = 0,
): fc.Arbitrary<Record<string, unknown>> {
  const fields = type.fields.map(({ name, codec, presence }) => {
    const value = arbitraryValue(codec, types, depth)
    if (presence === 'repeated') return [name, fc.array(value, { maxLength: 3 })] as const
    return [name, presence === 'plain' ? value : fc.option(value, { nil: undefined })] as const
  })
  return fc.record(Object.fromEntries(fields))
}

function arbitraryValue(
  codec: ValueCodec<unknown>,
  types: readonly AnyMessageType[],
  depth: number,
): fc.Arbitrary<unknown> {
  const scalar = SCALARS.get(codec)
  if (scalar !== undefined) return scalar
  const type = codec.messageType?.()
  if (type !== undefined) return arbitraryMessage(type, types, depth + 1)
  if ((codec as unknown) === anyCodec) return arbitraryAny(types, depth)
  return fc.integer({ min: -1, max: 8 }) // an enum
}

/** An Any of one of the types, of none that exists, or with bytes that are no message. */
function arbitraryAny(types: readonly AnyMessageType[], depth = 0): fc.Arbitrary<AnyValue> {
  const garbage = fc.record({
    typeUrl: fc.constantFrom('', '/cosmos.nowhere.v1.Msg', ...types.map(({ typeUrl }) => typeUrl)),
    value: fc.uint8Array({ maxLength: 10 }),
  })
  if (depth >= DEPTH || types.length === 0) return garbage
  const known = fc.constantFrom(...types).chain((type) =>
    arbitraryMessage(type, types, depth + 1).map((value) => ({
      typeUrl: type.typeUrl,
      value: type.encode(value as never),
    })),
  )
  return fc.oneof({ weight: 4, arbitrary: known }, garbage)
}
