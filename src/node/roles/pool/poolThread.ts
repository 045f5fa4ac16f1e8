import { flushCompileCache } from 'node:module'
import { BroadcastChannel, type MessagePort, workerData } from 'node:worker_threads'
import { nextBaseFee } from '../../../chain/block/baseFee.ts'
import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import type { LogConfig } from '../../../config/config.ts'
import { runningParams } from '../../../execution/blockContext.ts'
import { accountState } from '../../../execution/headEvent.ts'
import type { CandidateRequest } from '../../../execution/proposal.ts'
import {
  type PackedInput,
  packSenders,
  packTransactions,
  unpackHashes,
  unpackHeadUpdate,
} from '../../../mempool/packedMessages.ts'
import { TransactionPool } from '../../../mempool/pool.ts'
import { type PoolEntry, toPooledTransaction } from '../../../mempool/poolEntry.ts'
import { PoolJournal } from '../../../mempool/poolJournal.ts'
import { RecoveredAuthorities } from '../../../mempool/recoveredAuthorities.ts'
import { TransactionBroadcastQueue } from '../../../mempool/transactionBroadcastQueue.ts'
import type { AccountState, Admission, PooledTransaction } from '../../../mempool/types.ts'
import { refuseKnown } from '../../../mempool/validateAdmission.ts'
import { AUTH_PARAMS } from '../../../modules/auth/params.ts'
import { checkNativeState } from '../../../modules/tx/applyNativeTransaction.ts'
import { laneGas } from '../../../modules/tx/nativeTransaction.ts'
import { createTransactionDecoder, type DecodedEntry } from '../../../modules/tx/transactionDecoder.ts'
import { LIMITS } from '../../../p2p/limits.ts'
import { BATCH_PREFIX_BYTES, batchLength, encodeBatch } from '../../../p2p/transactionGossip.ts'
import type { Address } from '../../../primitives/address.ts'
import { bytesKey, bytesToHex, keyBytes } from '../../../primitives/bytes.ts'
import type { Hash } from '../../../primitives/hash.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../../../primitives/selfTest.ts'
import { Journal } from '../../../state/journal.ts'
import { createViewCaches, openView } from '../../../state/view.ts'
import { Database } from '../../../storage/database.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createPoolMetrics } from '../../../telemetry/metrics.ts'
import { epochMs, openTracer, type TracingChannel, TransactionTraces } from '../../../telemetry/spans.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import { randomSeed } from '../../start/randomSeed.ts'
import { channel, endThread, type ThreadData } from '../../start/spawn.ts'
import { AdmissionServer, connectBatchAdmissions } from '../../wire/admissions.ts'
import type { PackedBytes } from '../../wire/packedBytes.ts'
import { connectReplaceable, serve } from '../../wire/port.ts'
import {
  type Gate,
  getPeerCount,
  isWatched,
  type NodeState,
  type PoolFilling,
  setPoolEmpty,
  type Watchers,
  waitAtGate,
} from '../../wire/sharedMemory.ts'
import { createAuthorityRecovery, createSenderRecovery } from '../socket/viewPool.ts'
import { createPoolCopies, type PoolCopies } from './poolCopies.ts'
import { readJournal } from './readJournal.ts'

/** Milliseconds for which transactions are gathered before they are sent to peers. */
const BATCH_MS = 20
/** Bytes of a full batch besides its transactions. */
const BATCH_OVERHEAD = batchLength([]) + LIMITS.transactionsPerBatch * BATCH_PREFIX_BYTES

/** Native transactions that are checked on one journal, which caches all that it has read. */
const CHECKS_A_JOURNAL = 4_096

/** Transactions that one answer to the block builder holds. */
const CANDIDATES_PER_ANSWER = 512

/**
 * The pool thread holds the mempool: admits transactions of clients and peers, hands them to the block builder in order, and announces
 * them to subscribers and peers.
 */
export interface PoolData {
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
  readonly chain: ChainConfig
  /** see `PoolLimits` */
  readonly acceptsUnprotected: boolean
  readonly filling: PoolFilling
  /** the file for accepted transactions of clients; undefined: they are gone after a restart */
  readonly journalPath: string | undefined
  /** how many there are to recover the senders of its transactions; their ports come by `connectView` */
  readonly viewThreads: number
  /** to the executor; views and sockets come by `attach` */
  readonly executor: MessagePort
  /** from the network thread: transactions of peers come in, those of this node's clients go out */
  readonly gossip: { readonly admissions: MessagePort; readonly announcements: MessagePort }
  readonly nodeState: NodeState
  readonly log: LogConfig
  /** name of the broadcast channel for transactions that became executable */
  readonly pendingChannel: string
  /** whether a client wants them */
  readonly pendingWatch: Watchers
  readonly tracing: TracingChannel | undefined
}

