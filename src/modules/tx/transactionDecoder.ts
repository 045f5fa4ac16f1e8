import { isNativeEntry } from '../../chain/block/entries.ts'
import { decodeTransaction, type SignedTransaction, type Transaction } from '../../chain/block/transaction.ts'
import { recoverSender, type SenderRecovery } from '../../chain/block/transactionSender.ts'
import { type Address, AddressError, parseAddress } from '../../primitives/address.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { truncate } from '../../primitives/decimal.ts'
import { type Hash, sha256 } from '../../primitives/hash.ts'
import { ProtobufError, withFieldLimit } from '../../primitives/protobuf.ts'
import type { AnyMessageType } from '../../primitives/protoScalars.ts'
import { type AnyValue, anyCodec, decodeContent } from '../../primitives/protoSchema.ts'
import { DecodingError } from '../../primitives/rlp.ts'
import { DEFAULT_AUTH_PARAMS, MAX_KEYS } from '../auth/params.ts'
import { acoinOf } from '../coin.ts'
import type { MessageHandler, MessageTable } from '../message.ts'
import { MESSAGES } from '../messageTable.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { AMINO_TYPES } from './aminoJson.ts'
import {
  type DecodedTransaction,
  type NativeMessage,
  type NativeTransaction,
  requiredGas,
} from './nativeTransaction.ts'
import { type ReadSigners, readSigners, type SignedEncoding } from './readSigners.ts'
import type { SigningChain } from './signDocuments.ts'
import { AuthInfo, ExtensionOptionDynamicFeeTx, type Fee, TxBody, TxRaw } from './types.ts'

/** A decoded transaction of either kind whose signatures are valid, or the reason why these bytes can never start as one. */
export type DecodedEntry = SignedTransaction | { readonly native: NativeTransaction } | { readonly reason: string }

/** Facts about the bytes of a transaction that the caller has established before. */
export interface KnownOfEntry {
  readonly hash?: Hash | undefined
  /**
   * The sender that this process found for exactly these bytes before. It saves nearly all of the time. For a native transaction it means
   * that its signatures are known to be valid.
   */
  readonly sender?: Address | undefined
}

/** A chain, as far as decoding transactions depends on it. */
export interface DecodingChain extends SigningChain {
  /** whether EVM transactions without a chain ID (before EIP-155) are valid; by default not */
  readonly allowsUnprotected?: boolean
}

/**
 * Decodes the transactions of one chain and checks their signatures. It owns the messages that the chain knows and both of its IDs.
 * A thread that reads transactions creates one. Its functions throw for no input, unless they have a bug.
 */
export interface TransactionDecoder {
  /** Decodes a transaction of either kind, as blocks have it, and checks its signatures. The result depends on the bytes alone. */
  decode(raw: Uint8Array, known?: KnownOfEntry): DecodedEntry
  /** Recovers the sender of an EVM transaction; about 60 µs with the native library. */
  recoverSender(transaction: Transaction): SenderRecovery
  /**
   * Decodes a native transaction and checks everything that needs no state: the encoding (a transaction has one, see
   * `canonicalEncoding`), the messages, the signatures. A transaction that is refused here can start in no state;
   * `findNativeInvalidity` checks the limits that a state has (memo, number of signatures, gas).
   */
  decodeNative(raw: Uint8Array): Outcome<NativeTransaction>
  /**
   * Decodes exactly the bytes that {@link decodeNative} of this process has accepted before: neither signatures nor messages are
   * checked again.
   */
  decodeVerified(raw: Uint8Array): Outcome<NativeTransaction>
  /**
   * Decodes a native transaction as a client encodes it. Wallets and Go clients make signatures of 65 bytes, name keys of
   * eth_secp256k1 in other ways, or leave keys out.
   * @returns the encoding to decode instead, where the transaction is valid and {@link decodeNative} refuses its encoding alone
   */
  decodeAnyEncoding(raw: Uint8Array): Outcome<NativeTransaction | OtherEncoding>
  /** Decodes a native transaction without checking its signatures. */
  decodeParts(raw: Uint8Array): Outcome<DecodedTransaction>
  /** Decodes a native transaction whose signatures may be missing. */
  decodeForSimulation(
    raw: Uint8Array,
  ): Outcome<{ readonly decoded: DecodedTransaction; readonly transaction: NativeTransaction }>
}

/** A valid transaction in another encoding than the accepted one. */
interface OtherEncoding {
  /** The accepted encoding. It equals the given one where only the bytes inside an Any differ: then no encoding is accepted. */
  readonly accepted: Uint8Array
}

