import { flushCompileCache } from 'node:module'
import { type MessagePort, workerData } from 'node:worker_threads'
import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import type { LogConfig } from '../../../config/config.ts'
import { listenAs, p2pListener } from '../../../config/listeners.ts'
import { VERSION } from '../../../config/version.ts'
import type { PackedInput } from '../../../mempool/packedMessages.ts'
import { databaseBlocks } from '../../../p2p/blockExchange.ts'
import { databaseOlderBlocks } from '../../../p2p/headerExchange.ts'
import type { ValidatorProof } from '../../../p2p/hello.ts'
import { databaseLightBlocks } from '../../../p2p/lightExchange.ts'
import type { PeerCounts } from '../../../p2p/limits.ts'
import type { PeerAddress } from '../../../p2p/peerAddress.ts'
import { Network } from '../../../p2p/peerNetwork.ts'
import type { PeerPolicy } from '../../../p2p/peerPolicy.ts'
import type { AdmissionCounts, HashedTransaction } from '../../../p2p/transactionGossip.ts'
import { checkKnownAnswers, PRIMITIVE_ANSWERS } from '../../../primitives/selfTest.ts'
import { snapshotsIn } from '../../../snapshot/offeredSnapshots.ts'
import { Database } from '../../../storage/database.ts'
import { createLogger } from '../../../telemetry/logger.ts'
import { createNetworkMetrics } from '../../../telemetry/metrics.ts'
import { epochMs, openTracer, type TracingChannel } from '../../../telemetry/spans.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import { endThread, type ThreadData } from '../../start/spawn.ts'
import { connectBatchAdmissions } from '../../wire/admissions.ts'
import { packBytes } from '../../wire/packedBytes.ts'
import { packOlderBlocks } from '../../wire/packedOlderBlocks.ts'
import { connect, connectReplaceable, serve } from '../../wire/port.ts'
import { type Gate, getPublishedHeight, type PublishedHeight, waitAtGate } from '../../wire/sharedMemory.ts'
import { type EvidenceService, type MainMessage, type NetworkCalls, NetworkReports } from '../main/networkTransport.ts'
import { type NodeCopies, publishNetInfo } from '../socket/cometNode.ts'
import { createAuthorityRecovery, createSenderExamination } from '../socket/viewPool.ts'
import type { ViewService } from '../view/viewThread.ts'
import { survivePeerErrors } from './peerErrors.ts'

/**
 * The network thread runs libp2p: connections, gossip, limits, and answers to peers that sync blocks. Consensus messages go to and
 * from the main thread, transactions to and from the pool.
 */
export interface NetworkData {
  /** directory of the database */
  readonly location: string
  /** opens when the database holds a chain */
  readonly databaseGate: Gate
  readonly chain: Pick<ChainConfig, 'chainId' | 'genesisHash'>
  readonly publishedHeight: PublishedHeight
  /** 32 bytes: the node key's seed */
  readonly seed: Uint8Array
  /** made with the validator's key, which stays in the main thread; undefined: the node has no such key */
  readonly validator: ValidatorProof | undefined
  readonly moniker: string
  readonly listen: PeerAddress
  readonly externalAddress: string | undefined
  readonly rpcAddress: string | undefined
  readonly policy: PeerPolicy
  readonly counts: PeerCounts
  readonly addressBookPath: string
  /** where the snapshots are that it offers to peers */
  readonly snapshotsPath: string
  readonly log: LogConfig
  /** messages of consensus and reports on peers: the other end is `createNetworkTransport`'s */
  readonly reports: MessagePort
  /** to the main thread, which checks evidence */
  readonly evidence: MessagePort
  /** to the pool: transactions of peers go there, those of clients come from there */
  readonly pool: { readonly admissions: MessagePort; readonly announcements: MessagePort }
  /** how many there are to recover senders; their ports come by `connectView` */
  readonly viewThreads: number
  /** where socket threads read the peers */
  readonly copies: NodeCopies
  readonly tracing: TracingChannel | undefined
}

export type NetworkService = typeof service

const { control, data } = workerData as ThreadData<NetworkData>
checkKnownAnswers(PRIMITIVE_ANSWERS)
const threadMetrics = createThreadMetrics('network')
await waitAtGate(data.databaseGate)
const database = await Database.open(data.location, { readOnly: true, onDamage: endThread })
const reports = new NetworkReports(data.reports)
const mainEvidence = connect<EvidenceService>(data.evidence)
const viewThreads = Array.from({ length: data.viewThreads }, () => connectReplaceable<ViewService>())
const remoteViews = viewThreads.map(({ remote }) => remote)
const recoverSenders = createSenderExamination(remoteViews)
const offerToPool = connectBatchAdmissions(data.pool.admissions, createAuthorityRecovery(remoteViews))
const tracer = openTracer(data.tracing)

