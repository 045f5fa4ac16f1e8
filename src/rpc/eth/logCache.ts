import type { Log } from '../../chain/block/receipt.ts'
import type { ChainReader } from '../../chain/store/chainReader.ts'
import { BoundedCache } from '../../primitives/boundedCache.ts'

/** A log, and its JSON text, which is made at most once. */
export interface LogText {
  readonly log: Log
  readonly text: () => string
}

/** Cache of the logs of blocks that were read last. */
export interface LogCache {
  /** Returns the cached logs of a block; reading uncached ones takes a hundred times as long. */
  find(chain: Pick<ChainReader, 'headHeight' | 'oldestBlock'>, height: number): readonly LogText[] | undefined
  add(height: number, logs: readonly LogText[]): void
}

/**
 * Memory of a block, of a log and of each of its topics, including the text but without the log's
 * data.
 */
const BLOCK_BYTES = 200
const LOG_BYTES = 1_000
const TOPIC_BYTES = 200

/**
 * Creates the cache.
 * @param maxBytes of all blocks; a block that takes more than an eighth is not cached
 */
export function createLogCache(maxBytes: number): LogCache {
  const blocks = new BoundedCache<readonly LogText[]>(maxBytes, (_, logs) => bytesOf(logs))
  return {
    find: ({ headHeight, oldestBlock }, height) =>
      height > headHeight || height < oldestBlock ? undefined : blocks.get(String(height)),
    add: (height, logs) => {
      if (bytesOf(logs) <= maxBytes / 8) blocks.set(String(height), logs)
    },
  }
}

/** Returns the memory of logs with their texts, whether these were made or not. */
function bytesOf(logs: readonly LogText[]): number {
  let bytes = BLOCK_BYTES
  for (const { log } of logs) bytes += LOG_BYTES + log.topics.length * TOPIC_BYTES + log.data.length * 3
  return bytes
}