/**
 * The refusal of a transaction whose signatures are valid and whose encoding alone is not accepted. Otherwise anybody could give another
 * sender's transaction a second hash, under which its sender would not find it.
 */
export const NOT_CANONICAL: SdkError = sdkError(
  'txDecode',
  'not the one encoding of this transaction: 64 bytes a signature; where no signature is in SIGN_MODE_DIRECT, canonical protobuf ' +
    'and public keys by the names of cosmos.evm and cosmos.crypto',
)

/** @param messages those that the chain knows, by default all */
export function createTransactionDecoder(chain: DecodingChain, messages: MessageTable = MESSAGES): TransactionDecoder {
  const senderRules = { chainId: chain.evmChainId, allowUnprotected: chain.allowsUnprotected === true }

  const decodeAnyEncoding = (raw: Uint8Array): Outcome<NativeTransaction | OtherEncoding> => {
    const decoded = decodeSigned(raw, messages)
    if (isSdkError(decoded)) return decoded
    const signers = readSigners(decoded, chain, messages, 'verify')
    if (isSdkError(signers)) return signers
    const { signed } = signers
    if (isCanonical(decoded, signed!, messages)) return nativeTransactionOf(raw, decoded, signers)
    return { accepted: canonicalEncoding(decoded, signed!) }
  }

  const decodeNative = (raw: Uint8Array): Outcome<NativeTransaction> => {
    const read = decodeAnyEncoding(raw)
    return 'accepted' in read ? NOT_CANONICAL : read
  }

  const decodeVerified = (raw: Uint8Array): Outcome<NativeTransaction> => {
    const decoded = decodeSigned(raw, messages, true)
    if (isSdkError(decoded)) return decoded
    const signers = readSigners(decoded, chain, messages, 'known')
    return isSdkError(signers) ? signers : nativeTransactionOf(raw, decoded, signers)
  }

  const decodeEvm = (raw: Uint8Array, known: KnownOfEntry | undefined): DecodedEntry => {
    let transaction: Transaction
    try {
      transaction = decodeTransaction(raw, known?.hash)
    } catch (error) {
      if (error instanceof DecodingError) return { reason: error.message }
      throw error
    }
    if (transaction.type === 3) return { reason: 'transaction type not supported: blob transactions' }
    if (known?.sender !== undefined) return { transaction, sender: known.sender }
    const recovery = recoverSender(transaction, senderRules)
    return 'reason' in recovery ? recovery : { transaction, sender: recovery.sender }
  }

  return {
    decode: (raw, known) => {
      if (!isNativeEntry(raw)) return decodeEvm(raw, known)
      const native = known?.sender === undefined ? decodeNative(raw) : decodeVerified(raw)
      return isSdkError(native) ? { reason: native.message } : { native }
    },
    recoverSender: (transaction) => recoverSender(transaction, senderRules),
    decodeAnyEncoding,
    decodeNative,
    decodeVerified,
    decodeParts: (raw) => decodeSigned(raw, messages),
    decodeForSimulation: (raw) => {
      const decoded = decodeSigned(raw, messages)
      if (isSdkError(decoded)) return decoded
      const signers = readSigners(decoded, chain, messages, 'simulate')
      if (isSdkError(signers)) return signers
      return { decoded, transaction: nativeTransactionOf(raw, decoded, signers) }
    },
  }
}

/** Combines the decoded parts of a transaction and its signers. */
function nativeTransactionOf(
  raw: Uint8Array,
  decoded: DecodedTransaction,
  { signers, signatureCounts, keyCount }: Omit<ReadSigners, 'signed'>,
): NativeTransaction {
  const { body, fee, messages, feeAcoin, maxPriorityPrice, feePayer, feeGranter } = decoded
  const messageGas = messages.map(({ handler, value }) => handler.gas(value))
  const first = signers[0]!
  return {
    raw,
    hash: sha256(raw),
    messages,
    signers,
    sender: first.address,
    sequence: first.sequence,
    memo: body.memo,
    timeoutHeight: Number(body.timeoutHeight),
    gasLimit: fee.gasLimit,
    feeAcoin,
    maxPriorityPrice,
    feePayer,
    feeGranter,
    signatureCounts,
    keyCount,
    messageGas,
    intrinsicGas: requiredGas({ raw, signatureCounts, messageGas, feeGranter }, DEFAULT_AUTH_PARAMS),
  }
}

