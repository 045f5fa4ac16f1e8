import { create, createFileRegistry, type DescField } from '@bufbuild/protobuf'
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { ANY_TYPES, MESSAGES } from '../../../../../src/modules/messageTable.ts'
import type { AnyMessageType } from '../../../../../src/primitives/protoScalars.ts'
import { typesOfAny } from '../../../../../src/rpc/cosmos/anyTypes.ts'
import { describeMethods } from '../../../../../src/rpc/cosmos/grpc/descriptors.ts'
import { readSdkFiles, reflectedFiles } from '../../../../../src/rpc/cosmos/grpc/sdkFiles.ts'
import { QUERIES } from '../../../../../src/rpc/cosmos/queries.ts'

const own = describeMethods(QUERIES.values(), typesOfAny())
const sdk = createFileRegistry(create(FileDescriptorSetSchema, { file: [...readSdkFiles()] }))

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

/** `2 amount repeated cosmos.base.v1beta1.Coin`; an enum by its values */
function signature(field: DescField): string {
  const repeated = field.fieldKind === 'list' ? 'repeated ' : ''
  const type =
    field.message?.typeName ??
    field.enum?.values.map(({ name, number }) => `${name}=${number}`).join(' ') ??
    SCALARS[field.proto.type]
  return `${field.number} ${field.name} ${repeated}${type}`
}

describe('messages and services, beside the .proto files of the Cosmos SDK and of cosmos/evm', () => {
  const types = [...own].filter(({ typeName }) => !typeName.startsWith('google.') && !FOREIGN.test(typeName))
  const messages = types.filter((type) => type.kind === 'message')
  const services = types.filter((type) => type.kind === 'service')

  it('are all there', () => {
    expect(messages.length).toBeGreaterThan(300)
    expect(types.filter(({ kind, typeName }) => kind !== 'enum' && sdk.get(typeName) === undefined)).toEqual([])
  })

  it.each(messages.map((message) => [message.typeName, message] as const))('%s has its fields', (name, { fields }) => {
    const theirs = (sdk.getMessage(name)?.fields ?? []).map(signature)
    for (const field of fields) expect(theirs).toContain(signature(field))
  })

  it.each(services.map((service) => [service.typeName, service] as const))(
    '%s has its methods',
    (name, { methods }) => {
      const words = (method: (typeof methods)[number]): string =>
        `${method.name} ${method.input.typeName} ${method.output.typeName}`
      const theirs = (sdk.getService(name)?.methods ?? []).map(words)
      for (const method of methods) expect(theirs).toContain(words(method))
    },
  )
})

/** All that messages with an amino name hold, without types inside of an Any. */
function aminoTypes(): readonly AnyMessageType[] {
  const found = new Set<AnyMessageType>()
  const add = (type: AnyMessageType): void => {
    if (found.has(type)) return
    found.add(type)
    for (const { codec } of type.fields) if (codec.messageType !== undefined) add(codec.messageType())
  }
  for (const { type, aminoName } of MESSAGES.values()) if (aminoName !== undefined) add(type)
  for (const { type } of ANY_TYPES.values()) add(type)
  return [...found]
}

describe('what amino numbers by its order', () => {
  it.each(aminoTypes().map((type) => [type.typeUrl.slice(1), type] as const))('%s', (name, type) => {
    expect(type.fields.map(({ jsonName }) => jsonName)).toEqual(sdk.getMessage(name)!.fields.map((field) => field.name))
  })
})

describe('what reflection tells', () => {
  const files = reflectedFiles(own)

  it('are the SDK’s own files, with comments and options', () => {
    const bank = files.getService('cosmos.bank.v1beta1.Query')!
    expect(bank.file.name).toBe('cosmos/bank/v1beta1/query')
    expect(bank.file.proto.options?.goPackage).toBe('github.com/cosmos/cosmos-sdk/x/bank/types')
    const comments = bank.file.proto.sourceCodeInfo!.location.map(({ leadingComments }) => leadingComments)
    expect(comments).toContainEqual(expect.stringContaining('gRPC querier service'))
  })

  it('has every message and service of the node once', () => {
    for (const { kind, typeName } of own) {
      if (kind === 'message' || kind === 'service') expect(files.get(typeName)?.kind).toBe(kind)
    }
    expect(files.getService('ethermint.evm.v1.Query')?.method.ethCall?.output.typeName).toBe(
      'ethermint.evm.v1.MsgEthereumTxResponse',
    )
  })
})
