import { ProtobufError } from '../../primitives/protobuf.ts'
import type { AnyMessageType } from '../../primitives/protoScalars.ts'
import { type AnyValue, anyCodec } from '../../primitives/protoSchema.ts'
import type { MessageTable } from '../message.ts'
import { AMINO_TYPES } from './aminoTypes.ts'

type Field = AnyMessageType['fields'][number]

/** Messages inside messages; a transaction with more of them cannot be executed anyway. */
const MAX_DEPTH = 32

/** Fields with an Any in them, by message type; no type of a message holds itself. */
const known = new WeakMap<AnyMessageType, readonly Field[]>()

/**
 * Every Any inside of a message must be of a type that the chain knows, and decode, however deep it is and whether it is looked at
 * or not (RejectUnknownFields of the SDK's decoder): else clients could not show the transaction.
 * @throws ProtobufError
 */
export function checkAnys(type: AnyMessageType, value: unknown, messages: MessageTable, depth = 0): void {
  if (depth > MAX_DEPTH) throw new ProtobufError('nested too deeply')
  for (const { name, codec, presence } of fieldsWithAny(type)) {
    const member = (value as Record<string, unknown>)[name]
    const items = presence === 'repeated' ? (member as readonly unknown[]) : member === undefined ? [] : [member]
    const inner = codec.messageType?.()
    for (const item of items) {
      if (inner !== undefined) checkAnys(inner, item, messages, depth + 1)
      else checkAny(item as AnyValue, messages, depth + 1)
    }
  }
}

function checkAny({ typeUrl, value }: AnyValue, messages: MessageTable, depth: number): void {
  const type: AnyMessageType | undefined = messages.get(typeUrl)?.type ?? AMINO_TYPES.get(typeUrl)?.type
  if (type === undefined) throw new ProtobufError(`unable to resolve type URL ${typeUrl}`)
  checkAnys(type, type.decode(value), messages, depth)
}

function fieldsWithAny(type: AnyMessageType): readonly Field[] {
  let fields = known.get(type)
  if (fields === undefined) {
    fields = type.fields.filter(({ codec }) => {
      const inner = codec.messageType?.()
      return inner === undefined ? (codec as unknown) === anyCodec : fieldsWithAny(inner).length > 0
    })
    known.set(type, fields)
  }
  return fields
}