/** The part of a view thread's service that the pool thread calls. */
type RecoveryService = {
  recoverSenders: (packed: PackedBytes) => Uint8Array
  recoverAuthorities: (raw: Uint8Array) => Uint8Array
}

export type PoolService = typeof service
/** The service for view and socket threads. */
export type PoolClientService = PoolService & PoolCopies

const { control, data } = workerData as ThreadData<PoolData>
checkKnownAnswers(PRIMITIVE_ANSWERS)
const threadMetrics = createThreadMetrics('pool')
const metrics = createPoolMetrics(threadMetrics.registry)
const log = createLogger(data.log, { thread: 'pool' }).child({ part: 'mempool' })
await waitAtGate(data.databaseGate)
const database = await Database.open(data.location, { readOnly: true, onDamage: endThread })
const announcements = new BroadcastChannel(data.pendingChannel)
const tracer = openTracer(data.tracing)
const traces = tracer && new TransactionTraces(tracer)

const caches = createViewCaches(randomSeed())
let snapshot = database.snapshot()
let view = openView(snapshot, caches)
let state = view.stateAt(view.chain.headHeight)
/** for checks, whose writes are discarded; it caches what it has read */
let journal = new Journal(state)
let journalChecks = 0

function followHead(): void {
  const former = snapshot
  snapshot = database.snapshot()
  view = openView(snapshot, caches)
  state = view.stateAt(view.chain.headHeight)
  journal = new Journal(state)
  void former.close()
}

/**
 * Accounts, by `bytesKey`, that the newest block has changed while it is not in the database yet. What else native transactions are checked
 * against (allowances, parameters) is that of the block before for this moment: one that should not be here costs a proposal a look.
 */
const unwritten = new Map<string, AccountState>()

function readAccount(address: Address): AccountState {
  return unwritten.get(bytesKey(address)) ?? accountState(state.getAccount(address), state, vestingBalance(address))
}

/** Returns the spendable balance of a vesting account; undefined for all others. */
function vestingBalance(address: Address): bigint | undefined {
  if (!journal.hasVesting() || !journal.isVesting(address)) return undefined
  journal.setTime(Math.floor(Date.now() / 1000))
  return journal.getSpendable(address)
}

/** Executable EVM transactions to announce to subscribers at the end of this turn of the event loop. */
let admitted: PooledTransaction[] = []

/** Numbers batches: gossip drops a message that it has seen, so a repeated batch must differ from the first. */
let batches = Math.floor(Math.random() * 2 ** 32)

const toPeers = new TransactionBroadcastQueue({
  maxBytes: LIMITS.batchBytes - BATCH_OVERHEAD,
  maxCount: LIMITS.transactionsPerBatch,
  now: () => performance.now(),
  isPending: (hashKey) => pool.has(hashKey),
  hasPeers: () => getPeerCount(data.nodeState) > 0,
  announce: ({ transactions, isRepeated }) => {
    batches = (batches + 1) % 2 ** 32
    const batch = encodeBatch({ isRepeated, number: batches, transactions: transactions.map(keyBytes) })
    data.gossip.announcements.postMessage(batch, [batch.buffer])
  },
})

function notifyPeers(entry: PoolEntry): void {
  toPeers.add(entry)
  if (toPeers.waiting === 1) setTimeout(() => toPeers.flush(), BATCH_MS)
}

function announce(entry: PoolEntry): void {
  metrics.admittedTotal.inc()
  if (entry.isLocal) notifyPeers(entry)
  if (!isWatched(data.pendingWatch)) return
  if (entry.kind !== 'evm') return
  admitted.push(toPooledTransaction(entry))
  if (admitted.length > 1) return
  setImmediate(() => {
    announcements.postMessage(admitted)
    admitted = []
  })
}

const poolJournal =
  data.journalPath === undefined
    ? undefined
    : new PoolJournal({
        path: data.journalPath,
        genesisHash: data.chain.genesisHash,
        later: (work, ms) => void setTimeout(work, ms),
        log,
        onSkipped: () => metrics.journalSkippedTotal.inc(),
      })

const authorities = new RecoveredAuthorities(() => performance.now())