/**
 * Encodes a transaction in the one way that is accepted. Signatures have 64 bytes each, and a multisig has as many as it needs. Where
 * a signature is over the bytes of body and AuthInfo, these are as they were signed. Where all are over their JSON, they are encoded as
 * this chain does it, with each signer's public key, under this chain's name for it, and SIGN_MODE_LEGACY_AMINO_JSON.
 */
function canonicalEncoding(decoded: DecodedTransaction, { signatures, signerInfos }: SignedEncoding): Uint8Array {
  const { txRaw, body, authInfo } = decoded
  if (signerInfos === undefined) return TxRaw.encode({ ...txRaw, signatures })
  const messages = decoded.messages.map(({ handler: { type }, value }) => ({
    typeUrl: type.typeUrl,
    value: type.encode(value as never),
  }))
  return TxRaw.encode({
    bodyBytes: TxBody.encode({ ...body, messages }),
    authInfoBytes: AuthInfo.encode({ ...authInfo, signerInfos }),
    signatures,
  })
}

/** Returns whether these bytes are the one encoding of the transaction. */
export function isCanonical(decoded: DecodedTransaction, signed: SignedEncoding, messages: MessageTable): boolean {
  const { txRaw } = decoded
  if (!signed.signatures.every((signature, index) => equalBytes(signature, txRaw.signatures[index]!))) return false
  if (signed.signerInfos === undefined) return true
  return equalBytes(canonicalEncoding(decoded, signed), TxRaw.encode(txRaw)) && hasCanonicalAnys(decoded, messages)
}

/** Returns whether the contents of every Any in the messages, at any depth, are encoded as this chain does it. */
function hasCanonicalAnys(decoded: DecodedTransaction, table: MessageTable): boolean {
  let isEncodedSo = true
  const visit = (type: AnyMessageType, value: unknown, bytes: Uint8Array): void => {
    if (isEncodedSo) isEncodedSo = equalBytes(type.encode(value as never), bytes)
  }
  for (const { handler, value } of decoded.messages) visitAnys({ type: handler.type, value }, table, visit)
  return isEncodedSo
}

/** The highest gas limit that the SDK accepts. */
const MAX_GAS_WANTED = 2n ** 63n - 1n

/**
 * Fields of protobuf in a transaction, those of all messages inside it together (see `withFieldLimit`): some 3 ms of decoding. A transfer
 * has 20, and a MsgMultiSend for 1,500 accounts 7,500. A byte pays 10 gas and decoding a field takes up to a microsecond, so there is at most
 * one for each four bytes; lists of the shortest useful values have five bytes for each.
 */
const MAX_FIELDS = 10_000
const LEAST_FIELDS = 256
const BYTES_PER_FIELD = 4

/** Returns how many fields of protobuf a transaction of these bytes may have. */
export function mostFields({ length }: Uint8Array): number {
  return Math.min(MAX_FIELDS, LEAST_FIELDS + Math.floor(length / BYTES_PER_FIELD))
}

/**
 * Decodes bytes as a TxRaw in the one encoding that ADR-027 allows, its body, its AuthInfo and its messages, and checks what
 * needs neither state nor signatures. The errors are those of the SDK's decoder and of ValidateBasic (types/tx/types.go).
 * @param isKnown this process has decoded these bytes before without an error: what takes most of the time is not checked again
 */
function decodeSigned(raw: Uint8Array, table: MessageTable, isKnown = false): Outcome<DecodedTransaction> {
  const decoded = decodeUnsigned(raw, table, isKnown)
  return isSdkError(decoded) ? decoded : (findMissingSignature(decoded) ?? decoded)
}

/** Like {@link decodeSigned}, for a transaction that none or not all of its signers have signed yet. */
export function decodeUnsigned(raw: Uint8Array, table: MessageTable, isKnown = false): Outcome<DecodedTransaction> {
  try {
    const parts = withFieldLimit(mostFields(raw), () => readParts(raw, table, isKnown))
    return isSdkError(parts) ? parts : check(parts, isKnown)
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error
    return sdkError('txDecode', error.message)
  }
}

interface TransactionParts extends Pick<DecodedTransaction, 'txRaw' | 'body' | 'authInfo' | 'messages'> {}

