import fc from 'fast-check'
import { type AbiParameter, bytesToHex, getAddress, type Hex, hexToBytes } from 'viem'
import type { AbiType } from '../../../../src/modules/precompileFunctions/abi/types.ts'
import * as types from '../../../../src/modules/precompileFunctions/abi/types.ts'

/** A type, as viem names it, with values and the forms that the two codecs have of one. */
interface TypeCase {
  readonly type: AbiType<unknown>
  readonly parameter: AbiParameter
  readonly values: fc.Arbitrary<unknown>
  toViem(value: unknown): unknown
}

const same = (value: unknown) => value
const number = (value: unknown) => Number(value)

function scalar(type: AbiType<unknown>, values: fc.Arbitrary<unknown>, toViem: (value: unknown) => unknown): TypeCase {
  return { type, parameter: { type: type.name }, values, toViem }
}

const bits = (length: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(length)) - 1n })
const signedBits = (length: number) =>
  fc.bigInt({ min: -(1n << BigInt(length - 1)), max: (1n << BigInt(length - 1)) - 1n })

const SCALARS: readonly TypeCase[] = [
  scalar(types.address, fc.uint8Array({ minLength: 20, maxLength: 20 }), (value) =>
    getAddress(bytesToHex(value as Uint8Array)),
  ),
  scalar(types.bool, fc.boolean(), same),
  scalar(types.uint8, bits(8), number),
  scalar(types.uint32, bits(32), number),
  scalar(types.uint64, bits(64), same),
  scalar(types.uint256, bits(256), same),
  scalar(types.int64, signedBits(64), same),
  scalar(types.int256, signedBits(256), same),
  scalar(types.bytes, fc.uint8Array({ maxLength: 70 }), (value) => bytesToHex(value as Uint8Array)),
  scalar(types.string, fc.string({ unit: 'grapheme', maxLength: 40 }), same),
]

function arrayOf(item: TypeCase): TypeCase {
  const { components } = item.parameter as { components?: readonly AbiParameter[] }
  return {
    type: types.array(item.type),
    parameter: {
      type: `${item.parameter.type}[]`,
      ...(components === undefined ? {} : { components }),
    } as AbiParameter,
    values: fc.array(item.values, { maxLength: 4 }),
    toViem: (value) => (value as unknown[]).map(item.toViem),
  }
}

/** Members are named m0, m1, … */
function tupleOf(members: readonly TypeCase[]): TypeCase {
  const names = members.map((_, index) => `m${index}`)
  return {
    type: types.tuple(Object.fromEntries(members.map((member, index) => [names[index]!, member.type]))),
    parameter: {
      type: 'tuple',
      components: members.map(({ parameter }, index) => ({ ...parameter, name: names[index]! })),
    } as AbiParameter,
    values: fc.record(Object.fromEntries(members.map(({ values }, index) => [names[index]!, values]))),
    toViem: (value) =>
      Object.fromEntries(
        members.map((member, index) => [
          names[index]!,
          member.toViem((value as Record<string, unknown>)[names[index]!]),
        ]),
      ),
  }
}

/** Any type, nested at most three deep. */
export const anyType: fc.Arbitrary<TypeCase> = fc.letrec<{ type: TypeCase }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(...SCALARS),
    tie('type').map(arrayOf),
    fc.array(tie('type'), { minLength: 1, maxLength: 4 }).map(tupleOf),
  ),
})).type

export const toBytes = (hex: Hex): Uint8Array => hexToBytes(hex)