const head = view.chain.header(view.chain.headHeight)!
const { blockGasLimit, feeMarket } = runningParams(journal.native, data.chain)
const pool = new TransactionPool({
  chain: data.chain,
  limits: { acceptsUnprotected: data.acceptsUnprotected },
  head: {
    height: head.number,
    baseFeePerGas: nextBaseFee(head, feeMarket),
    minimumBaseFee: feeMarket.minimumBaseFee,
    gasLimit: blockGasLimit,
  },
  readAccount,
  authoritiesOf: ({ hash }) => authorities.get(hash),
  checkNativeState: (transaction, { height, baseFeePerGas }) => {
    if (++journalChecks % CHECKS_A_JOURNAL === 0) journal = new Journal(state)
    return checkNativeState(transaction, {
      world: journal,
      block: { height: height + 1, timeMs: Date.now() },
      baseFeePerGas,
    })
  },
  nativeGas: (transaction) => laneGas(transaction, AUTH_PARAMS.get(journal.native)),
  now: () => performance.now(),
  onAdmitted: announce,
  onDropped: (entry) => poolJournal?.remove(entry),
})

let selection: Iterator<PoolEntry, void, void> | undefined

const decoder = createTransactionDecoder(data.chain)

/** Decodes a transaction whose sender and hash the asking thread has computed. */
function decodeChecked({ raw, sender, hash }: PooledTransaction): Exclude<DecodedEntry, { readonly reason: string }> {
  const decoded = decoder.decode(raw, { hash, sender })
  if ('reason' in decoded) throw new Error(`an unchecked transaction: ${decoded.reason}`)
  return decoded
}

/** Admits a transaction whose sender and hash the asking thread has computed. */
const admitter =
  (isLocal: boolean) =>
  (transaction: PooledTransaction): Admission => {
    const { raw, hash } = transaction
    const startMs = traces === undefined ? 0 : epochMs()
    // Before it is decoded: peers send each transaction many times.
    if (pool.has(bytesKey(hash))) return refuseKnown(raw)
    const decoded = decodeChecked(transaction)
    const admission =
      'native' in decoded
        ? pool.addNative(decoded.native, isLocal)
        : pool.add(decoded.transaction, decoded.sender, isLocal)
    if (!admission.accepted && admission.needsAuthorities === true) {
      return authorities.ask(hash) ? admission : refuseKnown(raw)
    }
    traces?.checked(hash, startMs, isLocal, admission.accepted ? undefined : admission.reason)
    if (admission.accepted) setPoolEmpty(data.filling, false)
    else metrics.rejectedTotal.inc({ reason: reasonLabel(admission.reason) })
    return admission
  }

const admitLocal = admitter(true)

/** Admits a client's transaction. It is in the journal from then on. */
function admitOfClient(transaction: PooledTransaction): Admission {
  const admission = admitLocal(transaction)
  const entry = poolJournal && admission.accepted ? pool.entryOf(bytesKey(transaction.hash)) : undefined
  if (entry !== undefined) poolJournal?.add(entry)
  return admission
}

/** Admits a transaction that the journal had before the start. A peer may have sent it meanwhile. */
function admitJournaled(transaction: PooledTransaction): Admission {
  const admission = admitLocal(transaction)
  const entry = pool.entryOf(bytesKey(transaction.hash))
  if (entry !== undefined) poolJournal?.retain(entry)
  return admission
}

/** Records an unforeseen error. The transaction is refused, and the journal is dropped: the check may have left it half changed. */
function recordUnforeseen({ hash }: PooledTransaction, error: unknown): void {
  journal = new Journal(state)
  metrics.unforeseenTotal.inc({ place: 'pool' })
  log.error(
    { transaction: bytesToHex(hash), error },
    'unforeseen error while admitting a transaction: report this line with its stack',
  )
}

/** Offers the pool the transactions of its journal from before the start, in turn with those of clients and peers. */
async function readPoolJournal(known: PoolJournal): Promise<void> {
  const { left, right } = channel()
  admissionServer.serve(right, admitJournaled)
  const views = viewThreads.map(({ remote }) => remote)
  const counts = await readJournal({
    journal: known.open(),
    recoverSenders: createSenderRecovery(views),
    admit: connectBatchAdmissions(left, createAuthorityRecovery(views)),
    onError: (error) => log.error({ error }, "transactions of the pool's journal could not be offered to the pool"),
    signal: closing.signal,
  })
  left.close()
  if (!closing.signal.aborted) log.info(counts, "the pool's journal has been read")
}

const copies = createPoolCopies({ pool })

/** After a block, in turns of the event loop: ranks that the new base fee changes. */
function reorderPool(): void {
  if (pool.reorder()) setImmediate(reorderPool)
}

/** They recover senders of transactions in the journal. */
const viewThreads = Array.from({ length: data.viewThreads }, () => connectReplaceable<RecoveryService>())
const closing = new AbortController()

/** ports of the view and socket threads */
const clients = new Set<MessagePort>()