/** Decodes the parts of a transaction. @throws ProtobufError */
function readParts(raw: Uint8Array, table: MessageTable, isKnown: boolean): Outcome<TransactionParts> {
  const txRaw = TxRaw.decode(raw)
  if (txRaw.signatures.length > MAX_KEYS) return sdkError('tooManySignatures')
  if (!isKnown && !equalBytes(TxRaw.encode(txRaw), raw))
    return sdkError('txDecode', 'not the canonical encoding (ADR-027)')
  const authInfo = AuthInfo.decode(txRaw.authInfoBytes)
  if (authInfo.signerInfos.length > MAX_KEYS) return sdkError('tooManySignatures')
  const body = TxBody.decode(txRaw.bodyBytes)
  const messages: NativeMessage[] = []
  for (const message of body.messages) {
    const decoded = decodeMessage(message, table)
    if (isSdkError(decoded)) return decoded
    if (!isKnown) checkAnys(decoded.handler.type, decoded.value, table)
    messages.push(decoded)
  }
  checkNonCriticalOptions(body)
  return { txRaw, body, authInfo, messages }
}

/**
 * Decodes one message; its contents are not validated.
 * @throws ProtobufError
 */
function decodeMessage(any: AnyValue, table: MessageTable): Outcome<NativeMessage> {
  const { typeUrl } = any
  const handler = table.get(typeUrl)
  if (handler === undefined) return sdkError('txDecode', `unable to resolve type URL ${typeUrl}`)
  return { handler, value: decodeContent(handler.type, any) }
}

/**
 * Non-critical options have no effect, but must be of the one known type.
 * @throws ProtobufError
 */
function checkNonCriticalOptions({ nonCriticalExtensionOptions }: TxBody): void {
  for (const { typeUrl, value } of nonCriticalExtensionOptions) {
    if (typeUrl !== ExtensionOptionDynamicFeeTx.typeUrl) {
      throw new ProtobufError(`unable to resolve type URL ${typeUrl}`)
    }
    ExtensionOptionDynamicFeeTx.decode(value)
  }
}

function check({ txRaw, body, authInfo, messages }: TransactionParts, isKnown: boolean): Outcome<DecodedTransaction> {
  const { fee } = authInfo
  if (messages.length === 0) return sdkError('invalidRequest', 'must contain at least one message')
  if (fee === undefined) return sdkError('insufficientFee', 'no fee')
  if (authInfo.tip !== undefined) return sdkError('notSupported', 'tips')
  const signers: Address[] = []
  for (const { handler, value } of messages) {
    const error = isKnown ? undefined : validateMessage(handler, value)
    if (error !== undefined) return error
    addAll(signers, handler.signers(value))
    // More keys than this are never read; and each signer is compared with all others.
    if (signers.length > MAX_KEYS) return sdkError('tooManySignatures')
  }
  const parties = readParties(fee, signers[0]!)
  if (isSdkError(parties)) return parties
  addAll(signers, [parties.feePayer])

  const amount = readFee(fee)
  if (isSdkError(amount)) return amount
  const priority = readExtensions(body)
  if (isSdkError(priority)) return priority
  return {
    txRaw,
    body,
    authInfo,
    fee,
    messages,
    signers,
    feeAcoin: amount.acoin,
    ...parties,
    maxPriorityPrice: priority.maxPriorityPrice,
  }
}

function findMissingSignature({ txRaw, authInfo, signers }: DecodedTransaction): SdkError | undefined {
  if (txRaw.signatures.length === 0) return sdkError('noSignatures')
  const counts = [authInfo.signerInfos.length, txRaw.signatures.length]
  if (counts.every((count) => count === signers.length)) return undefined
  return sdkError('unauthorized', `wrong number of signers; expected ${signers.length}, got ${counts.join(' and ')}`)
}

/** ValidateBasic of a message, its signers' addresses included. */
export function validateMessage(handler: MessageHandler, value: unknown): SdkError | undefined {
  try {
    const error = handler.validate(value)
    if (error !== undefined) return error
    if (handler.signers(value).length === 0) return sdkError('invalidRequest', 'a message needs a signer')
    return undefined
  } catch (error) {
    // What parseAddress throws.
    if (!(error instanceof AddressError)) throw error
    return sdkError('invalidAddress', error.message)
  }
}

function addAll(signers: Address[], more: readonly Address[]): void {
  for (const address of more) if (!signers.some((known) => equalBytes(known, address))) signers.push(address)
}

function readParties(
  { payer, granter }: Fee,
  firstSigner: Address,
): Outcome<Pick<DecodedTransaction, 'feePayer' | 'feeGranter'>> {
  const feePayer = payer === '' ? firstSigner : readAddress(payer, 'fee payer')
  if (isSdkError(feePayer)) return feePayer
  const feeGranter = granter === '' ? undefined : readAddress(granter, 'fee granter')
  if (isSdkError(feeGranter)) return feeGranter
  // A granter that is also the payer needs no allowance (x/auth/ante/fee.go).
  return { feePayer, feeGranter: feeGranter && equalBytes(feeGranter, feePayer) ? undefined : feeGranter }
}

