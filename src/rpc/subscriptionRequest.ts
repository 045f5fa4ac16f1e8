import { invalidParams } from './errors.ts'
import { type ParamReader, readArguments } from './method.ts'
import { type LogFilter, readLogFilter } from './params/logFilter.ts'
import { readBool } from './params/values.ts'
import { noSuchSubscription } from './runMethod.ts'

/** What a client wants to be told of. */
export type Topic =
  | { readonly kind: 'newHeads' }
  | { readonly kind: 'logs'; readonly filter: LogFilter }
  | { readonly kind: 'newPendingTransactions'; readonly full: boolean }
  | { readonly kind: 'syncing' }

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
 * @throws RpcError in geth's words
 */
export function readTopic(params: readonly unknown[]): Topic {
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
