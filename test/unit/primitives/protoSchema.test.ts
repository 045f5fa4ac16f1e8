import { Coin } from 'cosmjs-types/cosmos/base/v1beta1/coin'
import { MsgCreateValidator } from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import { Any as TheirAny } from 'cosmjs-types/google/protobuf/any'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ProtobufError, ProtobufWriter } from '../../../src/primitives/protobuf.ts'
import { JsonFormError } from '../../../src/primitives/protoScalars.ts'
import {
  type AnyValue,
  any,
  bool,
  bytes,
  decimal,
  defineMessage,
  duration,
  embedded,
  enumeration,
  int32,
  int64,
  integer,
  type MessageType,
  message,
  oneOf,
  optionalTimestamp,
  repeated,
  safeUint64,
  string,
  timestamp,
  uint32,
  uint64,
} from '../../../src/primitives/protoSchema.ts'
import { runs } from '../../propertyRuns.ts'

const Inner = defineMessage('test.Inner', { denom: string(1), amount: integer(2) })
const Everything = defineMessage('test.Everything', {
  text: string(1),
  someBytes: bytes(2),
  flag: bool(3),
  bigCount: uint64(4),
  signed: int64(5),
  count: uint32(6),
  small: int32(7),
  amount: integer(8),
  rate: decimal(9),
  time: timestamp(10),
  maybeTime: optionalTimestamp(11),
  period: duration(12),
  kind: enumeration(13, { KIND_UNSPECIFIED: 0, KIND_ONE: 1 }),
  inner: message(14, Inner),
  always: embedded(15, Inner),
  list: repeated(message(16, Inner)),
  ids: repeated(uint64(17)),
  names: repeated(string(18)),
  payload: any(19),
  payloads: repeated(any(20)),
  height: safeUint64(21),
})
const Tree: MessageType<{ readonly left: unknown; readonly leaf: bigint }> = defineMessage('test.Tree', {
  left: oneOf(1, (): MessageType<unknown> => Tree as MessageType<unknown>),
  leaf: uint64(2),
})

const context = { typeOf: (url: string) => (url === Inner.typeUrl ? Inner : undefined) }

const inner = fc.record({ denom: fc.string(), amount: fc.bigInt(-(2n ** 255n), 2n ** 255n) })
const anyValue = inner.map((value): AnyValue => ({ typeUrl: Inner.typeUrl, value: Inner.encode(value) }))
const nanos = fc.bigInt(-1_000_000_000n * 10n ** 9n, 4_000_000_000n * 10n ** 9n)
const everything = fc.record({
  text: fc.string({ unit: 'grapheme' }),
  someBytes: fc.uint8Array(),
  flag: fc.boolean(),
  bigCount: fc.bigInt(0n, 2n ** 64n - 1n),
  signed: fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
  count: fc.nat(0xffff_ffff),
  small: fc.integer({ min: -0x8000_0000, max: 0x7fff_ffff }),
  amount: fc.bigInt(-(2n ** 255n), 2n ** 255n),
  rate: fc.bigInt(-(10n ** 40n), 10n ** 40n),
  time: nanos,
  maybeTime: fc.option(nanos, { nil: undefined }),
  period: nanos,
  kind: fc.nat(3),
  inner: fc.option(inner, { nil: undefined }),
  always: inner,
  list: fc.array(inner),
  ids: fc.array(fc.bigInt(0n, 2n ** 64n - 1n)),
  names: fc.array(fc.string()),
  payload: fc.option(anyValue, { nil: undefined }),
  payloads: fc.array(anyValue),
  height: fc.maxSafeNat(),
})