function readAddress(text: string, what: string): Outcome<Address> {
  try {
    return parseAddress(text)
  } catch (error) {
    if (!(error instanceof AddressError)) throw error
    return sdkError('invalidAddress', `invalid ${what} address: ${error.message}`)
  }
}

function readFee({ amount, gasLimit }: Fee): Outcome<{ readonly acoin: bigint }> {
  if (gasLimit > MAX_GAS_WANTED) {
    return sdkError('invalidRequest', `invalid gas supplied; ${gasLimit} > ${MAX_GAS_WANTED}`)
  }
  if (amount.some((coin) => coin.amount < 0n)) return sdkError('insufficientFee', 'invalid fee provided: negative')
  const acoin = acoinOf(amount)
  if (acoin === undefined || amount.length > 1) {
    return sdkError('insufficientFunds', 'fees are paid in acoin, in one amount')
  }
  return { acoin }
}

function readExtensions({ extensionOptions }: TxBody): Outcome<Pick<DecodedTransaction, 'maxPriorityPrice'>> {
  let maxPriorityPrice: bigint | undefined
  for (const { typeUrl, value } of extensionOptions) {
    if (typeUrl !== ExtensionOptionDynamicFeeTx.typeUrl) return sdkError('unknownExtensionOptions', typeUrl)
    const price = ExtensionOptionDynamicFeeTx.decode(value).maxPriorityPrice
    if (price < 0n) return sdkError('insufficientFee', 'max priority price cannot be negative')
    // Of several, cosmos/evm takes the first.
    maxPriorityPrice ??= truncate(price)
  }
  return { maxPriorityPrice }
}

type Field = AnyMessageType['fields'][number]

/** The most levels of messages inside messages; a transaction with more cannot be executed anyway. */
const MAX_DEPTH = 32

/** The fields that contain an Any, by message type. No message type contains itself. */
const anyFields = new WeakMap<AnyMessageType, readonly Field[]>()

/**
 * Checks that every Any inside a message, at any depth, is of a known type and decodes, even where nothing reads it
 * (RejectUnknownFields of the SDK's decoder): otherwise clients could not show the transaction.
 * @throws ProtobufError
 */
function checkAnys(type: AnyMessageType, value: unknown, messages: MessageTable): void {
  visitAnys({ type, value }, messages, () => undefined)
}

/** Takes the type of an Any's contents, the decoded value, and its bytes. */
type AnyVisitor = (type: AnyMessageType, value: unknown, bytes: Uint8Array) => void

/**
 * Decodes every Any inside a message, at any depth.
 * @throws ProtobufError for one of an unknown type, or that does not decode
 */
function visitAnys(
  { type, value }: { readonly type: AnyMessageType; readonly value: unknown },
  messages: MessageTable,
  visit: AnyVisitor,
  depth = 0,
): void {
  if (depth > MAX_DEPTH) throw new ProtobufError('nested too deeply')
  for (const { name, codec, presence } of fieldsWithAny(type)) {
    const member = (value as Record<string, unknown>)[name]
    const items = presence === 'repeated' ? (member as readonly unknown[]) : member === undefined ? [] : [member]
    const inner = codec.messageType?.()
    for (const item of items) {
      if (inner !== undefined) visitAnys({ type: inner, value: item }, messages, visit, depth + 1)
      else visitAny(item as AnyValue, messages, visit, depth + 1)
    }
  }
}

function visitAny(any: AnyValue, messages: MessageTable, visit: AnyVisitor, depth: number): void {
  const { typeUrl } = any
  const type: AnyMessageType | undefined = messages.get(typeUrl)?.type ?? AMINO_TYPES.get(typeUrl)?.type
  if (type === undefined) throw new ProtobufError(`unable to resolve type URL ${typeUrl}`)
  const value = decodeContent(type, any)
  visit(type, value, any.value)
  visitAnys({ type, value }, messages, visit, depth)
}

function fieldsWithAny(type: AnyMessageType): readonly Field[] {
  let fields = anyFields.get(type)
  if (fields === undefined) {
    fields = type.fields.filter(({ codec }) => {
      const inner = codec.messageType?.()
      return inner === undefined ? (codec as unknown) === anyCodec : fieldsWithAny(inner).length > 0
    })
    anyFields.set(type, fields)
  }
  return fields
}
