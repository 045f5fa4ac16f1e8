import type { Log } from '../../chain/block/receipt.ts'
import { formatLog, type LogPosition } from '../format/receipt.ts'
import type { BlockReceipts } from './blockLookup.ts'
import type { LogText } from './logCache.ts'

/** Returns the logs of a block, in order. */
export function logTextsOf(block: BlockReceipts): readonly LogText[] {
  const { header, hash, transactions, receipts } = block
  const logs: LogText[] = []
  receipts.forEach((receipt, transactionIndex) => {
    for (const log of receipt.logs) {
      logs.push(
        logText(log, {
          blockNumber: header.number,
          blockHash: hash,
          blockTimestamp: header.timestamp,
          transactionHash: transactions[transactionIndex]!.transaction.hash,
          transactionIndex,
          logIndex: logs.length,
        }),
      )
    }
  })
  return logs
}

function logText(log: Log, position: LogPosition): LogText {
  let text: string | undefined
  return {
    log,
    text: () => {
      text ??= JSON.stringify(formatLog(log, position))
      return text
    },
  }
}
