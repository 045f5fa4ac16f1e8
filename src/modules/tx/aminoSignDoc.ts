import { ProtobufError } from '../../primitives/protobuf.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { MessageTable } from '../message.ts'
import { isSdkError, type Outcome, sdkError } from '../sdkError.ts'
import { messageToAmino } from './aminoJson.ts'
import type { DecodedTransaction } from './decodedTransaction.ts'

/** The StdSignDoc of a transaction: all but the sequence is the same for every signer. */
export interface AminoSignDoc {
  readonly json: (sequence: bigint) => { readonly [name: string]: Json }
  /** what SIGN_MODE_LEGACY_AMINO_JSON signs */
  readonly bytes: (sequence: bigint) => Uint8Array
}

/** The StdSignDoc of the Cosmos SDK (x/auth/migrations/legacytx/stdsign.go), or why there is none. */
export function createAminoSignDoc(
  decoded: DecodedTransaction,
  chainId: string,
  messages: MessageTable,
): Outcome<AminoSignDoc> {
  const { body, fee } = decoded
  if (body.extensionOptions.length + body.nonCriticalExtensionOptions.length > 0) {
    return sdkError('invalidRequest', 'SIGN_MODE_LEGACY_AMINO_JSON does not support protobuf extension options')
  }
  const msgs = messagesToAmino(decoded, messages)
  if (isSdkError(msgs)) return msgs
  const common = {
    account_number: '0',
    chain_id: chainId,
    fee: {
      amount: fee.amount.map(({ denom, amount }) => ({ denom, amount: amount.toString() })),
      gas: fee.gasLimit.toString(),
      ...(fee.payer !== '' && { payer: fee.payer }),
      ...(fee.granter !== '' && { granter: fee.granter }),
    },
    memo: body.memo,
    msgs,
  }
  const timeout = body.timeoutHeight === 0n ? {} : { timeout_height: body.timeoutHeight.toString() }
  // The text is long and there may be many signers; the sequence comes behind `msgs` in it.
  let head: string | undefined
  const tail = 'timeout_height' in timeout ? `","timeout_height":"${timeout.timeout_height}"}` : '"}'
  return {
    json: (sequence) => ({ ...common, sequence: sequence.toString(), ...timeout }),
    bytes: (sequence) => {
      head ??= `${sortedJson(common).slice(0, -1)},"sequence":"`
      return new TextEncoder().encode(`${head}${sequence}${tail}`)
    },
  }
}

function messagesToAmino(decoded: DecodedTransaction, messages: MessageTable): Outcome<readonly Json[]> {
  const values: Json[] = []
  try {
    for (const { handler, value } of decoded.messages) {
      const { aminoName } = handler
      if (aminoName === undefined) return sdkError('notSupported', `${handler.type.name} has no amino name`)
      values.push({ type: aminoName, value: messageToAmino(handler.type, value, messages) })
    }
    return values
  } catch (error) {
    // A message inside an Any that does not decode.
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', error.message)
  }
}

/** JSON with the members of every object sorted, escaped as Go's encoding/json escapes for HTML. */
export function sortedJson(json: Json): string {
  return JSON.stringify(sorted(json)).replace(/[<>&\u2028\u2029]/g, escaped)
}

function sorted(json: Json): Json {
  if (Array.isArray(json)) return json.map(sorted)
  if (typeof json !== 'object' || json === null) return json
  const entries = Object.entries(json as { readonly [name: string]: Json })
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => [name, sorted(value)]))
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
