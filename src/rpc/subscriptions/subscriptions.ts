import { decodeTransaction } from '../../chain/block/transaction.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import type { PooledTransaction } from '../../mempool/types.ts'
import { bytesToHex, toQuantity } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import type { NodeView } from '../../state/view.ts'
import { watchedRange } from '../eth/logs.ts'
import { formatHeader } from '../format/block.ts'
import { formatPendingTransaction } from '../format/transaction.ts'
import { monotonicMs } from '../jsonrpc/callScope.ts'
import type { Dispatcher } from '../jsonrpc/dispatch.ts'
import { RPC_CODES, RpcError, type RpcLog, rateLimited, serverError } from '../jsonrpc/errors.ts'
import { newIdentifier } from '../jsonrpc/identifier.ts'
import { type ParamReader, type RpcContext, readArguments, type SyncStatus } from '../jsonrpc/method.ts'
import { type Begin, type ContextLease, noSuchSubscription } from '../jsonrpc/runMethod.ts'
import { type LogFilter, readLogFilter } from '../params/logFilter.ts'
import { listReader, objectReader, readBool, readHash } from '../params/values.ts'
import type { ClientBudget } from '../transport/clientBudget.ts'
import type { DeliverNotification, SocketProtocol, SocketSubscriptions } from '../transport/socketProtocol.ts'
import { createLogSubscribers, resultEnd } from './logSubscribers.ts'
import {
  createNotificationWork,
  deliveryWork,
  type NotificationSubscriber,
  type NotificationWork,
} from './notificationWork.ts'
import { createReceiptSubscribers } from './receiptSubscribers.ts'

interface PendingTopic {
  readonly kind: 'newPendingTransactions'
  readonly full: boolean
}

