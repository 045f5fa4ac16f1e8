import { sha256 } from '../../primitives/hash.ts'
import { DEFAULT_AUTH_PARAMS } from '../auth/params.ts'
import type { MessageTable } from '../message.ts'
import { recoverPanic } from '../recoverPanic.ts'
import { isSdkError, type Outcome } from '../sdkError.ts'
import { type DecodedTransaction, decodeTransaction } from './decodedTransaction.ts'
import { requiredGas } from './gas.ts'
import type { NativeTransaction } from './nativeTransaction.ts'
import { type ReadSigners, readSigners } from './readSigners.ts'
import type { SigningChain } from './signingChain.ts'

/** What a transaction must be to start in some state of a chain. */
export interface NativeRules extends SigningChain {
  /** the messages that the chain knows */
  readonly messages: MessageTable
  /** its signatures were verified before, and are not verified again */
  readonly isVerified?: boolean
}

/**
 * Decodes a native transaction and checks all that needs no state: the encoding, its messages, its signatures. What is
 * refused here could start in no state; limits that are parameters of the state (memo, number of signatures, gas) are
 * checked where it is known. It throws for no bytes whatever.
 */
export function decodeNativeTransaction(raw: Uint8Array, rules: NativeRules): Outcome<NativeTransaction> {
  return recoverPanic(() => {
    const decoded = decodeTransaction(raw, rules.messages)
    if (isSdkError(decoded)) return decoded
    const signers = readSigners(decoded, rules, rules.messages, rules.isVerified === true ? 'known' : 'verify')
    return isSdkError(signers) ? signers : nativeTransactionOf(raw, decoded, signers)
  })
}

/** Puts together what was read. */
export function nativeTransactionOf(
  raw: Uint8Array,
  decoded: DecodedTransaction,
  { signers, signatureCounts, keyCount }: ReadSigners,
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