describe('message tables', () => {
  it('read what they wrote, in protobuf and in JSON', () => {
    fc.assert(
      fc.property(everything, (value) => {
        expect(Everything.decode(Everything.encode(value))).toEqual(value)
        const json = JSON.parse(JSON.stringify(Everything.toJson(value, context)))
        expect(Everything.fromJson(json, context)).toEqual(value)
      }),
      { numRuns: runs(300) },
    )
  })

  it('have the wire format of another implementation', () => {
    const MsgCreateValidatorTable = defineMessage('cosmos.staking.v1beta1.MsgCreateValidator', {
      description: embedded(1, defineMessage('d', { moniker: string(1), identity: string(2) })),
      commission: embedded(2, defineMessage('c', { rate: decimal(1), maxRate: decimal(2), maxChangeRate: decimal(3) })),
      minSelfDelegation: integer(3),
      delegatorAddress: string(4),
      validatorAddress: string(5),
      pubkey: any(6),
      value: embedded(7, Inner),
    })
    const decoded = MsgCreateValidator.decode(
      MsgCreateValidatorTable.encode({
        description: { moniker: 'm', identity: '' },
        commission: { rate: 5n * 10n ** 16n, maxRate: 10n ** 18n, maxChangeRate: 0n },
        minSelfDelegation: 1n,
        delegatorAddress: 'a',
        validatorAddress: 'b',
        pubkey: { typeUrl: '/x', value: Uint8Array.of(1) },
        value: { denom: 'acoin', amount: 5n },
      }),
    )
    expect(decoded).toEqual({
      description: { moniker: 'm', identity: '', website: '', securityContact: '', details: '' },
      commission: { rate: (5n * 10n ** 16n).toString(), maxRate: (10n ** 18n).toString(), maxChangeRate: '0' },
      minSelfDelegation: '1',
      delegatorAddress: 'a',
      validatorAddress: 'b',
      pubkey: TheirAny.fromPartial({ typeUrl: '/x', value: Uint8Array.of(1) }),
      value: Coin.fromPartial({ denom: 'acoin', amount: '5' }),
    })
    expect(MsgCreateValidatorTable.decode(MsgCreateValidator.encode(decoded).finish()).value.amount).toBe(5n)
  })

  it('have the JSON of grpc-gateway', () => {
    const value = Everything.create({
      bigCount: 7n,
      rate: 5n * 10n ** 16n,
      period: 1_814_400n * 10n ** 9n,
      time: 1_700_000_000_400_000_000n,
      kind: 1,
      someBytes: Uint8Array.of(255),
      payload: { typeUrl: Inner.typeUrl, value: Inner.encode({ denom: 'acoin', amount: 3n }) },
    })
    expect(Everything.toJson(value, context)).toEqual({
      text: '',
      some_bytes: '/w==',
      flag: false,
      big_count: '7',
      signed: '0',
      count: 0,
      small: 0,
      amount: '0',
      rate: '0.050000000000000000',
      time: '2023-11-14T22:13:20.400Z',
      maybe_time: null,
      period: '1814400s',
      kind: 'KIND_ONE',
      inner: null,
      always: { denom: '', amount: '0' },
      list: [],
      ids: [],
      names: [],
      payload: { '@type': '/test.Inner', denom: 'acoin', amount: '3' },
      payloads: [],
      height: '0',
    })
    expect(Tree.toJson({ left: undefined, leaf: 1n }, context)).toEqual({ leaf: '1' })
  })

  it('show what an Any holds as it is, when it is of no known type or does not decode', () => {
    for (const payload of [
      { typeUrl: '/nope', value: Uint8Array.of(1, 2) },
      { typeUrl: Inner.typeUrl, value: Uint8Array.of(0xff) },
    ]) {
      const json = Everything.toJson(Everything.create({ payload }), context)
      expect(json).toMatchObject({
        payload: { '@type': payload.typeUrl, value: Buffer.from(payload.value).toString('base64') },
      })
    }
  })

  it('refuse unknown fields, wrong types, bad UTF-8 and endless nesting', () => {
    const refused: readonly Uint8Array[] = [
      new ProtobufWriter().varint(3, 1).finish(),
      new ProtobufWriter().varint(1, 1).finish(),
      new ProtobufWriter().bytes(1, Uint8Array.of(0xff)).finish(),
      new ProtobufWriter().string(2, '1.5').finish(),
      new ProtobufWriter().string(2, '1'.repeat(80)).finish(),
      Uint8Array.of(0x0a, 0x05, 0x41),
    ]
    const times = [
      [10, -62_135_596_801n, 0n],
      [10, 253_402_300_800n, 0n],
      [10, 1n, 1_000_000_000n],
      [10, 1n, -1n],
      [12, 1n, -1n],
      [12, 315_576_000_001n, 0n],
    ] as const
    for (const [field, seconds, nanos] of times) {
      const raw = new ProtobufWriter().bytes(field, new ProtobufWriter().varint(1, seconds).varint(2, nanos).finish())
      expect(() => Everything.decode(raw.finish())).toThrow(ProtobufError)
    }
    for (const each of refused) expect(() => Inner.decode(each)).toThrow(ProtobufError)
    let tree: Uint8Array = Tree.encode({ left: undefined, leaf: 1n })
    for (let i = 0; i < 1000; i++) tree = new ProtobufWriter().bytes(1, tree).finish()
    expect(() => Tree.decode(tree)).toThrow('nested too deeply')
    expect(Tree.decode(Tree.encode({ left: { left: undefined, leaf: 2n }, leaf: 1n })).leaf).toBe(1n)
  })

  it('never throw anything else on random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (raw) => {
        try {
          Everything.decode(raw)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError)
        }
      }),
      { numRuns: runs(3_000) },
    )
  })

  it("have Go's zero time, the year 1, where a time is absent", () => {
    const Timed = defineMessage('test.Timed', { time: timestamp(1), maybe: optionalTimestamp(2) })
    for (const value of [Timed.decode(new Uint8Array(0)), Timed.create(), Timed.fromJson({}, context)]) {
      expect(Timed.toJson(value, context)).toEqual({ time: '0001-01-01T00:00:00Z', maybe: null })
      expect(Buffer.from(Timed.encode(value)).toString('hex')).toBe('0a0b088092b8c398feffffff01')
    }
  })

  it('say where JSON is wrong', () => {
    const wrong: readonly (readonly [unknown, string])[] = [
      [[], 'the value: expected an object'],
      [{ nonsense: 1 }, 'nonsense: expected no such member'],
      [{ inner: { amount: 5 } }, 'inner.amount: expected a whole number in a string'],
      [{ inner: { amount: '' } }, 'inner.amount: expected a whole number in a string'],
      [{ time: '2026-02-30T00:00:00Z' }, 'time: expected a time, like 2026-01-01T00:00:00Z'],
      [{ period: '400000000000s' }, 'period: expected a duration, like 600s'],
      [{ list: [{}, { denom: 1 }] }, 'list[1].denom: expected a string'],
      [{ big_count: '-1' }, 'big_count: expected a number from 0'],
      [{ count: 4_294_967_296 }, 'count: expected a number from 0'],
      [{ rate: '0.1234567890123456789' }, 'rate: expected a number with up to 18 decimals'],
      [{ payload: { '@type': '/nobody' } }, 'payload.@type: expected the type URL of a known message'],
      [{ time: 'yesterday' }, 'time: expected a time'],
      [{ period: '5' }, 'period: expected a duration'],
      [{ someBytes: '*' }, 'someBytes: expected base64'],
      [{ kind: 'KIND_TWO' }, 'kind: expected one of KIND_UNSPECIFIED, KIND_ONE, or its number'],
      [{ kind: '4294967296' }, 'kind: expected a number from -2147483648'],
    ]
    for (const [json, message] of wrong) {
      expect(() => Everything.fromJson(json as never, context)).toThrow(JsonFormError)
      expect(() => Everything.fromJson(json as never, context)).toThrow(message)
    }
  })
})