/** The subject of a subscription. */
type Topic =
  | { readonly kind: 'newHeads' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | PendingTopic
  | { readonly kind: 'transactionReceipts'; readonly hashes: readonly Hash[] }
  | { readonly kind: 'syncing' }

/**
 * New heads and transactions, which a socket thread gets from other threads. Several blocks may
 * have been published between two heads.
 */
export interface HeadFeed {
  /** calls `listener` for each newest block, until the returned function is called; `view` may be read while it runs */
  onHead(listener: (view: NodeView) => void): () => void
  /** transactions that became executable */
  onPendingTransactions(listener: (transactions: readonly PooledTransaction[]) => void): void
}

/** All subscriptions of one socket thread. */
export interface SubscriptionHub {
  /**
   * Starts a subscription; the returned function ends it.
   * @throws RpcError when the addresses and topics of log subscriptions take too much memory, or their range of blocks is wrong
   */
  add(topic: Topic, subscriber: NotificationSubscriber): () => void
}

interface SubscriptionHubOptions {
  readonly feed: HeadFeed
  /**
   * the head that clients already know: the first notification of a subscription is about the block
   * after it
   */
  readonly headHeight: () => number
  /** on the newest blocks; `release` must follow */
  readonly lease: () => Pick<ContextLease, 'release'> & { readonly context: Pick<RpcContext, 'view'> }
  /** undefined when the node is not catching up */
  readonly syncing: () => SyncStatus | undefined
  /** called when a subscription to pending transactions starts (1) or ends (-1) */
  readonly watchPending?: (change: 1 | -1) => void
  /** bytes for the addresses and topics of log subscriptions */
  readonly budget: ClientBudget
  /** called when a subscriber is dropped because its client causes too much work */
  readonly onDropped?: () => void
  readonly log: Pick<RpcLog, 'error'>
}

/** The subscribers to one kind of event, each with the first block that it is notified of. */
type Subscribers = Map<NotificationSubscriber, number>

/** Memory of transactions that wait for notification; the oldest are dropped, as for filters. */
const MAX_WAITING_BYTES = 32 * 1_048_576
/** Memory of such a transaction besides its bytes. */
const WAITING_BYTES = 500
/**
 * Milliseconds after which clients get new shares of the work for notifications of transactions.
 */
const PENDING_SHARES_MS = 1_000

/**
 * Turns published blocks and transactions into notifications. Every height is notified once and in
 * order, even when several blocks were published at once. An event is formatted as JSON once for
 * all its subscribers, and other connections have their turn meanwhile. The hub follows heads while
 * it has subscribers to blocks.
 */
export function createSubscriptionHub(options: SubscriptionHubOptions): SubscriptionHub {
  const { feed, headHeight, lease, syncing, budget, onDropped, log } = options
  const logs = createLogSubscribers(budget)
  const receipts = createReceiptSubscribers(budget)
  const heads: Subscribers = new Map()
  const syncs: Subscribers = new Map()
  const pending = createPendingNotifier(options)
  let notifiedHeight = 0
  let newest = 0
  let wasSyncing = false
  /** changes of the node's sync status that still have to be notified */
  const syncingTexts: string[] = []
  let isNotifying = false
  /** subscriptions to events of blocks */
  let count = 0
  /** while heads are followed */
  let unfollow: (() => void) | undefined

  const notifyBlocks = async (): Promise<void> => {
    while (notifiedHeight < newest) {
      const height = ++notifiedHeight
      const { context, release } = lease()
      try {
        const work = createNotificationWork({ onDropped })
        await notifyHeader(heads, context.view.chain, height, work)
        await logs.notify(context.view.chain, height, work)
        await receipts.notify(context.view.chain, height, work)
      } finally {
        release()
      }
    }
  }
  const notifyAll = async (): Promise<void> => {
    isNotifying = true
    try {
      while (notifiedHeight < newest || syncingTexts.length > 0) {
        await notifyBlocks()
        const text = syncingTexts.shift()
        if (text !== undefined) await deliverAll(syncs, text, newest, createNotificationWork({ onDropped }))
      }
    } catch (error) {
      log.error({ error, height: notifiedHeight }, 'subscribers were not notified of a block')
    } finally {
      isNotifying = false
    }
  }
  const onHead = ({ chain }: NodeView): void => {
    newest = chain.headHeight
    if (count === 0 && !isNotifying) {
      unfollow?.()
      unfollow = undefined
      return
    }
    const status = syncing()
    if ((status !== undefined) !== wasSyncing) {
      wasSyncing = status !== undefined
      syncingTexts.push(syncingText(status))
    }
    if (!isNotifying) void notifyAll()
  }
  const follow = (): void => {
    if (unfollow !== undefined) return
    newest = headHeight()
    notifiedHeight = newest
    wasSyncing = syncing() !== undefined
    unfollow = feed.onHead(onHead)
  }

  const logRange = (filter: LogFilter): ReturnType<typeof watchedRange> => {
    const { context, release } = lease()
    try {
      return watchedRange(context.view.chain, filter)
    } finally {
      release()
    }
  }
  const addToBlocks = (topic: Exclude<Topic, PendingTopic>, subscriber: NotificationSubscriber): (() => void) => {
    const { from = 0, to } = topic.kind === 'logs' ? logRange(topic.filter) : {}
    follow()
    switch (topic.kind) {
      case 'logs': {
        const heights = { from: Math.max(from, newest + 1), to }
        const end = logs.add(topic.filter, heights, subscriber)
        if (end === undefined) throw new RpcError(RPC_CODES.limitExceeded, 'log subscriptions take too much memory')
        return end
      }
      case 'transactionReceipts': {
        const end = receipts.add(topic.hashes, newest + 1, subscriber)
        if (end === undefined) throw new RpcError(RPC_CODES.limitExceeded, 'receipt subscriptions take too much memory')
        return end
      }
      case 'newHeads':
        heads.set(subscriber, newest + 1)
        return () => heads.delete(subscriber)
      case 'syncing':
        syncs.set(subscriber, newest)
        return () => syncs.delete(subscriber)
    }
  }

  return {
    add: (topic, subscriber) => {
      if (topic.kind === 'newPendingTransactions') return pending.add(subscriber, topic.full)
      const end = addToBlocks(topic, subscriber)
      let hasEnded = false
      count++
      return () => {
        if (hasEnded) return
        hasEnded = true
        count--
        end()
      }
    },
  }
}

/** @param result JSON text */
async function deliverAll(
  subscribers: Subscribers,
  result: string,
  height: number,
  work: NotificationWork,
): Promise<void> {
  const end = resultEnd(result)
  // Subscriptions may end, and start for later blocks, while others have their turn: the iteration
  // covers these changes.
  for (const [subscriber, fromHeight] of subscribers) {
    if (fromHeight > height) continue
    if (work.spendFor(subscriber, deliveryWork(end.length))) subscriber.deliver(end)
    const otherTurns = work.pause()
    if (otherTurns !== undefined) await otherTurns
  }
}

async function notifyHeader(
  heads: Subscribers,
  chain: ChainReader,
  height: number,
  work: NotificationWork,
): Promise<void> {
  if (heads.size === 0) return
  const header = chain.header(height)
  const hash = chain.hash(height)
  if (header === undefined || hash === undefined) throw new Error(`block ${height} was published without its header`)
  await deliverAll(heads, JSON.stringify(formatHeader(header, hash)), height, work)
}

/** Subscriptions to the transactions that become executable. */
interface PendingNotifier {
  /** Starts a subscription; the returned function ends it. @param full whole transactions, not hashes */
  add(subscriber: NotificationSubscriber, full: boolean): () => void
}

function createPendingNotifier({
  feed,
  watchPending,
  onDropped,
  log,
}: Pick<SubscriptionHubOptions, 'feed' | 'watchPending' | 'onDropped' | 'log'>): PendingNotifier {
  const hashes: Subscribers = new Map()
  const bodies: Subscribers = new Map()
  const batches: { readonly transactions: readonly PooledTransaction[]; readonly bytes: number }[] = []
  let waitingBytes = 0
  let work = createNotificationWork({ onDropped })
  let sharedMs = monotonicMs()
  let isNotifying = false

  const notify = async ({ hash, raw, sender }: PooledTransaction): Promise<void> => {
    if (hashes.size > 0) await deliverAll(hashes, JSON.stringify(bytesToHex(hash)), 0, work)
    if (bodies.size === 0) return
    const text = JSON.stringify(formatPendingTransaction(decodeTransaction(raw), sender))
    await deliverAll(bodies, text, 0, work)
  }
  const notifyAll = async (): Promise<void> => {
    isNotifying = true
    try {
      for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
        waitingBytes -= batch.bytes
        for (const transaction of batch.transactions) {
          if (monotonicMs() - sharedMs >= PENDING_SHARES_MS) {
            work = createNotificationWork({ onDropped })
            sharedMs = monotonicMs()
          }
          await notify(transaction)
        }
      }
    } catch (error) {
      log.error({ error }, 'subscribers were not notified of new transactions')
    } finally {
      isNotifying = false
    }
  }
  feed.onPendingTransactions((transactions) => {
    if (hashes.size + bodies.size === 0) return
    const bytes = transactions.reduce((sum, { raw }) => sum + raw.length + WAITING_BYTES, 0)
    batches.push({ transactions, bytes })
    waitingBytes += bytes
    while (waitingBytes > MAX_WAITING_BYTES && batches.length > 1) waitingBytes -= batches.shift()!.bytes
    if (!isNotifying) void notifyAll()
  })

  return {
    add: (subscriber, full) => {
      const subscribers = full ? bodies : hashes
      subscribers.set(subscriber, 0)
      watchPending?.(1)
      return () => {
        if (subscribers.delete(subscriber)) watchPending?.(-1)
      }
    },
  }
}

