import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { decodeTransaction } from '../../../src/chain/block/transaction.ts'
import { createClientAddresses } from '../../../src/config/clientAddress.ts'
import { NAMESPACES } from '../../../src/config/namespaces.ts'
import { createViewPool } from '../../../src/node/roles/socket/viewPool.ts'
import { connect, serve } from '../../../src/node/wire/port.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { decodeRLP, encodeRLP } from '../../../src/primitives/rlp.ts'
import { createAnswerCache } from '../../../src/rpc/jsonrpc/answerCache.ts'
import { OWN_SCOPE } from '../../../src/rpc/jsonrpc/callScope.ts'
import { createDispatcher } from '../../../src/rpc/jsonrpc/dispatch.ts'
import { serverError } from '../../../src/rpc/jsonrpc/errors.ts'
import { createMethodTable, type RpcContext, type RpcMethod } from '../../../src/rpc/jsonrpc/method.ts'
import { createSocketMethods } from '../../../src/rpc/jsonrpc/methodTable.ts'
import { methodsOf } from '../../../src/rpc/jsonrpc/namespaces.ts'
import { createFilterStore } from '../../../src/rpc/subscriptions/filters.ts'
import { createSubscriptionHub } from '../../../src/rpc/subscriptions/subscriptions.ts'
import { createClientBudget } from '../../../src/rpc/transport/clientBudget.ts'
import { createRpcServer } from '../../../src/rpc/transport/http.ts'
import { createRateLimit } from '../../../src/rpc/transport/rateLimit.ts'
import { createMemoryPool, type MemoryPool } from '../../support/rpc/memoryPool.ts'
import { importSuite, SUITE_LIMITS, suiteContext } from './rpcCompatNode.ts'
import type { PoolService, SuiteViewData, SuiteViewService } from './viewThread.ts'

/** A node's RPC over the suite's chain. */
export interface SuiteServer {
  readonly url: string
  close(): Promise<void>
}

/**
 * Serves the suite's chain over HTTP as a node serves its own: this thread has the sockets, another one executes (`viewThread.ts`). There is
 * no consensus, and the pool takes everything.
 * @param directory with `genesis.json`, `chain.rlp` and `headfcu.json`
 */
export async function startSuiteServer(directory: string): Promise<SuiteServer> {
  const txs = createSuitePool()
  const [calls, pool] = [new MessageChannel(), new MessageChannel()]
  serve<PoolService>(pool.port1, txs)
  const workerData: SuiteViewData = { directory, calls: calls.port2, pool: pool.port2 }
  const worker = new Worker(new URL('./viewThread.ts', import.meta.url), {
    workerData,
    transferList: [calls.port2, pool.port2],
  })
  const views = createViewPool([connect<SuiteViewService>(calls.port1)], () => 0)
  const imported = await importSuite(directory)
  const context = suiteContext(imported, txs)
  const lease = (scope: typeof OWN_SCOPE = OWN_SCOPE) => ({ context: { ...context, scope }, release: () => undefined })
  const budget = createClientBudget({ total: 1e8 })
  const filters = createFilterStore({ criteria: budget })
  const namespaces = new Set(NAMESPACES)
  const methods = methodsOf(createSocketMethods({ filters, views }), namespaces)
  const server = await createRpcServer({
    dispatcher: createDispatcher({
      methods: createMethodTable([...methods.values()].map(takingBlobs)),
      namespaces,
      lease,
      views,
      answerCache: createAnswerCache(1_048_576),
      limits: SUITE_LIMITS,
      log: console,
    }),
    hub: createSubscriptionHub({
      feed: { onHead: () => () => undefined, onPendingTransactions: () => undefined },
      headHeight: () => imported.view.chain.headHeight,
      lease,
      syncing: () => undefined,
      budget,
      log: console,
    }),
    cosmos: undefined,
    compressor: undefined,
    probes: {
      health: () => ({ height: imported.view.chain.headHeight, ageMs: 0, catchingUp: false, peers: 0, lag: 0 }),
      silence: () => ({ thread: '', silentMs: 0 }),
    },
    host: '127.0.0.1',
    port: 0,
    clients: createClientAddresses([]),
    rateLimit: createRateLimit({ perSecond: 0 }),
    connectionRate: createRateLimit({ perSecond: 0 }),
    allowedOrigins: ['*'],
    requestBytes: SUITE_LIMITS.requestBytes,
    responseBytes: SUITE_LIMITS.responseBytes,
    log: console,
  })
  return {
    url: `http://127.0.0.1:${server.address.port}`,
    close: async () => {
      await server.close()
      calls.port1.close()
      pool.port1.close()
      await Promise.all([once(worker, 'exit'), worker.terminate()])
    },
  }
}

const BLOB_TRANSACTION = 0x03

/** geth has blob transactions in a pool of their own, which txpool_content does not show. */
function createSuitePool(): MemoryPool & PoolService {
  const pool = createMemoryPool()
  return {
    ...pool,
    transactions: async (request) => {
      const found = await pool.content(request)
      if ('refused' in found) throw new Error('a pool in memory refuses nothing')
      return [...found.pending].filter(({ raw }) => raw[0] !== BLOB_TRANSACTION)
    },
  }
}

/**
 * The suite's chain takes blobs, which no chain of this node does. What clients send is the transaction in a list with its blobs
 * (EIP-4844, networking); here the blobs are not looked at.
 */
function takingBlobs(method: RpcMethod): RpcMethod {
  if (method.name !== 'eth_sendRawTransaction') return method
  return {
    ...method,
    run: async (context, args) => {
      const raw = args[0] as Uint8Array
      if (raw[0] !== BLOB_TRANSACTION) return method.run(context, args)
      const [fields] = decodeRLP(raw.subarray(1)) as Parameters<typeof encodeRLP>[0][]
      return sendAnyType(context, Uint8Array.of(BLOB_TRANSACTION, ...encodeRLP(fields!)))
    },
  }
}

async function sendAnyType({ txs, decoder }: RpcContext, raw: Uint8Array): Promise<string> {
  const transaction = decodeTransaction(raw)
  const recovery = decoder.recoverSender(transaction)
  if ('reason' in recovery) throw serverError(recovery.reason)
  const admission = await txs.add({ raw, hash: transaction.hash, sender: recovery.sender, authorizations: 0 }, '')
  if (!admission.accepted) throw serverError(admission.reason)
  return bytesToHex(admission.hash)
}
