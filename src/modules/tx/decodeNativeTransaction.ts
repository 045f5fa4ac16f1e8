import { sha256 } from '../../primitives/hash.ts'
import { DEFAULT_AUTH_PARAMS } from '../auth/params.ts'
import type { MessageTable } from '../message.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { canonicalEncoding, isCanonical, NOT_CANONICAL } from './canonicalEncoding.ts'
import { type DecodedTransaction, decodeTransaction } from './decodeTransaction.ts'
import { type NativeTransaction, requiredGas } from './nativeTransaction.ts'
import { type ReadSigners, readSigners } from './readSigners.ts'
import type { SigningChain } from './signDocuments.ts'

/** What decides whether a transaction could start in some state of a chain. */
export interface NativeRules extends SigningChain {
  /** the messages that the chain knows */
  readonly messages: MessageTable
  /** this process has read exactly these bytes before without an error: neither signatures nor messages are checked again */
  readonly isVerified?: boolean
}

/**
 * Decodes a native transaction and checks all that needs no state: the encoding (there is one for each transaction, see
 * `canonicalEncoding`), its messages, its signatures. What is refused
 * here could start in no state; `findNativeInvalidity` checks the limits that a state has (memo, number of signatures, gas).
 * It throws for no input, unless it has a bug: then nothing is known of the transaction.
 */
export function decodeNativeTransaction(raw: Uint8Array, rules: NativeRules): Outcome<NativeTransaction> {
  const isVerified = rules.isVerified === true
  const decoded = decodeTransaction(raw, rules.messages, isVerified)
  if (isSdkError(decoded)) return decoded
  const signers = readSigners(decoded, rules, rules.messages, isVerified ? 'known' : 'verify')
  if (isSdkError(signers)) return signers
  if (signers.signed !== undefined && !isCanonical(decoded, signers.signed, rules.messages)) return NOT_CANONICAL
  return nativeTransactionOf(raw, decoded, signers)
}

/**
 * The accepted encoding of a transaction that {@link decodeNativeTransaction} refuses as {@link NOT_CANONICAL}. Wallets and Go clients make
 * signatures of 65 bytes, name keys of eth_secp256k1 in other ways, or leave keys out.
 */
export function toCanonicalEncoding(raw: Uint8Array, rules: NativeRules): Outcome<Uint8Array> {
  const decoded = decodeTransaction(raw, rules.messages)
  if (isSdkError(decoded)) return decoded
  const signers = readSigners(decoded, rules, rules.messages, 'verify')
  return isSdkError(signers) ? signers : canonicalEncoding(decoded, signers.signed!)
}

/** The transaction from its decoded parts and its signers. */
export function nativeTransactionOf(
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