/** Formats geth's downloader.SyncingResult, or false when the node has caught up. */
function syncingText(status: SyncStatus | undefined): string {
  if (status === undefined) return 'false'
  const { startingBlock, currentBlock, highestBlock } = status
  return JSON.stringify({
    syncing: true,
    status: {
      startingBlock: toQuantity(startingBlock),
      currentBlock: toQuantity(currentBlock),
      highestBlock: toQuantity(highestBlock),
    },
  })
}

/**
 * Serves JSON-RPC with `eth_subscribe` and `debug_subscribe` (geth: rpc/subscription.go).
 * @param maxSubscriptions of one socket
 */
export function createEthereumSocket(
  dispatcher: Dispatcher,
  hub: SubscriptionHub,
  maxSubscriptions: number,
): SocketProtocol {
  type BeginOf = (id: string) => Parameters<SocketSubscriptions['start']>[1]
  const start = (subscriptions: SocketSubscriptions, begin: BeginOf): string => {
    if (subscriptions.count >= maxSubscriptions) {
      throw new RpcError(RPC_CODES.limitExceeded, `too many subscriptions, want at most ${maxSubscriptions}`)
    }
    const id = newIdentifier()
    if (!subscriptions.start(id, begin(id))) throw new RpcError(RPC_CODES.limitExceeded, 'too many subscriptions')
    return id
  }
  const subscribe = (subscriptions: SocketSubscriptions, client: string, params: readonly unknown[]): string => {
    const topic = readTopic(params)
    return start(
      subscriptions,
      (id) => (deliver, drop) => hub.add(topic, { client, deliver: notifier('eth', id, deliver), drop }),
    )
  }
  const startOther = (subscriptions: SocketSubscriptions, namespace: string, begin: Begin): string =>
    start(subscriptions, (id) => (deliver, _, hasUnread) => {
      const notify = notifier(namespace, id, deliver)
      return begin({ deliver: (result) => notify(resultEnd(result)), hasUnread })
    })
  return {
    answer: (text, scope, subscriptions) =>
      dispatcher.answer(text, scope, {
        subscribe: (params) => subscribe(subscriptions, scope.client, params),
        start: (namespace, begin) => startOther(subscriptions, namespace, begin),
        unsubscribe: (id) => subscriptions.end(id),
      }),
    refuse: (text, seconds) => dispatcher.refuse(text, rateLimited(seconds)),
    // Without an answer the client does not have the ID.
    confirms: (answer, id) => typeof answer === 'string' && answer.includes(id),
  }
}

