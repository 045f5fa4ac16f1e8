import { decodeTransaction } from '../../../chain/block/transaction.ts'
import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import { recoverAuthorities } from '../../../evm/authorization.ts'
import { recoverEntrySender } from '../../../execution/entry.ts'
import { endsNode } from '../../../execution/unforeseenError.ts'
import { unpackSenders } from '../../../mempool/packedMessages.ts'
import { packAuthorities } from '../../../mempool/recoveredAuthorities.ts'
import type { TransactionDecoder } from '../../../modules/tx/transactionDecoder.ts'
import type { Address } from '../../../primitives/address.ts'
import { CANCELLED, THREAD_LOST } from '../../../rpc/cosmos/nativeCall.ts'
import type { NativeAnswer, NativeCall, ViewQueries } from '../../../rpc/cosmos/queryPort.ts'
import type { CallScope } from '../../../rpc/jsonrpc/callScope.ts'
import { RPC_CODES, RpcError } from '../../../rpc/jsonrpc/errors.ts'
import type { ViewQueue } from '../../../rpc/jsonrpc/place.ts'
import type { ResultText } from '../../../rpc/jsonrpc/resultText.ts'
import type { ViewPool } from '../../../rpc/jsonrpc/runMethod.ts'
import { isLongSubmission, type SubmitPort, type Verified } from '../../../rpc/submit/submitPort.ts'
import type { RecoverAuthorities } from '../../wire/admissions.ts'
import { type PackedBytes, packBytes, unpackBytes } from '../../wire/packedBytes.ts'
import { despiteStops, ThreadStopped } from '../../wire/port.ts'

/**
 * Transactions in one call (about 4 ms), so that the thread's other work waits no longer than this.
 */
const TRANSACTIONS_PER_CALL = 64
const ADDRESS_BYTES = 20

/** The part of a {@link CallScope} that is plain data. */
export type CallDue = Omit<CallScope, 'signal'>

/**
 * The part of a view thread that answers clients. Work whose `signal` is aborted does not start, or
 * stops at its next turn.
 */
interface RemoteView {
  call(
    queue: ViewQueue,
    method: string,
    params: readonly unknown[],
    due: CallDue,
    signal: AbortSignal,
  ): Promise<ResultText>
  query(queue: ViewQueue, call: NativeCall, due: CallDue, signal: AbortSignal): Promise<NativeAnswer>
}

/**
 * The view threads as one pool. With more than one, the first takes the cheap queue alone, so that no heavy call delays the
 * admission of a transaction; a heavy call goes to the thread with the fewest under way.
 * @param packedBelow see `ChainReader`
 */
export function createViewPool(views: readonly RemoteView[], packedBelow: () => number): ViewPool & ViewQueries {
  const [first, ...others] = views
  if (first === undefined) throw new Error('there is no view thread')
  const runHeavy = leastBusy(others.length > 0 ? others : [first])
  const inQueue = <T>(queue: ViewQueue, task: (view: RemoteView) => Promise<T>): Promise<T> =>
    queue === 'cheap' ? task(first) : runHeavy(task)
  return {
    call: async (queue, method, params, { signal, ...due }) => {
      try {
        return await inQueue(queue, (view) => view.call(queue, method, params, due, signal))
      } catch (error) {
        // Not tried again: a call that ends its thread must not end one thread after another.
        throw error instanceof ThreadStopped ? new RpcError(RPC_CODES.internal, THREAD_LOST.message) : error
      }
    },
    query: async (asked, call, { signal, ...due }) => {
      if (signal.aborted) return CANCELLED
      // The query may read the block itself.
      const queue = call.height > 0 && call.height < packedBelow() ? 'heavy' : asked
      try {
        return await inQueue(queue, (view) => view.query(queue, call, due, signal))
      } catch (error) {
        if (error instanceof ThreadStopped) return THREAD_LOST
        // The client left while the call waited for a thread to be restarted.
        if (signal.aborted) return CANCELLED
        throw error
      }
    },
  }
}

/** The part of a view thread that recovers senders; see {@link recoverPackedSenders}. */
interface SenderRecoverer {
  recoverSenders(packed: PackedBytes): Promise<Uint8Array>
}

/**
 * Sender of a transaction. undefined: there is none, because the transaction is malformed, of
 * another chain or has a wrong signature; `unknown`: an unexpected error occurred, so the
 * transaction may be valid.
 */
type RecoveredSender = Address | undefined | 'unknown'

/**
 * Each byte of the address that means `unknown` between threads. No key is known for this address.
 */
const UNKNOWN_BYTE = 0xff

/**
 * {@link createSenderExamination} for callers that check a transaction without a known sender
 * themselves: `unknown` becomes undefined too.
 */
