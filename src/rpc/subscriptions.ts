import type { ChainReader } from '../chain/store.ts'
import { decodeTransaction } from '../chain/transaction.ts'
import type { PooledTransaction } from '../mempool/types.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import type { RpcLog } from './errors.ts'
import { createBlockLogs } from './eth/logs.ts'
import { formatHeader } from './format/block.ts'
import { toQuantity } from './format/json.ts'
import { formatPendingTransaction } from './format/transaction.ts'
import type { HeadFeed } from './headFeed.ts'
import type { SyncStatus } from './method.ts'
import type { Topic } from './subscriptionRequest.ts'

/** Takes the JSON text of one notification's result. */
export type Deliver = (result: string) => void

/** All subscriptions of one socket thread. */
export interface SubscriptionHub {
  /** Starts a subscription; the function that it gives ends it. */
  add(topic: Topic, deliver: Deliver): () => void
}

export interface SubscriptionHubOptions {
  readonly feed: HeadFeed
  /** the head that clients see already: the first notification is of the block after it */
  readonly headHeight: number
  /** undefined when the node is not catching up */
  readonly syncing: () => SyncStatus | undefined
  /** a subscription to pending transactions has come (1) or gone (-1) */
  readonly watchPending?: (change: 1 | -1) => void
  readonly log: Pick<RpcLog, 'error'>
}

interface Subscriber<K extends Topic['kind'] = Topic['kind']> {
  readonly topic: Extract<Topic, { kind: K }>
  readonly deliver: Deliver
}

type Subscribers = { readonly [K in Topic['kind']]: Set<Subscriber<K>> }

/**
 * Turns what the node publishes into notifications. Every height is told once and in order, also when several blocks
 * were published at once. An event is written as JSON once for all its subscribers.
 */
export function createSubscriptionHub(options: SubscriptionHubOptions): SubscriptionHub {
  const { feed, headHeight, syncing, log } = options
  const subscribers: Subscribers = {
    newHeads: new Set(),
    logs: new Set(),
    newPendingTransactions: new Set(),
    syncing: new Set(),
  }
  let toldHeight = headHeight
  let wasSyncing = syncing() !== undefined

  feed.onHead(({ chain }) => {
    try {
      while (toldHeight < chain.headHeight) notifyBlock(subscribers, chain, ++toldHeight)
      const status = syncing()
      if ((status !== undefined) === wasSyncing) return
      wasSyncing = status !== undefined
      tell(subscribers.syncing, syncingText(status))
    } catch (error) {
      log.error({ error, height: toldHeight }, 'the subscribers were not told of a block')
    }
  })
  feed.onPendingTransactions((transactions) => {
    try {
      notifyPending(subscribers.newPendingTransactions, transactions)
    } catch (error) {
      log.error({ error }, 'the subscribers were not told of new transactions')
    }
  })

  return {
    add: (topic, deliver) => {
      // Each set holds the subscribers of the topics that its key names.
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

/** A copy of the set is walked: a delivery may close a connection, which ends its subscriptions. */
function tell(subscribers: ReadonlySet<Pick<Subscriber, 'deliver'>>, text: string): void {
  for (const { deliver } of [...subscribers]) deliver(text)
}

function notifyBlock({ newHeads, logs }: Subscribers, chain: ChainReader, height: number): void {
  if (newHeads.size > 0) {
    const header = chain.header(height)
    const hash = chain.hash(height)
    if (header === undefined || hash === undefined) throw new Error(`block ${height} was published without its header`)
    tell(newHeads, JSON.stringify(formatHeader(header, hash)))
  }
  if (logs.size === 0) return
  const blockLogs = createBlockLogs(chain, height)
  for (const { topic, deliver } of [...logs]) for (const text of blockLogs.matching(topic.filter)) deliver(text)
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
      const text = JSON.stringify(bytesToHex(hash))
      for (const { deliver } of withHashes) deliver(text)
    }
    if (withBodies.length > 0) {
      const text = JSON.stringify(formatPendingTransaction(decodeTransaction(raw), sender))
      for (const { deliver } of withBodies) deliver(text)
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
