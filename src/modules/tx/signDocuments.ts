import { ProtobufError } from '../../primitives/protobuf.ts'
import type { Json } from '../../primitives/protoScalars.ts'
import type { MessageTable } from '../message.ts'
import { isSdkError, type Outcome, sdkError } from '../sdkError.ts'
import { messageToAmino } from './aminoJson.ts'
import { eip712Hashes } from './eip712.ts'
import type { DecodedTransaction } from './nativeTransaction.ts'
import type { TypedDataHashes } from './typedData.ts'
import { SIGN_MODES, SignDoc } from './types.ts'

/** The chain that signatures are valid for, by both of its IDs. */
export interface SigningChain {
  /** e.g. `coin_7628-1` */
  readonly chainId: string
  readonly evmChainId: bigint
}

/** All accounts have this number: sequences are enough to tell transactions of one account apart. */
export const ACCOUNT_NUMBER = 0n

/**
 * The longest body that can be signed as typed data. Typed data costs about a microsecond a byte, and anybody can cause that
 * work with a wrong signature. As many bytes hold more than a hundred messages. cosmos/evm has no such bound.
 */
const MAX_TYPED_BODY_BYTES = 16_384

/**
 * The most JSON values of messages that are signed as typed data: one for so many bytes of the body, and these in any case. Each takes up to
 * 3 µs, for which the gas of its bytes pays. A transfer has 15 bytes for each value, and its other gas.
 */
const BYTES_PER_TYPED_VALUE = 12
const BASE_TYPED_VALUES = 64

/** The documents that the keys of one transaction sign, by sign mode. Each document is created once, when it is first needed. */
export interface SignDocuments {
  /** The bytes that a key signs in a mode; how they are hashed depends on the kind of key. */
  readonly bytes: (mode: number, sequence: bigint) => Outcome<Uint8Array>
  /** The typed data that an Ethereum wallet may have signed instead, the current encoding first: see `eip712Hashes`. */
  readonly typedData: (mode: number, sequence: bigint) => readonly TypedDataHashes[]
}

export function createSignDocuments(
  decoded: DecodedTransaction,
  chain: SigningChain,
  messages: MessageTable,
): SignDocuments {
  let known: Outcome<AminoSignDoc> | undefined
  const amino = (): Outcome<AminoSignDoc> => {
    known ??= createAminoSignDoc(decoded, chain.chainId, messages)
    return known
  }
  const aminoBytes = (sequence: bigint): Outcome<Uint8Array> => {
    const document = amino()
    return isSdkError(document) ? document : document.bytes(sequence)
  }
  const directBytes = (): Uint8Array => {
    const { bodyBytes, authInfoBytes } = decoded.txRaw
    return SignDoc.encode({ bodyBytes, authInfoBytes, chainId: chain.chainId, accountNumber: ACCOUNT_NUMBER })
  }
  return {
    bytes: remembered((mode, sequence) => {
      if (mode === SIGN_MODES.SIGN_MODE_DIRECT) return directBytes()
      if (mode === SIGN_MODES.SIGN_MODE_LEGACY_AMINO_JSON) return aminoBytes(sequence)
      const name = Object.entries(SIGN_MODES).find(([, number]) => number === mode)?.[0] ?? mode
      return sdkError('notSupported', `the sign mode ${name}`)
    }),
    typedData: remembered((mode, sequence) => {
      const { length } = decoded.txRaw.bodyBytes
      if (length > MAX_TYPED_BODY_BYTES) return []
      const document = amino()
      if (isSdkError(document)) return []
      if (countValues(document.msgs) > BASE_TYPED_VALUES + Math.floor(length / BYTES_PER_TYPED_VALUE)) return []
      return eip712Hashes(decoded, document, { mode, sequence, evmChainId: chain.evmChainId, messages })
    }),
  }
}

function remembered<T>(make: (mode: number, sequence: bigint) => T): (mode: number, sequence: bigint) => T {
  let last: { readonly mode: number; readonly sequence: bigint; readonly result: T } | undefined
  return (mode, sequence) => {
    if (last?.mode !== mode || last.sequence !== sequence) last = { mode, sequence, result: make(mode, sequence) }
    return last.result
  }
}

/** The StdSignDoc of a transaction, by the signer's sequence: everything else is the same for every signer. */
interface AminoSignDoc {
  /** the messages in amino JSON */
  readonly msgs: readonly Json[]
  readonly json: (sequence: bigint) => { readonly [name: string]: Json }
  /** what SIGN_MODE_LEGACY_AMINO_JSON signs */
  readonly bytes: (sequence: bigint) => Uint8Array
}

/** Creates the StdSignDoc of the Cosmos SDK (x/auth/migrations/legacytx/stdsign.go). @returns an error where the transaction cannot have one */
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
  // The text up to the sequence, which comes after `msgs`, is made once: it is long, and there may be many signers.
  let head: string | undefined
  const tail = 'timeout_height' in timeout ? `","timeout_height":"${timeout.timeout_height}"}` : '"}'
  return {
    msgs,
    json: (sequence) => ({ ...common, sequence: sequence.toString(), ...timeout }),
    bytes: (sequence) => {
      head ??= `${sortedJson(common).slice(0, -1)},"sequence":"`
      return new TextEncoder().encode(`${head}${sequence}${tail}`)
    },
  }
}

/** Values of a JSON, those inside others included; amino JSON has at most some 50 levels (`messageToAmino`). */
function countValues(json: Json): number {
  if (typeof json !== 'object' || json === null) return 1
  return Object.values(json).reduce((sum: number, member) => sum + countValues(member as Json), 1)
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