const service = {
  get: (hash: Hash) => pool.get(hash),
  // Of a sender whose transactions are all in blocks, it is the state's: the asking thread may not have that block yet.
  pendingNonce: (sender: Address) => pool.pendingNonce(sender) ?? readAccount(sender).nonce,
  status: () => pool.status(),
  check: (transaction: PooledTransaction): Admission => {
    const decoded = decodeChecked(transaction)
    return 'native' in decoded ? pool.checkNative(decoded.native) : pool.check(decoded.transaction, decoded.sender)
  },
  unconfirmed: (limit: number) => pool.unconfirmed(limit),

  /** Read them with `unpackTransactions`. */
  candidates: ({ isFirst, ...request }: CandidateRequest): Uint8Array => {
    if (isFirst || selection === undefined) selection = pool.candidates(request)
    const chosen: PackedInput[] = []
    while (chosen.length < CANDIDATES_PER_ANSWER) {
      const next = selection.next()
      if (next.done === true) break
      const { raw, hashKey, sender } = next.value
      chosen.push({ raw, hash: hashKey, sender })
    }
    return packTransactions(chosen)
  },
  /** Takes what `packHashes` made; read the answer with `unpackSenders`. */
  senders: (hashes: Uint8Array): Uint8Array => packSenders(hashes, (hash) => pool.senderOf(hash)),
  /** Takes what `packHashes` made. */
  dropUnexecutable: (hashes: Uint8Array): void => pool.dropUnexecutable(unpackHashes(hashes)),
  /** Takes what `packHashes` made. */
  postpone: (hashes: Uint8Array): void => pool.postpone(unpackHashes(hashes)),
  /** Takes what `packHeadUpdate` made, of a block that may not be in the database yet: the executor builds the next one. */
  headChanged: (packed: Uint8Array): void => {
    selection = undefined
    const update = unpackHeadUpdate(packed)
    for (const [address, account] of update.accounts) unwritten.set(bytesKey(address), account)
    pool.headChanged(update)
    reorderPool()
    traces?.included(update.height, update.included)
    setPoolEmpty(data.filling, pool.bytes === 0)
    toPeers.repeat()
    const evm = pool.status()
    const native = pool.nativeStatus()
    metrics.transactions.set({ state: 'pending' }, evm.pending + native.pending)
    metrics.transactions.set({ state: 'queued' }, evm.queued + native.queued)
    metrics.bytes.set(pool.bytes)
    metrics.journalBytes.set(poolJournal?.fileBytes ?? 0)
  },
  /** The block of the last `headChanged` is in the database. */
  headWritten: (): void => {
    followHead()
    unwritten.clear()
  },
  /** Serves a view or a socket thread, on a port for calls and one for transactions. */
  attach: (calls: MessagePort, admissions: MessagePort): void => {
    const reader = copies.createReader()
    const offered = { ...service, takeCopy: reader.takeCopy, releaseCopy: reader.releaseCopy }
    serve<PoolClientService>(calls, offered, { before: serveExecutor })
    calls.on('close', reader.close)
    admissionServer.serve(admissions, admitOfClient)
    for (const port of [calls, admissions]) {
      clients.add(port)
      port.on('close', () => clients.delete(port))
    }
  },
  /** Takes the port to a view thread, or to its successor. */
  connectView: (index: number, port: MessagePort): void => viewThreads[index]!.replace(port),
  /** Answered once the thread serves. */
  ready: (): void => undefined,
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    closing.abort()
    announcements.close()
    tracer?.close()
    for (const view of viewThreads) view.close()
    for (const port of [data.executor, ...clients, ...Object.values(data.gossip)]) port.close()
    await poolJournal?.close()
    await snapshot.close()
    await database.close()
    log.flush()
  },
}

/** The reason without the values in it: a label of a metric must have few values. */
function reasonLabel(reason: string): string {
  return /^[a-z()A-Z \-*+]+/.exec(reason)?.[0].trim() ?? 'other'
}

serve(control, service)
// Blocks are made from its answers: it is served before each message of a client or a peer, and within one.
const serveExecutor = serve(data.executor, service, { isUrgent: true })
const admissionServer = new AdmissionServer({
  before: serveExecutor,
  onError: recordUnforeseen,
  learn: (hash, packed) => authorities.put(hash, packed),
  now: () => performance.now(),
  defer: (work) => void setImmediate(work),
})
admissionServer.serve(data.gossip.admissions, admitter(false))

if (poolJournal !== undefined) void readPoolJournal(poolJournal)
collectWhenIdle()
// Now, because a killed process cannot write its compile cache at the end.
flushCompileCache()
