import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ANY_TYPES, MESSAGES } from '../../../../src/modules/messageTable.ts'
import { SdkError } from '../../../../src/modules/sdkError.ts'
import { messageToAmino } from '../../../../src/modules/tx/aminoJson.ts'
import { Ed25519PubKey, EthSecp256k1PubKey, LegacyAminoPubKey } from '../../../../src/modules/tx/publicKey.ts'
import { sortedJson } from '../../../../src/modules/tx/signDocuments.ts'
import { createTransactionDecoder, validateMessage } from '../../../../src/modules/tx/transactionDecoder.ts'
import { ProtobufError } from '../../../../src/primitives/protobuf.ts'
import { type AnyMessageType, type Json, JsonFormError } from '../../../../src/primitives/protoScalars.ts'
import { arbitraryMessage } from '../../../native/arbitraryMessage.ts'
import { signTestTransaction, TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'
import { runs } from '../../../propertyRuns.ts'

/** What an Any in a message may hold. */
const TYPES: readonly AnyMessageType[] = [
  ...[...MESSAGES.values()].map(({ type }) => type as AnyMessageType),
  ...[...ANY_TYPES.values()].map(({ type }) => type),
  Ed25519PubKey,
  EthSecp256k1PubKey,
  LegacyAminoPubKey,
]

const handlers = [...MESSAGES.values()].map((handler) => [handler.type.name, handler] as const)

/** Every message of every module, whatever its fields say. */
describe.each(handlers)('%s', (_, handler) => {
  const { type } = handler
  const values = arbitraryMessage(type, TYPES)

  it('is read back as it was written, in protobuf and in JSON', () => {
    const typeOf = (url: string) => TYPES.find(({ typeUrl }) => typeUrl === url)
    fc.assert(
      fc.property(values, (value) => {
        const written = type.encode(value)
        const read = type.decode(written)
        expect(type.encode(read)).toEqual(written)
        let json: Json
        try {
          json = type.toJson(read, { typeOf })
        } catch (error) {
          // An Any whose bytes are not of the type that it names.
          expect(error).toBeInstanceOf(ProtobufError)
          return
        }
        // What an Any leaves out is not left out when it is written again.
        const again = readJson(() => type.fromJson(json, { typeOf }))
        if (again !== undefined) expect(type.toJson(again, { typeOf })).toEqual(json)
      }),
      { numRuns: runs(4) },
    )
  })

  it('is valid or not, with signers and gas, and has amino JSON', () => {
    fc.assert(
      fc.property(values, (value) => {
        const invalid = validateMessage(handler, value)
        if (invalid !== undefined) {
          expect(invalid).toBeInstanceOf(SdkError)
          expect(invalid.code).toBeGreaterThan(0)
        } else {
          expect(handler.signers(value).length).toBeGreaterThan(0)
          expect(handler.gas(value)).toBeGreaterThan(0n)
        }
        try {
          sortedJson(messageToAmino(type, value, MESSAGES))
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError)
        }
      }),
      { numRuns: runs(8) },
    )
  })

  it('is a transaction or an error', () => {
    const alice = testAccount(1)
    fc.assert(
      fc.property(values, (value) => {
        const message = { typeUrl: type.typeUrl, value: type.encode(value) }
        const raw = signTestTransaction({ messages: [message], signers: [alice] })
        const read = createTransactionDecoder(TEST_CHAIN).decodeNative(raw)
        if (!(read instanceof SdkError)) expect(read.sender).toEqual(alice.address)
      }),
      { numRuns: runs(1) },
    )
  })
})

/** Undefined for JSON with an Any of an unknown type, which cannot be read. */
function readJson(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    expect(error).toBeInstanceOf(JsonFormError)
    return undefined
  }
}
