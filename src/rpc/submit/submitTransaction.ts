import { setImmediate as nextTurn } from 'node:timers/promises'
import { entryHash, isNativeEntry } from '../../chain/block/entries.ts'
import type { ChainConfig } from '../../chain/genesis/chainConfig.ts'
import { type Admission, DEFAULT_POOL_LIMITS, type ErrorCode, type TxPort } from '../../mempool/types.ts'
import { checkNativeSize } from '../../mempool/validateAdmission.ts'
import { MESSAGES } from '../../modules/messages.ts'
import { isSdkError, sdkError } from '../../modules/sdkError.ts'
import { NOT_CANONICAL } from '../../modules/tx/canonicalEncoding.ts'
import { decodeNativeTransaction, toCanonicalEncoding } from '../../modules/tx/decodeNativeTransaction.ts'
import { type Address, toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex, equalBytes } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { unwrapEthereumTx } from '../cosmos/ethereumTx.ts'
import { readRawTransaction, readSender, type TransactionLimits } from '../eth/sendRawTransaction.ts'
import type { CallScope } from '../jsonrpc/callScope.ts'
import { RpcError } from '../jsonrpc/errors.ts'
import type { EventLoopQuota } from '../transport/eventLoopQuota.ts'

/** The result of ABCI's CheckTx for a transaction of either kind. */
export interface CheckedTransaction extends ErrorCode {
  /** `entryHash` */
  readonly hash: Hash
  /** why the code is not 0 */
  readonly log: string
  /** its gas limit; 0 for bytes that are no transaction */
  readonly gasWanted: bigint
  /** gas that it uses at least */
  readonly gasUsed: bigint
}

/** A transaction whose signatures are right. */
export interface VerifiedTransaction extends Pick<CheckedTransaction, 'hash' | 'gasWanted' | 'gasUsed'> {
  readonly raw: Uint8Array
  readonly sender: Address
}

interface VerifyContext {
  readonly chain: Pick<ChainConfig, 'chainId' | 'evmChainId' | 'allowsUnprotected'>
  readonly limits: TransactionLimits
}

/** The code of EVM transactions that cannot start, in the codespace of block results too. */
const EVM_REFUSAL: ErrorCode = { codespace: 'evm', code: 2 }

/**
 * Checks a transaction and gives it to the pool: a native TxRaw, an EVM envelope, or a native TxRaw with one. A native TxRaw that clients
 * encode in another way than the chain accepts is encoded anew, and its hash is that of the result. Reports a refusal, never throws one.
 * @param context its `txs` is the pool, its `scope` says for whom
 */
export async function submitTransaction(
  context: VerifyContext & { readonly txs: Pick<TxPort, 'add'>; readonly scope: Pick<CallScope, 'client'> },
  raw: Uint8Array,
): Promise<CheckedTransaction> {
  const verified = verifyTransaction(context, raw)
  if ('code' in verified) return verified
  const { raw: canonical, sender, hash } = verified
  return checkedTransaction(verified, await context.txs.add(canonical, sender, hash, context.scope.client))
}

/** The pool's answer in ABCI's terms. */
export function checkedTransaction(verified: VerifiedTransaction, admission: Admission): CheckedTransaction {
  const { hash, gasWanted, gasUsed } = verified
  if (admission.accepted) return { hash, codespace: '', code: 0, log: '', gasWanted, gasUsed }
  const { codespace, code } = admission.error ?? EVM_REFUSAL
  return { hash, codespace, code, log: admission.reason, gasWanted, gasUsed }
}

interface VerifierOptions extends VerifyContext {
  /** for signatures that are checked here; undefined: none are */
  readonly quota: EventLoopQuota | undefined
  /** checks signatures in other threads: who sent each transaction, undefined for a wrong one */
  readonly recoverSenders: (transactions: readonly Uint8Array[]) => Promise<readonly (Address | undefined)[]>
}

/** See {@link verifyTransaction}. */
export type Verifier = (raw: Uint8Array) => Promise<VerifiedTransaction | CheckedTransaction>

