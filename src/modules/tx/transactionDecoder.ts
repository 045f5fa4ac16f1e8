import type { Transaction } from '../../chain/block/transaction.ts'
import { recoverSender, type SenderRecovery } from '../../chain/block/transactionSender.ts'
import { equalBytes } from '../../primitives/bytes.ts'
import { sha256 } from '../../primitives/hash.ts'
import type { AnyMessageType } from '../../primitives/protoScalars.ts'
import { DEFAULT_AUTH_PARAMS } from '../auth/params.ts'
import type { MessageTable } from '../message.ts'
import { MESSAGES } from '../messages.ts'
import { isSdkError, type Outcome, type SdkError, sdkError } from '../sdkError.ts'
import { type DecodedTransaction, decodeSigned, visitAnys } from './decodeTransaction.ts'
import { type NativeTransaction, requiredGas } from './nativeTransaction.ts'
import { type ReadSigners, readSigners, type SignedEncoding } from './readSigners.ts'
import type { SigningChain } from './signDocuments.ts'
import { AuthInfo, TxBody, TxRaw } from './types.ts'

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
 * The refusal of a transaction that its signers did sign, but for which another encoding is accepted. Otherwise anybody could give a
 * transaction of others another hash, under which they would not find it.
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

  return {
    recoverSender: (transaction) => recoverSender(transaction, senderRules),
    decodeAnyEncoding,
    decodeNative: (raw) => {
      const read = decodeAnyEncoding(raw)
      return 'accepted' in read ? NOT_CANONICAL : read
    },
    decodeVerified: (raw) => {
      const decoded = decodeSigned(raw, messages, true)
      if (isSdkError(decoded)) return decoded
      const signers = readSigners(decoded, chain, messages, 'known')
      return isSdkError(signers) ? signers : nativeTransactionOf(raw, decoded, signers)
    },
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
 * this chain does it, with each signer's public key, under the name that this chain gives it, and SIGN_MODE_LEGACY_AMINO_JSON.
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