/** Recovers the senders of the transactions and offers those with a valid signature to the pool. */
async function admit(transactions: readonly HashedTransaction[]): Promise<AdmissionCounts> {
  const startMs = tracer === undefined ? 0 : epochMs()
  const senders = await recoverSenders(transactions.map(({ raw }) => raw))
  const signed: (PackedInput & HashedTransaction)[] = []
  const invalid: HashedTransaction[] = []
  const unknown: HashedTransaction[] = []
  for (const [index, transaction] of transactions.entries()) {
    const sender = senders[index]
    if (sender === undefined) invalid.push(transaction)
    else if (sender === 'unknown') unknown.push(transaction)
    else signed.push({ ...transaction, sender })
  }
  const admitted = signed.length === 0 ? 0 : await offerToPool(signed)
  if (tracer !== undefined) {
    const attributes = { 'coind.batch': transactions.length }
    for (const { hash } of transactions) {
      if (tracer.follows(hash)) tracer.transaction(hash, 'p2p.receive', { startMs, attributes })
    }
  }
  return { admitted, refused: transactions.length - invalid.length - admitted, invalid, unknown }
}

const metrics = createNetworkMetrics(threadMetrics.registry)
const log = createLogger(data.log, { thread: 'network' }).child({ part: 'p2p' })

const peerErrors = survivePeerErrors({ metrics, log })
const network = await peerErrors.start(() =>
  listenAs(p2pListener(data.listen), () =>
    Network.start(
      {
        seed: data.seed,
        chainId: data.chain.chainId,
        genesisHash: data.chain.genesisHash,
        moniker: data.moniker,
        version: VERSION,
        listen: data.listen,
        externalAddress: data.externalAddress,
        rpcAddress: data.rpcAddress,
        validator: data.validator,
        policy: data.policy,
        counts: data.counts,
        addressBookPath: data.addressBookPath,
        blocks: databaseBlocks(database),
        snapshots: snapshotsIn(data.snapshotsPath, () => Date.now()),
        lightBlocks: databaseLightBlocks(database),
        olderBlocks: databaseOlderBlocks(database),
        height: () => getPublishedHeight(data.publishedHeight),
        unhandled: (session) => reports.unhandled(session),
        onDefect: peerErrors.onDefect,
        metrics,
        log,
        now: () => performance.now(),
      },
      {
        joined: (session) => reports.joined(session),
        left: (session) => reports.left(session),
        message: (session, body) => reports.message(session, body),
        evidence: (session, bytes) => mainEvidence.evidence(session.id, bytes),
        transactions: admit,
      },
    ),
  ),
)

const endCopies = publishNetInfo(data.copies, () => network.netInfo())

const calls: NetworkCalls = {
  fetchBlocks: async (peer, request) => {
    const { base, height, blocks } = await network.fetchBlocks(peer, request)
    return { base, height, packed: packBytes(blocks.flatMap(({ block, commit }) => [block, commit])) }
  },
  punish: (peer, what, reason) => network.punish(peer, what, reason),
  peers: () => network.peerIds(),
  fetchOlderBlocks: async (peer, asked) => packOlderBlocks(await network.fetchOlderBlocks(peer, asked)),
  publishEvidence: (bytes) => network.publishEvidence(bytes),
  setValidators: (addresses) => network.setValidators(addresses),
}

const service = {
  ...calls,
  /** Takes the port to a view thread, or to its successor. */
  connectView: (index: number, port: MessagePort): void => viewThreads[index]!.replace(port),
  /** Answered once the thread serves. */
  ready: (): void => undefined,
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    // First, so that no message of a peer makes a call to another thread any more.
    await network.close()
    tracer?.close()
    endCopies()
    for (const port of [data.evidence, ...Object.values(data.pool), ...viewThreads, data.reports]) port.close()
    await database.close()
    log.flush()
  },
}

data.reports.on('message', (message: MainMessage) => {
  if (typeof message === 'number') reports.handled(message)
  else for (const { handles, bytes, priority } of message) network.send(handles, bytes, priority)
})
data.pool.announcements.on('message', (batch: Uint8Array) => void network.publishTransactions(batch))
serve(control, service)

collectWhenIdle()
// Now, because a killed process cannot write its compile cache at the end.
flushCompileCache()
