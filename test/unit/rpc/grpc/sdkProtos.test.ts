import { readFileSync } from 'node:fs'
import type { DescField } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { describeMethods } from '../../../../src/rpc/grpc/descriptors.ts'
import { typesOfAny } from '../../../../src/rpc/native/anyTypes.ts'
import { QUERIES } from '../../../../src/rpc/native/queries.ts'

/** By message, a field's number and `name type`; by service, a method and its two messages. */
interface SdkProtos {
  readonly messages: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly services: Readonly<Record<string, Readonly<Record<string, string>>>>
}

const SDK = JSON.parse(readFileSync(new URL('sdkProtos.json', import.meta.url), 'utf8')) as SdkProtos
const files = describeMethods(QUERIES.values(), typesOfAny())

/** Keys of other chains, which wallets send to this one too, and Ethermint's queries: other packages. */
const FOREIGN = /^(ethermint|injective)\./

/** FieldDescriptorProto.Type, as the .proto files spell them */
const SCALARS: Readonly<Record<number, string>> = {
  3: 'int64',
  4: 'uint64',
  5: 'int32',
  8: 'bool',
  9: 'string',
  12: 'bytes',
  13: 'uint32',
}

function typeOf(field: DescField): string {
  const repeated = field.fieldKind === 'list' ? 'repeated ' : ''
  if (field.message !== undefined) return repeated + field.message.typeName
  if (field.enum !== undefined) {
    return `${repeated}enum ${field.enum.values.map(({ name, number }) => `${name}=${number}`).join(' ')}`
  }
  return repeated + SCALARS[field.proto.type]
}

describe('messages and services, beside the .proto files of the Cosmos SDK and of cosmos/evm', () => {
  const types = [...files].filter(({ typeName }) => !typeName.startsWith('google.') && !FOREIGN.test(typeName))
  const messages = types.filter((type) => type.kind === 'message')
  const services = types.filter((type) => type.kind === 'service')

  it('are all there', () => {
    expect(messages.length).toBeGreaterThan(300)
    expect(messages.map(({ typeName }) => typeName).toSorted()).toEqual(Object.keys(SDK.messages).toSorted())
    expect(services.map(({ typeName }) => typeName).toSorted()).toEqual(Object.keys(SDK.services).toSorted())
  })

  it.each(messages.map((message) => [message.typeName, message] as const))('%s has its fields', (name, { fields }) => {
    const theirs = SDK.messages[name]!
    for (const field of fields)
      expect(`${field.number} ${field.name} ${typeOf(field)}`).toBe(`${field.number} ${theirs[field.number]}`)
  })

  it.each(services.map((service) => [service.typeName, service] as const))(
    '%s has its methods',
    (name, { methods }) => {
      for (const { name: method, input, output } of methods) {
        expect(`${method} ${input.typeName} ${output.typeName}`).toBe(`${method} ${SDK.services[name]![method]}`)
      }
    },
  )
})