/**
 * Checks transactions in a thread with sockets: the signatures there as long as the quota of the turn allows it, else in
 * another thread. The reason why a transaction is wrong is always found here, once the quota allows it.
 */
export function createVerifier({ quota, recoverSenders, ...context }: VerifierOptions): Verifier {
  return async (raw) => {
    if (quota?.take() === true) return verifyTransaction(context, raw)
    const wrapped = unwrapEthereumTx(raw)
    const [sender] = await recoverSenders([wrapped === undefined || isSdkError(wrapped) ? raw : wrapped.raw])
    if (sender !== undefined) return verifyTransaction(context, raw, sender)
    while (quota?.take() === false) await nextTurn()
    return verifyTransaction(context, raw)
  }
}

/**
 * Decodes a transaction of either kind, or an EVM one in a native one, and checks what needs no state, its signatures above all (about 60 µs with the native
 * library); the reason of the refusal otherwise.
 * @param knownSender skips the check of the signatures, which another thread has done
 */
function verifyTransaction(
  context: VerifyContext,
  raw: Uint8Array,
  knownSender?: Address,
): VerifiedTransaction | CheckedTransaction {
  if (!isNativeEntry(raw)) return verifyEvm(context, raw, knownSender)
  const wrapped = unwrapEthereumTx(raw)
  if (wrapped === undefined) return verifyNative(context, raw, knownSender)
  if (isSdkError(wrapped)) return refused(raw, wrapped, wrapped.message)
  const verified = verifyEvm(context, wrapped.raw, knownSender)
  if ('code' in verified || equalBytes(verified.sender, wrapped.from)) return verified
  const senders = `got ${toChecksumAddress(verified.sender)}, expected ${bytesToHex(wrapped.from)}`
  const error = sdkError('invalidSigner', `signature verification failed: sender verification failed. ${senders}`)
  return refused(raw, error, error.message)
}

function verifyNative(
  { chain, limits }: VerifyContext,
  raw: Uint8Array,
  knownSender: Address | undefined,
): VerifiedTransaction | CheckedTransaction {
  const { chainId, evmChainId } = chain
  // Before decoding: the pool refuses it anyway, and it may have many signatures.
  const oversized = checkNativeSize(raw.length, DEFAULT_POOL_LIMITS)
  if (oversized !== undefined) return refused(raw, oversized, oversized.message)
  const rules = { chainId, evmChainId, messages: MESSAGES }
  const transaction = decodeNativeTransaction(raw, { ...rules, isVerified: knownSender !== undefined })
  if (transaction === NOT_CANONICAL) {
    const canonical = toCanonicalEncoding(raw, rules)
    if (isSdkError(canonical)) return refused(raw, canonical, canonical.message)
    // One that is not accepted either has another encoding inside of an Any.
    return equalBytes(canonical, raw)
      ? refused(raw, NOT_CANONICAL, NOT_CANONICAL.message)
      : verifyNative({ chain, limits }, canonical, undefined)
  }
  if (isSdkError(transaction)) return refused(raw, transaction, transaction.message)
  const { hash, sender, gasLimit: gasWanted, intrinsicGas: gasUsed } = transaction
  return { raw: transaction.raw, hash, sender, gasWanted, gasUsed }
}

function verifyEvm(
  { chain, limits }: VerifyContext,
  raw: Uint8Array,
  knownSender: Address | undefined,
): VerifiedTransaction | CheckedTransaction {
  try {
    const transaction = readRawTransaction(raw, limits)
    const sender = knownSender ?? readSender(transaction, chain)
    return { raw, hash: transaction.hash, sender, gasWanted: transaction.gasLimit, gasUsed: 0n }
  } catch (error) {
    if (error instanceof RpcError) return refused(raw, EVM_REFUSAL, error.message)
    throw error
  }
}

function refused(raw: Uint8Array, { codespace, code }: ErrorCode, log: string): CheckedTransaction {
  return { hash: entryHash(raw), codespace, code, log, gasWanted: 0n, gasUsed: 0n }
}
