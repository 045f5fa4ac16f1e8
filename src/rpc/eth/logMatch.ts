import type { Log } from '../../chain/receipt.ts'
import { bytesKey } from '../../primitives/bytes.ts'
import type { LogFilter } from '../params/logFilter.ts'

/**
 * A test of logs against addresses and topics: any of the addresses, and in each position any of the topics. A position
 * without topics matches any, but the log must have it (geth: filters.filterLogs).
 */
export function logMatcher({ addresses, topics }: Pick<LogFilter, 'addresses' | 'topics'>): (log: Log) => boolean {
  const wantedAddresses = new Set(addresses.map(bytesKey))
  const wantedTopics = topics.map((alternatives) => new Set(alternatives.map(bytesKey)))
  return (log) => {
    if (wantedAddresses.size > 0 && !wantedAddresses.has(bytesKey(log.address))) return false
    if (wantedTopics.length > log.topics.length) return false
    return wantedTopics.every((wanted, position) => wanted.size === 0 || wanted.has(bytesKey(log.topics[position]!)))
  }
}
