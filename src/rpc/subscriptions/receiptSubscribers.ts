import type { ChainReader } from '../../chain/store/chainReader.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import type { Hash } from '../../primitives/hash.ts'
import { formatReceipt } from '../format/receipt.ts'
import type { ClientBudget } from '../transport/clientBudget.ts'
import type { NotificationEnd } from '../transport/socketProtocol.ts'
import { resultEnd } from './logSubscribers.ts'
import { deliveryWork, type NotificationSubscriber, type NotificationWork } from './notificationWork.ts'

/** All subscriptions to receipts of one socket thread. */
export interface ReceiptSubscribers {
  /**
   * Starts a subscription; the returned function ends it. undefined: its hashes exceed the memory
   * budget.
   * @param hashes of the transactions whose receipts are wanted; none: all
   * @param fromHeight the first block that the subscriber is notified of
   */
  add(hashes: readonly Hash[], fromHeight: number, subscriber: NotificationSubscriber): (() => void) | undefined
  /**
   * Delivers the receipts of a block: each subscriber gets one notification with the receipts that
   * it wants, in their order.
   * @param chain read at once, not after a pause
   * @throws Error (rejects) when the block has no header or no receipts
   */
  notify(chain: ReceiptReader, height: number, work: NotificationWork): Promise<void>
}

type ReceiptReader = Pick<ChainReader, 'header' | 'hash' | 'transactions' | 'receipts'>

interface Subscriber {
  readonly target: NotificationSubscriber
  readonly fromHeight: number
  hasEnded: boolean
}

/** Memory of a subscription, and of one of its hashes. */
const SUBSCRIBER_BYTES = 500
const HASH_BYTES = 400
/** Work to check whether a receipt is wanted, and to format it as JSON. */
const LOOK_WORK = 1
const RECEIPT_WORK = 60

/**
 * Creates the receipt subscriptions of a socket thread.
 * @param budget bytes for the hashes, returned when a subscription ends
 */
export function createReceiptSubscribers(budget: ClientBudget): ReceiptSubscribers {
  const ofAll = new Set<Subscriber>()
  const ofHash = new Map<string, Set<Subscriber>>()

  const end = (subscriber: Subscriber, keys: readonly string[]): void => {
    subscriber.hasEnded = true
    ofAll.delete(subscriber)
    for (const key of keys) {
      const sharing = ofHash.get(key)
      sharing?.delete(subscriber)
      if (sharing?.size === 0) ofHash.delete(key)
    }
  }

  return {
    add: (hashes, fromHeight, target) => {
      const keys = [...new Set(hashes.map(bytesKey))]
      const bytes = SUBSCRIBER_BYTES + keys.length * HASH_BYTES
      if (!budget.take(target.client, bytes)) return undefined
      const subscriber = { target, fromHeight, hasEnded: false }
      if (keys.length === 0) ofAll.add(subscriber)
      for (const key of keys) {
        const sharing = ofHash.get(key)
        if (sharing === undefined) ofHash.set(key, new Set([subscriber]))
        else sharing.add(subscriber)
      }
      return () => {
        if (subscriber.hasEnded) return
        end(subscriber, keys)
        budget.giveBack(target.client, bytes)
      }
    },
    notify: async (chain, height, work) => {
      if (ofAll.size + ofHash.size === 0) return
      const header = chain.header(height)
      const hash = chain.hash(height)
      const transactions = chain.transactions(height)
      const receipts = chain.receipts(height)
      if (header === undefined || hash === undefined || transactions === undefined || receipts === undefined) {
        throw new Error(`block ${height} was published without its receipts`)
      }
      const all: string[] = []
      const wanted = new Map<Subscriber, string[]>()
      let firstLogIndex = 0
      for (const [index, receipt] of receipts.entries()) {
        const signed = transactions[index]!
        const takers = ofHash.get(bytesKey(signed.transaction.hash))
        work.spend(LOOK_WORK)
        if (ofAll.size > 0 || takers !== undefined) {
          const text = JSON.stringify(formatReceipt(receipt, signed, { header, hash, index, firstLogIndex }))
          work.spend(RECEIPT_WORK + deliveryWork(text.length))
          all.push(text)
          for (const taker of takers ?? []) {
            const texts = wanted.get(taker)
            if (texts === undefined) wanted.set(taker, [text])
            else texts.push(text)
          }
        }
        firstLogIndex += receipt.logs.length
        await work.pause()
      }
      if (all.length > 0 && ofAll.size > 0) {
        const result = resultEnd(`[${all.join(',')}]`)
        for (const subscriber of ofAll) await deliver(subscriber, result, height, work)
      }
      /** many may wait for the same transaction */
      const results = new Map<string, NotificationEnd>()
      for (const [subscriber, texts] of wanted) {
        const list = texts.join(',')
        const result = results.get(list) ?? resultEnd(`[${list}]`)
        results.set(list, result)
        await deliver(subscriber, result, height, work)
      }
    },
  }
}

/** Subscriptions may have ended, or started for later blocks, while others had their turn. */
async function deliver(
  { target, fromHeight, hasEnded }: Subscriber,
  result: NotificationEnd,
  height: number,
  work: NotificationWork,
): Promise<void> {
  if (hasEnded || fromHeight > height) return
  if (work.spendFor(target, deliveryWork(result.length))) target.deliver(result)
  await work.pause()
}
