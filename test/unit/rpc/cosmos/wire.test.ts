import { globSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
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
} from '../../../../src/primitives/protoScalars.ts'
import { anyCodec, type MessageType } from '../../../../src/primitives/protoSchema.ts'
import { QUERIES } from '../../../../src/rpc/cosmos/queries.ts'
import { createRestRouter } from '../../../../src/rpc/cosmos/rest/routes.ts'
import { count, decimals, expectSameWire, type TheirMessage, text } from '../../../support/modules/wireCases.ts'

const require = createRequire(import.meta.url)
/** The package's directory: it has no main file. */
const ROOT = dirname(require.resolve('cosmjs-types/binary'))

/** A message of cosmjs-types by its name; undefined for the packages of cosmos/evm, which it does not have. */
function theirsOf(name: string): (TheirMessage & { fromPartial(value: object): object }) | undefined {
  const at = name.lastIndexOf('.')
  const directory = join(ROOT, ...name.slice(0, at).split('.'))
  for (const file of globSync(join(directory, '*.js'))) {
    const found = (require(file) as Record<string, unknown>)[name.slice(at + 1)]
    if (found !== undefined) return found as TheirMessage & { fromPartial(value: object): object }
  }
  return undefined
}

const SCALARS: ReadonlyMap<unknown, fc.Arbitrary<unknown>> = new Map<unknown, fc.Arbitrary<unknown>>([
  [stringCodec, text],
  [bytesCodec, fc.uint8Array({ minLength: 1, maxLength: 40 })],
  [boolCodec, fc.constant(true)],
  [uint64Codec, count],
  [int64Codec, count],
  [uint32Codec, fc.integer({ min: 1, max: 2 ** 31 - 1 })],
  [int32Codec, fc.integer({ min: 1, max: 2 ** 31 - 1 })],
  [integerCodec, fc.bigInt(1n, 2n ** 255n)],
  [decimalCodec, decimals],
  [timestampCodec, count.map((seconds) => seconds * 1_000_000_000n + 5n)],
  [durationCodec, count.map((seconds) => seconds * 1_000_000_000n + 5n)],
  [anyCodec, fc.record({ typeUrl: text, value: fc.uint8Array({ minLength: 1, maxLength: 9 }) })],
])

/** Fields of SDK 0.55, which cosmjs-types does not have. */
const NEWER_FIELDS: ReadonlySet<string> = new Set(['keyRotationFee'])

/** Values without zeros. What contains itself ends after a few levels. */
function valuesOf(type: AnyMessageType, depth = 0): fc.Arbitrary<Record<string, unknown>> {
  const members = type.fields.map(({ name, codec, presence }) => {
    if (NEWER_FIELDS.has(name)) return [name, fc.constant(undefined)] as const
    if (presence === 'repeated') return [name, fc.array(itemOf(codec, depth), { minLength: 1, maxLength: 2 })] as const
    if (presence === 'oneof' && depth > 2) return [name, fc.constant(undefined)] as const
    return [name, itemOf(codec, depth)] as const
  })
  return fc.record(Object.fromEntries(members))
}

function itemOf(codec: ValueCodec<unknown>, depth: number): fc.Arbitrary<unknown> {
  const nested = codec.messageType
  if (nested !== undefined) return valuesOf(nested(), depth + 1)
  // What is left are enums.
  return SCALARS.get(codec) ?? fc.constant(1)
}

const cases = [...QUERIES.values()]
  .flatMap(({ request, response }) => [request, response])
  .map((type): [string, MessageType<unknown>] => [type.name, type])
  .filter(([name]) => !/^(cosmos\.evm|ethermint|coind)\./.test(name))

describe('messages of queries are those of the SDK', () => {
  it.each(cases)('%s', (name, type) => {
    const theirs = theirsOf(name)
    expect(theirs, `${name} is not in cosmjs-types`).toBeDefined()
    expect(type.fields.map((field) => field.name).sort()).toEqual(Object.keys(theirs!.fromPartial({})).sort())
    expectSameWire({ ours: type as MessageType<never>, theirs: theirs!, values: valuesOf(type) }, 4)
  })
})

describe('paths', () => {
  it('of all queries lead to them, with the fields that their requests have', () => {
    const all = createRestRouter(QUERIES)
    for (const { path, rest, request } of QUERIES.values()) {
      for (const { method, template } of rest) {
        const match = all.match(method, template.replace(/\{(\w+)(=\*\*)?\}/g, '<$1>'))
        expect(match?.query.path, template).toBe(path)
        for (const [name, value] of match!.captures) {
          expect(value).toBe(`<${name}>`)
          expect(request.fields.map(({ jsonName }) => jsonName)).toContain(name)
        }
      }
    }
  })
})
