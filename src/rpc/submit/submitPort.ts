import { entryHash, isNativeEntry } from '../../chain/block/entries.ts'
import type { Transaction } from '../../chain/block/transaction.ts'
import {
  type Admission,
  DEFAULT_POOL_LIMITS,
  type ErrorCode,
  type SubmittedTransaction,
  type TxPort,
} from '../../mempool/types.ts'
import { checkNativeSize } from '../../mempool/validateAdmission.ts'
import { isSdkError, type SdkError, sdkError } from '../../modules/sdkError.ts'
import { NOT_CANONICAL, type TransactionDecoder } from '../../modules/tx/transactionDecoder.ts'
import { toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { MAX_WRAPPER_BYTES, unwrapEthereumTx, type WrappedTransaction } from '../cosmos/ethereumTx.ts'
import type { EventLoopQuota } from '../transport/eventLoopQuota.ts'
import { BLOB_TRANSACTION, findEvmRefusal, readEvmTransaction, type TransactionLimits } from './readEvmTransaction.ts'

/** The outcome of a submission, in the terms of ABCI's CheckTx: the code is 0 for a transaction that the pool has admitted. */
export interface SubmitOutcome extends ErrorCode {
  /** `entryHash` */
  readonly hash: Hash
  /** why the code is not 0 */
  readonly log: string
  /** its gas limit; 0 for bytes that are not a transaction */
  readonly gasWanted: bigint
  /** gas that it uses at least */
  readonly gasUsed: bigint
}

/** A transaction whose signatures are valid. */
export interface VerifiedTransaction extends SubmittedTransaction, Pick<SubmitOutcome, 'gasWanted' | 'gasUsed'> {
  /** of a native transaction: its first signer's sequence */
  readonly nonce: bigint
}

/** The transactions that a client may send: `evm` has a native one refused with geth's text for an unknown type. */
type Kinds = 'all' | 'evm'

/**
 * The one way in which a client's transaction comes to the pool: bytes in, an outcome out. JSON-RPC, CometBFT's RPC, REST and gRPC
 * translate the outcome into their replies, and do nothing else with the transaction.
 *
 * The bytes are a native TxRaw, an EVM envelope, or a native TxRaw with an EVM envelope in it. A native TxRaw in another encoding than
 * the chain accepts is encoded anew, and its hash is that of the result. A refusal is a value; the functions throw only where the pool's
 * thread has stopped.
 */
export interface SubmitPort {
  /**
   * Verifies a transaction and offers it to the pool. The pool gets transactions in the order of the
   * calls, except those that another thread verifies.
   */
  submit(raw: Uint8Array, client: string, kinds?: Kinds): Promise<SubmitOutcome>
  /**
   * The first half of {@link submit}, for methods that do something in between: decodes, and checks
   * what needs no state.
   * @param client see `ClientAddresses`: long transactions of clients take turns
   */
  verify(raw: Uint8Array, client: string, kinds?: Kinds): Verified | Promise<Verified>
  /** The second half of {@link submit}. */
  admit(transaction: VerifiedTransaction, client: string): Promise<SubmitOutcome>
}

/** A verified transaction, or why it is refused; the refusal alone has a code. */
export type Verified = VerifiedTransaction | SubmitOutcome

interface SubmitPortOptions {
  readonly decoder: Pick<TransactionDecoder, 'recoverSender' | 'decodeAnyEncoding'>
  readonly limits: TransactionLimits
  readonly pool: Pick<TxPort, 'add'>
  /** undefined: this thread verifies all transactions, at once */
  readonly otherThreads?: OtherThreads
}

/** How transactions are verified in a thread that has sockets. */
interface OtherThreads {
  /** for what this thread verifies; undefined: it verifies nothing */
  readonly quota: EventLoopQuota | undefined
  /** Verifies a transaction in another thread, by a port without other threads. */
  readonly verify: (raw: Uint8Array, client: string, kinds: Kinds) => Promise<Verified>
}

/** Longer bytes are refused before they are decoded, as the pool would refuse them. */
const MAX_TRANSACTION_BYTES = DEFAULT_POOL_LIMITS.transactionBytes + MAX_WRAPPER_BYTES

/**
 * A transaction takes one from the quota, and one more for each of so many bytes. A native one may
 * have a signature in 170 bytes, which takes 0.2 ms to verify; an EVM one is only decoded.
 */
const BYTES_PER_QUOTA = { native: 512, evm: 16_384 }
/** Transactions that would take more from the quota are verified in another thread. */
const MOST_QUOTA = 16

function quotaOf(raw: Uint8Array, kinds: Kinds): number {
  const isNative = kinds === 'all' && isNativeEntry(raw)
  return 1 + Math.floor(raw.length / BYTES_PER_QUOTA[isNative ? 'native' : 'evm'])
}

/** Whether a transaction may have so many signatures that its client has to wait for a turn of heavy tasks. */
export function isLongSubmission(raw: Uint8Array, kinds: Kinds = 'all'): boolean {
  return quotaOf(raw, kinds) > MOST_QUOTA
}

/** The outcome where too many long transactions wait already. */
export function verificationBusy(raw: Uint8Array): SubmitOutcome {
  return refusedBy(
    raw,
    sdkError('mempoolIsFull', 'too many long transactions wait to be verified: send it again later'),
  )
}

/** The code of EVM transactions that cannot start, in the codespace of block results too. */
const EVM_REFUSAL: ErrorCode = { codespace: 'evm', code: 2 }

/** Creates the port of a thread. */
export function createSubmitPort({ decoder, limits, pool, otherThreads }: SubmitPortOptions): SubmitPort {
  const verify = (raw: Uint8Array, client: string, kinds: Kinds = 'all'): Verified | Promise<Verified> => {
    if (otherThreads !== undefined && raw.length <= MAX_TRANSACTION_BYTES) {
      const isHere = !isLongSubmission(raw, kinds) && otherThreads.quota?.take(quotaOf(raw, kinds)) === true
      if (!isHere) return otherThreads.verify(raw, client, kinds)
    }
    const opened = openTransaction(raw, kinds, limits)
    if ('code' in opened) return opened
    return 'native' in opened ? verifyNative(decoder, opened.native) : verifyEvm(decoder, opened)
  }

  const admit = async (transaction: VerifiedTransaction, client: string): Promise<SubmitOutcome> =>
    outcomeOf(transaction, await pool.add(transaction, client))

  return {
    verify,
    admit,
    submit: async (raw, client, kinds) => {
      const found = verify(raw, client, kinds)
      const verified = found instanceof Promise ? await found : found
      return 'code' in verified ? verified : admit(verified, client)
    },
  }
}

/** The pool's answer in ABCI's terms. */
export function outcomeOf(
  { hash, gasWanted, gasUsed }: Pick<VerifiedTransaction, 'hash' | 'gasWanted' | 'gasUsed'>,
  admission: Admission,
): SubmitOutcome {
  if (admission.accepted) return { hash, codespace: '', code: 0, log: '', gasWanted, gasUsed }
  const { codespace, code } = admission.error ?? EVM_REFUSAL
  return { hash, codespace, code, log: admission.reason, gasWanted, gasUsed }
}

/** A transaction whose signatures are not checked yet: an EVM one, decoded, or the bytes of a native one, which the check decodes. */
type Opened =
  | { readonly transaction: Transaction; readonly wrapper: Wrapper | undefined }
  | { readonly native: Uint8Array }

/** The native transaction around an EVM one, and the sender that it names. */
type Wrapper = Pick<WrappedTransaction, 'from'> & { readonly raw: Uint8Array }

/** Determines the kind of a transaction; decodes an EVM one, and checks it against the operator's limits. */
function openTransaction(raw: Uint8Array, kinds: Kinds, limits: TransactionLimits): Opened | SubmitOutcome {
  if (kinds === 'evm' || !isNativeEntry(raw)) {
    const { transactionBytes } = DEFAULT_POOL_LIMITS
    if (raw.length > transactionBytes && raw[0] !== BLOB_TRANSACTION) {
      const reason = `oversized data: transaction size ${raw.length}, limit ${transactionBytes}`
      return refused(raw, sdkError('txTooLarge'), reason)
    }
    const transaction = readEvmTransaction(raw, limits)
    return 'reason' in transaction ? refused(raw, EVM_REFUSAL, transaction.reason) : { transaction, wrapper: undefined }
  }
  const wrapped = unwrapEthereumTx(raw)
  if (wrapped === undefined) {
    // Before decoding: the pool refuses it anyway, and it may have many signatures.
    const oversized = checkNativeSize(raw.length, DEFAULT_POOL_LIMITS)
    return oversized === undefined ? { native: raw } : refusedBy(raw, oversized)
  }
  if (isSdkError(wrapped)) return refusedBy(raw, wrapped)
  const { transaction, from } = wrapped
  const refusal = findEvmRefusal(transaction, limits)
  return refusal === undefined
    ? { transaction, wrapper: { raw, from } }
    : refused(transaction.raw, EVM_REFUSAL, refusal.reason)
}

function verifyNative(decoder: SubmitPortOptions['decoder'], raw: Uint8Array): VerifiedTransaction | SubmitOutcome {
  const transaction = decoder.decodeAnyEncoding(raw)
  if (isSdkError(transaction)) return refusedBy(raw, transaction)
  if ('accepted' in transaction) {
    const { accepted } = transaction
    if (equalBytes(accepted, raw)) return refusedBy(raw, NOT_CANONICAL)
    const oversized = checkNativeSize(accepted.length, DEFAULT_POOL_LIMITS)
    return oversized === undefined ? verifyNative(decoder, accepted) : refusedBy(accepted, oversized)
  }
  const { hash, sender: first, sequence: nonce, gasLimit: gasWanted, intrinsicGas: gasUsed } = transaction
  return { raw: transaction.raw, hash, sender: first, nonce, authorizations: 0, gasWanted, gasUsed }
}

function verifyEvm(
  decoder: SubmitPortOptions['decoder'],
  { transaction, wrapper }: Extract<Opened, { readonly transaction: Transaction }>,
): Verified {
  const { raw, hash, nonce, gasLimit: gasWanted, authorizationList } = transaction
  const recovery = decoder.recoverSender(transaction)
  if ('reason' in recovery) return refused(raw, EVM_REFUSAL, recovery.reason)
  const { sender } = recovery
  if (wrapper !== undefined && !equalBytes(sender, wrapper.from)) {
    const senders = `got ${toChecksumAddress(sender)}, expected ${bytesToHex(wrapper.from)}`
    const reason = `signature verification failed: sender verification failed. ${senders}`
    return refusedBy(wrapper.raw, sdkError('invalidSigner', reason))
  }
  return { raw, hash, sender, nonce, authorizations: authorizationList.length, gasWanted, gasUsed: 0n }
}

function refusedBy(raw: Uint8Array, error: SdkError): SubmitOutcome {
  return refused(raw, error, error.message)
}

function refused(raw: Uint8Array, { codespace, code }: ErrorCode, log: string): SubmitOutcome {
  return { hash: entryHash(raw), codespace, code, log, gasWanted: 0n, gasUsed: 0n }
}
