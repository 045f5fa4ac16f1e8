import { Coin } from '../../modules/coin.ts'
import { MESSAGES } from '../../modules/messageTable.ts'
import { aminoForm, aminoPrefix } from '../../modules/tx/aminoBinary.ts'
import { anyToAmino, messageToAmino } from '../../modules/tx/aminoJson.ts'
import { concatBytes, equalBytes } from '../../primitives/bytes.ts'
import { ProtobufError } from '../../primitives/protobuf.ts'
import { type Json, wrongForm } from '../../primitives/protoScalars.ts'
import {
  any,
  bytes,
  defineMessage,
  embedded,
  isJsonObject,
  repeated,
  string,
  uint64,
  type ValueOf,
} from '../../primitives/protoSchema.ts'

/* Transactions as they were before protobuf (x/auth/migrations/legacytx of the Cosmos SDK): between amino's JSON and its binary form. */

const StdFee = defineMessage('legacytx.StdFee', {
  amount: repeated(embedded(1, Coin)),
  gas: uint64(2),
  payer: string(3),
  granter: string(4),
})
const StdSignature = defineMessage('legacytx.StdSignature', { pubKey: any(1), signature: bytes(2) })
const StdTx = defineMessage('legacytx.StdTx', {
  msg: repeated(any(1)),
  fee: embedded(2, StdFee),
  signatures: repeated(embedded(3, StdSignature)),
  memo: string(4),
  timeoutHeight: uint64(5),
})
type StdTx = ValueOf<typeof StdTx>

const NAME = 'cosmos-sdk/StdTx'
const PREFIX = aminoPrefix(NAME)
const NO_TYPES = { typeOf: () => undefined }

/** @throws JsonFormError, ProtobufError, SyntaxError */
export function aminoJsonToBinary(text: string): Uint8Array {
  const json: Json = JSON.parse(text)
  if (!isJsonObject(json) || json.type !== NAME) throw wrongForm('type', NAME)
  return concatBytes(PREFIX, aminoForm(StdTx).encode(aminoForm(StdTx).fromJson(json.value ?? null, NO_TYPES, 'value')))
}

/** @throws ProtobufError */
export function aminoBinaryToJson(binary: Uint8Array): string {
  if (!equalBytes(binary.subarray(0, PREFIX.length), PREFIX)) throw new ProtobufError(`expected a ${NAME}`)
  const { msg, fee, signatures, memo, timeoutHeight } = aminoForm(StdTx).decode(binary.subarray(PREFIX.length)) as StdTx
  const listOf = <T>(items: readonly T[], toJson: (item: T) => Json): Json =>
    items.length === 0 ? null : items.map(toJson)
  const value: Json = {
    msg: listOf(msg, (message) => anyToAmino(message, MESSAGES)),
    fee: {
      amount: fee.amount.map((coin) => messageToAmino(Coin, coin, MESSAGES)),
      gas: fee.gas.toString(),
      ...(fee.payer === '' ? {} : { payer: fee.payer }),
      ...(fee.granter === '' ? {} : { granter: fee.granter }),
    },
    signatures: listOf(signatures, ({ pubKey, signature }) => ({
      pub_key: pubKey === undefined ? null : anyToAmino(pubKey, MESSAGES),
      signature: signature.length === 0 ? null : Buffer.from(signature).toString('base64'),
    })),
    memo,
    timeout_height: timeoutHeight.toString(),
  }
  return JSON.stringify({ type: NAME, value })
}