export function createSenderRecovery(
  threads: readonly SenderRecoverer[],
): (transactions: readonly Uint8Array[]) => Promise<(Address | undefined)[]> {
  const recover = createSenderExamination(threads)
  return async (transactions) =>
    (await recover(transactions)).map((sender) => (sender === 'unknown' ? undefined : sender))
}

/**
 * Recovers the senders of encoded transactions in the least busy thread. The result is in the order
 * of the transactions.
 */
export function createSenderExamination(
  threads: readonly SenderRecoverer[],
): (transactions: readonly Uint8Array[]) => Promise<RecoveredSender[]> {
  if (threads.length === 0) throw new Error('there is no thread to recover senders in')
  const run = leastBusy(threads)
  const recover = async (transactions: readonly Uint8Array[]): Promise<RecoveredSender[]> => {
    const packed = await despiteStops(() => run((thread) => thread.recoverSenders(packBytes(transactions))))
    return unpackSenders(packed).map((sender) =>
      sender?.every((byte) => byte === UNKNOWN_BYTE) === true ? 'unknown' : sender,
    )
  }
  return async (transactions) => {
    const chunks: Promise<RecoveredSender[]>[] = []
    for (let at = 0; at < transactions.length; at += TRANSACTIONS_PER_CALL) {
      chunks.push(recover(transactions.slice(at, at + TRANSACTIONS_PER_CALL)))
    }
    return (await Promise.all(chunks)).flat()
  }
}

/**
 * The view thread's side of {@link createSenderExamination}: returns 20 bytes for each transaction,
 * zeros where there is no sender.
 * @param onError takes unexpected errors
 */
export function recoverPackedSenders(
  packed: PackedBytes,
  decoder: TransactionDecoder,
  onError: (error: unknown) => void,
): Uint8Array {
  const raws = unpackBytes(packed)
  const out = new Uint8Array(raws.length * ADDRESS_BYTES)
  for (const [index, raw] of raws.entries()) {
    const at = index * ADDRESS_BYTES
    try {
      const sender = recoverEntrySender(raw, decoder)
      if (sender !== undefined) out.set(sender, at)
    } catch (error) {
      if (endsNode(error)) throw error
      onError(error)
      out.fill(UNKNOWN_BYTE, at, at + ADDRESS_BYTES)
    }
  }
  return out
}

/** The part of a view thread that verifies transactions of clients. */
interface SubmissionVerifier {
  verifySubmission: (...submission: Parameters<SubmitPort['verify']>) => Promise<Verified>
}

/** Verifies transactions of clients in the least busy of the threads; long ones where heavy calls run. */
export function createSubmissionCheck(threads: readonly SubmissionVerifier[]): SubmissionVerifier['verifySubmission'] {
  if (threads.length === 0) throw new Error('there is no thread to verify transactions in')
  const run = leastBusy(threads)
  const runLong = threads.length > 1 ? leastBusy(threads.slice(1)) : run
  return (raw, client, kinds) =>
    despiteStops(() =>
      (isLongSubmission(raw, kinds) ? runLong : run)((thread) => thread.verifySubmission(raw, client, kinds)),
    )
}

/** The part of a view thread that recovers the signers of authorizations; see {@link recoverPackedAuthorities}. */
interface AuthorityRecoverer {
  recoverAuthorities(raw: Uint8Array): Promise<Uint8Array>
}

/** Recovers the signers of a transaction's EIP-7702 authorizations in the least busy thread. */
export function createAuthorityRecovery(threads: readonly AuthorityRecoverer[]): RecoverAuthorities {
  if (threads.length === 0) throw new Error('there is no thread to recover authorities in')
  const run = leastBusy(threads)
  return (raw) => despiteStops(() => run((thread) => thread.recoverAuthorities(raw)))
}

/** The view thread's side of {@link createAuthorityRecovery}. @param raw a transaction that the pool has decoded */
export function recoverPackedAuthorities(raw: Uint8Array, { evmChainId }: Pick<ChainConfig, 'evmChainId'>): Uint8Array {
  return packAuthorities(recoverAuthorities(decodeTransaction(raw).authorizationList, evmChainId))
}

/** Runs each task in the thread that has the fewest running tasks. */
function leastBusy<Thread>(threads: readonly Thread[]): <T>(task: (thread: Thread) => Promise<T>) => Promise<T> {
  const loads = threads.map((thread) => ({ thread, running: 0 }))
  return async (task) => {
    const chosen = loads.reduce((best, load) => (load.running < best.running ? load : best))
    chosen.running++
    try {
      return await task(chosen.thread)
    } finally {
      chosen.running--
    }
  }
}
