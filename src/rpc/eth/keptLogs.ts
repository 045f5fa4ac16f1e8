import type { Log } from '../../chain/block/receipt.ts'
import type { ChainReader } from '../../chain/store/store.ts'
import { BoundedCache } from '../../primitives/boundedCache.ts'

/** A log, and its JSON text, which is made at most once. */
export interface LogText {
  readonly log: Log
  readonly text: () => string
}

/** The logs of the blocks that were looked into last. */
export interface KeptLogs {
  /** The logs of a block where they are kept: to read others takes a hundred times as long. */
  find(chain: Pick<ChainReader, 'headHeight' | 'oldestBlock'>, height: number): readonly LogText[] | undefined
  keep(height: number, logs: readonly LogText[]): void
}

/** What a block, a log and each of its topics take, with the text but for the log's data. */
const BLOCK_BYTES = 200
const LOG_BYTES = 1_000
const TOPIC_BYTES = 200

/** @param maxBytes of all blocks; none that takes more than an eighth of them is kept */
export function createKeptLogs(maxBytes: number): KeptLogs {
  const kept = new BoundedCache<readonly LogText[]>(maxBytes, (_, logs) => bytesOf(logs))
  return {
    find: ({ headHeight, oldestBlock }, height) =>
      height > headHeight || height < oldestBlock ? undefined : kept.get(String(height)),
    keep: (height, logs) => {
      if (bytesOf(logs) <= maxBytes / 8) kept.set(String(height), logs)
    },
  }
}

/** With the texts, whether they were made or not. */
function bytesOf(logs: readonly LogText[]): number {
  let bytes = BLOCK_BYTES
  for (const { log } of logs) bytes += LOG_BYTES + log.topics.length * TOPIC_BYTES + log.data.length * 3
  return bytes
}