/**
 * Returns a function that makes notifications of results. It is separate, so that the returned
 * function does not keep a subscription's filter in memory.
 */
function notifier(namespace: string, id: string, deliver: DeliverNotification): NotificationSubscriber['deliver'] {
  const start = `{"jsonrpc":"2.0","method":"${namespace}_subscription","params":{"subscription":"${id}","result":`
  return (end) => deliver(start, end)
}

interface TopicReader {
  /** after the name */
  readonly params: readonly ParamReader<unknown>[]
  /** the name included */
  readonly required: number
  topic(args: readonly unknown[]): Topic
}

const readName: ParamReader<unknown> = (json) => json

/** geth: filters.TransactionReceiptsQuery. */
const readReceiptsQuery = objectReader('input', 'filters.input', {
  transactionHashes: listReader(readHash, '[]common.Hash'),
})

/** geth's bound (eth/filters/api.go). */
const MAX_TRANSACTION_HASHES = 200

const TOPICS: ReadonlyMap<string, TopicReader> = new Map<string, TopicReader>([
  ['newHeads', { params: [], required: 1, topic: () => ({ kind: 'newHeads' }) }],
  [
    'logs',
    { params: [readLogFilter], required: 2, topic: ([filter]) => ({ kind: 'logs', filter: filter as LogFilter }) },
  ],
  [
    'newPendingTransactions',
    {
      params: [readBool],
      required: 1,
      topic: ([full]) => ({ kind: 'newPendingTransactions', full: full === true }),
    },
  ],
  [
    'transactionReceipts',
    {
      params: [readReceiptsQuery],
      required: 1,
      topic: ([query]) => receiptsTopic(query as ReturnType<typeof readReceiptsQuery> | undefined),
    },
  ],
  ['syncing', { params: [], required: 1, topic: () => ({ kind: 'syncing' }) }],
])

/**
 * Reads the parameters of eth_subscribe; the first, which the caller has checked to be a string, is the name.
 * @throws RpcError with geth's text
 */
function readTopic(params: readonly unknown[]): Topic {
  const name = String(params[0])
  const reader = TOPICS.get(name)
  if (reader === undefined) throw noSuchSubscription(name, 'eth')
  const args = readArguments({ params: [readName, ...reader.params], required: reader.required }, params)
  return reader.topic(args.slice(1))
}

function receiptsTopic({ transactionHashes: hashes = [] }: ReturnType<typeof readReceiptsQuery> = {}): Topic {
  if (hashes.length > MAX_TRANSACTION_HASHES) {
    throw serverError('exceed max number of transaction hashes allowed per transactionReceipts subscription')
  }
  return { kind: 'transactionReceipts', hashes }
}
