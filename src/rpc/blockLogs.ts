import { bloomMayContain, type Log } from '../chain/receipt.ts'
import type { ChainReader } from '../chain/store.ts'
import { logMatcher } from './eth/logMatch.ts'
import { formatLog, type LogPlace } from './format/log.ts'
import type { LogFilter } from './params/logFilter.ts'

/** The logs of one block for many filters: read and written as JSON text at most once. */
export interface BlockLogs {
  /** JSON texts of the logs that match, in order. */
  matching(filter: Pick<LogFilter, 'addresses' | 'topics'>): string[]
}

interface PlacedLog {
  readonly log: Log
  readonly text: () => string
}

export function createBlockLogs(
  chain: Pick<ChainReader, 'header' | 'hash' | 'transactions' | 'receipts'>,
  height: number,
): BlockLogs {
  const header = chain.header(height)
  let logs: readonly PlacedLog[] | undefined
  return {
    matching: (filter) => {
      if (header === undefined || !bloomMayMatch(header.logsBloom, filter)) return []
      logs ??= placedLogs(chain, height, header.timestamp)
      const matches = logMatcher(filter)
      return logs.filter(({ log }) => matches(log)).map(({ text }) => text())
    },
  }
}

/** Whether a block with this bloom filter can hold a match; most blocks are ruled out without reading their receipts. */
function bloomMayMatch(bloom: Uint8Array, { addresses, topics }: Pick<LogFilter, 'addresses' | 'topics'>): boolean {
  return [addresses, ...topics].every(
    (alternatives) => alternatives.length === 0 || alternatives.some((item) => bloomMayContain(bloom, item)),
  )
}

function placedLogs(
  chain: Pick<ChainReader, 'hash' | 'transactions' | 'receipts'>,
  height: number,
  blockTimestamp: number,
): PlacedLog[] {
  const blockHash = chain.hash(height)
  const transactions = chain.transactions(height)
  const receipts = chain.receipts(height)
  if (blockHash === undefined || transactions === undefined || receipts === undefined) {
    throw new Error(`block ${height} was published without its receipts`)
  }
  const placed: PlacedLog[] = []
  receipts.forEach((receipt, transactionIndex) => {
    const { hash: transactionHash } = transactions[transactionIndex]!.transaction
    for (const log of receipt.logs) {
      const place = {
        blockNumber: height,
        blockHash,
        blockTimestamp,
        transactionHash,
        transactionIndex,
        logIndex: placed.length,
      }
      placed.push({ log, text: textOnce(log, place) })
    }
  })
  return placed
}

function textOnce(log: Log, place: LogPlace): () => string {
  let text: string | undefined
  return () => {
    text ??= JSON.stringify(formatLog(log, place))
    return text
  }
}
