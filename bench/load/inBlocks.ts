import { setTimeout as sleep } from 'node:timers/promises'
import { batchCall, blockParameter, call, type Receipt } from './rpc.ts'

const POLL_MS = 20
/** milliseconds without a further transaction in a block */
const PATIENCE_MS = 30_000
const BLOCKS_AT_ONCE = 200

/** Returns the number of the next block. */
export async function nextBlock(url: string): Promise<number> {
  return Number(await call<string>(url, 'eth_blockNumber')) + 1
}

/**
 * Waits until the blocks from `firstBlock` on hold `count` transactions; returns the number of the last of these blocks.
 * @throws Error when no more come
 */
export async function untilIncluded(url: string, firstBlock: number, count: number): Promise<number> {
  let next = firstBlock
  let included = 0
  for (let deadline = Date.now() + PATIENCE_MS; included < count; ) {
    if (Date.now() > deadline) throw new Error(`${included} of ${count} transactions are in blocks`)
    const end = await nextBlock(url)
    const blocks = Array.from({ length: Math.min(end - next, BLOCKS_AT_ONCE) }, (_, index) => next + index)
    const found = await transactionCounts(url, blocks)
    next += blocks.length
    included += found
    if (found > 0) deadline = Date.now() + PATIENCE_MS
    if (included < count && blocks.length < BLOCKS_AT_ONCE) await sleep(POLL_MS)
  }
  if (included > count) throw new Error(`blocks hold ${included} transactions instead of ${count}`)
  return next - 1
}

/** Counts the transactions in all of the blocks. */
async function transactionCounts(url: string, blocks: readonly number[]): Promise<number> {
  if (blocks.length === 0) return 0
  const method = 'eth_getBlockTransactionCountByNumber'
  const counts = await batchCall<string>(
    url,
    blocks.map((number) => [method, [blockParameter(number)]] as const),
  )
  return counts.reduce((sum, count) => sum + Number(count), 0)
}

/** @throws Error when a transaction of these blocks failed */
export async function checkSucceeded(url: string, firstBlock: number, lastBlock: number): Promise<void> {
  for (let number = firstBlock; number <= lastBlock; number++) {
    const receipts = await call<readonly Receipt[]>(url, 'eth_getBlockReceipts', [blockParameter(number)])
    const failed = receipts.filter(({ status }) => status !== '0x1').length
    if (failed > 0) throw new Error(`${failed} of ${receipts.length} transactions of block ${number} failed`)
  }
}
