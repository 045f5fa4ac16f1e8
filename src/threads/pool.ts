import { flushCompileCache } from 'node:module'
import { BroadcastChannel, type MessagePort, workerData } from 'node:worker_threads'
import type { CandidateRequest } from '../app/candidateSource.ts'
import { accountState } from '../app/publisher.ts'
import { nextBaseFee } from '../chain/baseFee.ts'
import type { ChainConfig } from '../chain/chainConfig.ts'
import { decodeTransaction } from '../chain/transactionCodec.ts'
import { recoverAuthority } from '../evm/authorization.ts'
import { unpackHeadUpdate } from '../mempool/packedHeadUpdate.ts'
import { type PackedInput, packTransactions } from '../mempool/packedTransactions.ts'
import { TransactionPool } from '../mempool/pool.ts'
import { type PoolEntry, toPooledTransaction } from '../mempool/poolEntry.ts'
import type { Admission, PooledTransaction } from '../mempool/types.ts'
import type { Address } from '../primitives/address.ts'
import type { Hash } from '../primitives/hash.ts'
import { createViewCaches, openView } from '../state/openView.ts'
import { Database } from '../storage/database.ts'
import { createPoolMetrics } from '../telemetry/metrics/poolMetrics.ts'
import { createThreadMetrics } from '../telemetry/threadMetrics.ts'
import { serveAdmissions } from './admissions.ts'
import { type Gate, waitAtGate } from './gate.ts'
import { isWatched, type PendingWatch } from './pendingWatch.ts'
import { serve } from './port.ts'
import type { ThreadData } from './spawn.ts'

/** Transactions that one answer to the block builder holds. */
const CANDIDATES_PER_ANSWER = 512

export interface PoolData {
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
  readonly chain: ChainConfig
  /** ports of the threads that use the pool */
  readonly clients: readonly MessagePort[]
  /** ports of those that offer transactions */
  readonly admissions: readonly MessagePort[]
  /** name of the broadcast channel for transactions that became executable */
  readonly pendingChannel: string
  /** whether anybody wants them */
  readonly pendingWatch: PendingWatch
}

export type PoolService = typeof service

const { control, data } = workerData as ThreadData<PoolData>
const threadMetrics = createThreadMetrics('pool')
const metrics = createPoolMetrics(threadMetrics.registry)
waitAtGate(data.databaseGate)
const database = await Database.open(data.location, { readOnly: true })
const announcements = new BroadcastChannel(data.pendingChannel)

const caches = createViewCaches()
let snapshot = database.snapshot()
let view = openView(snapshot, caches)
let state = view.stateAt(view.chain.headHeight)

function followHead(): void {
  const former = snapshot
  snapshot = database.snapshot()
  view = openView(snapshot, caches)
  state = view.stateAt(view.chain.headHeight)
  void former.close()
}

/** Transactions to announce at the end of this turn of the event loop. */
let admitted: PooledTransaction[] = []

function announce(entry: PoolEntry): void {
  metrics.admittedTotal.inc()
  if (!isWatched(data.pendingWatch)) return
  admitted.push(toPooledTransaction(entry))
  if (admitted.length > 1) return
  setImmediate(() => {
    announcements.postMessage(admitted)
    admitted = []
  })
}

const head = view.chain.header(view.chain.headHeight)!
const pool = new TransactionPool({
  chain: data.chain,
  head: {
    height: head.number,
    baseFeePerGas: nextBaseFee(head, data.chain.feeMarket),
    gasLimit: head.gasLimit,
  },
  readAccount: (address) => accountState(state.getAccount(address), state),
  authoritiesOf: ({ authorizationList }) =>
    authorizationList.flatMap((authorization) => recoverAuthority(authorization) ?? []),
  now: () => performance.now(),
  onAdmitted: announce,
})

let selection: Iterator<PoolEntry, void, void> | undefined

/** The sender was recovered and the hash made by the thread that asks. */
function admit({ raw, sender, hash }: PooledTransaction): Admission {
  const admission = pool.add(decodeTransaction(raw, hash), sender)
  if (!admission.accepted) metrics.rejectedTotal.inc({ reason: reasonLabel(admission.reason) })
  return admission
}

const service = {
  get: (hash: Hash) => pool.get(hash),
  pendingNonce: (sender: Address) => pool.pendingNonce(sender),
  status: () => pool.status(),
  content: () => pool.content(),
  contentFrom: (sender: Address) => pool.contentFrom(sender),

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
  /** Takes what `packHeadUpdate` made. */
  headChanged: (update: Uint8Array): void => {
    selection = undefined
    followHead()
    pool.headChanged(unpackHeadUpdate(update))
    const { pending, queued } = pool.status()
    metrics.transactions.set({ state: 'pending' }, pending)
    metrics.transactions.set({ state: 'queued' }, queued)
    metrics.bytes.set(pool.bytes)
  },
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    announcements.close()
    for (const port of [...data.clients, ...data.admissions]) port.close()
    await snapshot.close()
    await database.close()
  },
}

/** The text up to its first value: labels must stay few. */
function reasonLabel(reason: string): string {
  return /^[a-z()A-Z \-*+]+/.exec(reason)?.[0].trim() ?? 'other'
}

serve(control, service)
for (const client of data.clients) serve(client, service)
for (const port of data.admissions) serveAdmissions(port, admit)

// At its end a killed process keeps nothing of what it compiled.
flushCompileCache()
