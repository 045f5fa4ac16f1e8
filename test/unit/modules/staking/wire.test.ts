import * as theirStaking from 'cosmjs-types/cosmos/staking/v1beta1/staking'
import * as theirTx from 'cosmjs-types/cosmos/staking/v1beta1/tx'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as messages from '../../../../src/modules/staking/messageTypes.ts'
import * as types from '../../../../src/modules/staking/types.ts'
import type { MessageType } from '../../../../src/primitives/protoSchema.ts'

/** As much of a type of cosmjs-types as is needed. */
interface TheirType {
  readonly typeUrl: string
  encode(value: never): { finish(): Uint8Array }
  decode(bytes: Uint8Array): unknown
}

const THEIRS: readonly TheirType[] = [...Object.values(theirStaking), ...Object.values(theirTx)].filter(
  (type): type is TheirType => typeof type === 'object' && type !== null && 'typeUrl' in type,
)
const OURS = [...Object.values(types), ...Object.values(messages)].filter(
  (type): type is MessageType<Record<string, unknown>> => 'typeUrl' in type && type.name.startsWith('cosmos.staking.'),
)

/** Random values for all fields of a message, made from the names of its fields' kinds. */
function valuesOf(type: MessageType<unknown>): fc.Arbitrary<Record<string, unknown>> {
  const fields = type.fields.map(({ name, presence, codec }): [string, fc.Arbitrary<unknown>] => {
    const one = valueOf(codec.zero, codec.messageType?.())
    if (presence === 'repeated') return [name, fc.array(one, { maxLength: 3 })]
    return [name, presence === 'plain' ? one : fc.option(one, { nil: undefined })]
  })
  return fc.record(Object.fromEntries(fields))
}
