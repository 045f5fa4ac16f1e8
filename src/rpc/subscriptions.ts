import { randomBytes } from 'node:crypto'
import type { ChainReader } from '../chain/store.ts'
import { decodeTransaction } from '../chain/transaction.ts'
import type { PooledTransaction } from '../mempool/types.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import type { NodeView } from '../state/view.ts'
import type { ClientBudget } from './clientBudget.ts'
import type { Dispatcher } from './dispatch.ts'
import { invalidParams, RPC_CODES, RpcError, type RpcLog, rateLimited } from './errors.ts'
import { formatHeader } from './format/block.ts'
import { toQuantity } from './format/json.ts'
import { formatPendingTransaction } from './format/transaction.ts'
import { createLogSubscribers, type DeliverResult, resultEnd } from './logSubscribers.ts'
import { type ParamReader, readArguments, type SyncStatus } from './method.ts'
import { type LogFilter, readLogFilter } from './params/logFilter.ts'
import { readBool } from './params/values.ts'
import { noSuchSubscription } from './runMethod.ts'
import type { DeliverNotification, SocketProtocol, SocketSubscriptions } from './websocket.ts'

/** What a client subscribes to. */
type Topic =
  | { readonly kind: 'newHeads' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | { readonly kind: 'newPendingTransactions'; readonly full: boolean }
  | { readonly kind: 'syncing' }

/** New heads and transactions, which a socket thread gets from other threads. Several blocks may have been published between two heads. */
export interface HeadFeed {
  /** `view` may be read while the listener runs. */
  onHead(listener: (view: NodeView) => void): void
  /** transactions that became executable */
  onPendingTransactions(listener: (transactions: readonly PooledTransaction[]) => void): void
}

/** All subscriptions of one socket thread. */
export interface SubscriptionHub {
  /**
   * Starts a subscription of `client`; the returned function ends it.
   * @throws RpcError when the addresses and topics of log subscriptions take too much memory
   */
  add(topic: Topic, client: string, deliver: DeliverResult): () => void
}

interface SubscriptionHubOptions {
  readonly feed: HeadFeed
  /** the head that clients see already: the first notification is of the block after it */
  readonly headHeight: number
  /** undefined when the node is not catching up */
  readonly syncing: () => SyncStatus | undefined
  /** called when a subscription to pending transactions starts (1) or ends (-1) */
  readonly watchPending?: (change: 1 | -1) => void
  /** bytes for the addresses and topics of log subscriptions */
  readonly budget: ClientBudget
  readonly log: Pick<RpcLog, 'error'>
}

interface Subscriber<K extends Topic['kind'] = Topic['kind']> {
  readonly topic: Extract<Topic, { kind: K }>
  readonly deliver: DeliverResult
}

/** Log subscriptions are kept apart: `LogSubscribers`. */
type Subscribers = { readonly [K in Exclude<Topic['kind'], 'logs'>]: Set<Subscriber<K>> }

/**
 * Turns what the node publishes into notifications. Every height is notified once and in order, also when several blocks
 * were published at once. An event is written as JSON once for all its subscribers.
 */
export function createSubscriptionHub(options: SubscriptionHubOptions): SubscriptionHub {
  const { feed, headHeight, syncing, budget, log } = options
  const logs = createLogSubscribers(budget)
  const subscribers: Subscribers = {
    newHeads: new Set(),
    newPendingTransactions: new Set(),
    syncing: new Set(),
  }
  let notifiedHeight = headHeight
  let wasSyncing = syncing() !== undefined

  feed.onHead(({ chain }) => {
    try {
      while (notifiedHeight < chain.headHeight) {
        notifyHeader(subscribers.newHeads, chain, ++notifiedHeight)
        logs.notify(chain, notifiedHeight)
      }
      const status = syncing()
      if ((status !== undefined) === wasSyncing) return
      wasSyncing = status !== undefined
      deliverAll(subscribers.syncing, syncingText(status))
    } catch (error) {
      log.error({ error, height: notifiedHeight }, 'subscribers were not notified of a block')
    }
  })
  feed.onPendingTransactions((transactions) => {
    try {
      notifyPending(subscribers.newPendingTransactions, transactions)
    } catch (error) {
      log.error({ error }, 'subscribers were not notified of new transactions')
    }
  })

  return {
    add: (topic, client, deliver) => {
      if (topic.kind === 'logs') {
        const end = logs.add(topic.filter, client, deliver)
        if (end === undefined) throw new RpcError(RPC_CODES.limitExceeded, 'log subscriptions take too much memory')
        return end
      }
      // The set of a kind holds subscribers of topics of that kind.
      const set = subscribers[topic.kind] as Set<Subscriber>
      const subscriber = { topic, deliver }
      set.add(subscriber)
      const isPending = topic.kind === 'newPendingTransactions'
      if (isPending) options.watchPending?.(1)
      return () => {
        if (set.delete(subscriber) && isPending) options.watchPending?.(-1)
      }
    },
  }
}

/** Iterates over a copy: a delivery may close a connection, which ends its subscriptions. */
function deliverAll(subscribers: ReadonlySet<Pick<Subscriber, 'deliver'>>, text: string): void {
  const end = resultEnd(text)
  for (const { deliver } of [...subscribers]) deliver(end)
}

function notifyHeader(newHeads: ReadonlySet<Subscriber<'newHeads'>>, chain: ChainReader, height: number): void {
  if (newHeads.size === 0) return
  const header = chain.header(height)
  const hash = chain.hash(height)
  if (header === undefined || hash === undefined) throw new Error(`block ${height} was published without its header`)
  deliverAll(newHeads, JSON.stringify(formatHeader(header, hash)))
}

function notifyPending(
  subscribers: ReadonlySet<Subscriber<'newPendingTransactions'>>,
  transactions: readonly PooledTransaction[],
): void {
  if (subscribers.size === 0) return
  const all = [...subscribers]
  const withHashes = all.filter(({ topic }) => !topic.full)
  const withBodies = all.filter(({ topic }) => topic.full)
  for (const { hash, raw, sender } of transactions) {
    if (withHashes.length > 0) {
      const end = resultEnd(JSON.stringify(bytesToHex(hash)))
      for (const { deliver } of withHashes) deliver(end)
    }
    if (withBodies.length > 0) {
      const end = resultEnd(JSON.stringify(formatPendingTransaction(decodeTransaction(raw), sender)))
      for (const { deliver } of withBodies) deliver(end)
    }
  }
}

/** geth: downloader.SyncingResult, or false when the node has caught up. */
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

/** JSON-RPC with `eth_subscribe` (geth: rpc/subscription.go). @param maxSubscriptions of one socket */
export function createEthereumSocket(
  dispatcher: Dispatcher,
  hub: SubscriptionHub,
  maxSubscriptions: number,
): SocketProtocol {
  const subscribe = (subscriptions: SocketSubscriptions, client: string, params: readonly unknown[]): string => {
    const topic = readTopic(params)
    if (subscriptions.count >= maxSubscriptions) {
      throw new RpcError(RPC_CODES.limitExceeded, `too many subscriptions, want at most ${maxSubscriptions}`)
    }
    const id = `0x${randomBytes(16).toString('hex')}`
    const hasStarted = subscriptions.start(id, (deliver) => hub.add(topic, client, notifier(id, deliver)))
    if (!hasStarted) throw new RpcError(RPC_CODES.limitExceeded, 'too many subscriptions')
    return id
  }
  return {
    answer: (text, scope, subscriptions) =>
      dispatcher.answer(text, scope, {
        subscribe: (params) => subscribe(subscriptions, scope.client, params),
        unsubscribe: (id) => subscriptions.end(id),
      }),
    refuse: (text, seconds) => dispatcher.refuse(text, rateLimited(seconds)),
    // Without an answer the client cannot have the ID.
    confirms: (answer, id) => answer?.includes(id) === true,
  }
}

/** Makes notifications of results. A function of its own, so that what it returns does not keep a subscription's filter in memory. */
function notifier(id: string, deliver: DeliverNotification): DeliverResult {
  const start = `{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"${id}","result":`
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

const TOPICS: ReadonlyMap<string, TopicReader> = new Map<string, TopicReader>([
  ['newHeads', { params: [], required: 1, topic: () => ({ kind: 'newHeads' }) }],
  ['logs', { params: [readLogFilter], required: 2, topic: ([filter]) => logsTopic(filter as LogFilter) }],
  [
    'newPendingTransactions',
    {
      params: [readBool],
      required: 1,
      topic: ([full]) => ({ kind: 'newPendingTransactions', full: full === true }),
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

/** New logs only: a range of blocks is not looked at. */
function logsTopic(filter: LogFilter): Topic {
  if (filter.fromBlock === 'pending' || filter.toBlock === 'pending') {
    throw invalidParams('pending logs are not supported')
  }
  return { kind: 'logs', filter }
}
