import { equalBytes, hexToBytes } from '../../src/primitives/bytes.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import type { IndexDatabase, IndexWriter, Row } from '../database/indexDatabase.ts'
import type { TableName } from '../database/schema.ts'
import type { EthereumBlock, Hex, Status } from '../node/answers.ts'
import { type NodeClient, NodeError, toQuantity } from '../node/nodeClient.ts'
import { BalanceBook } from './balances.ts'
import { fetchBlocks } from './fetchBlocks.ts'
import { applyGovernance } from './governance.ts'
import { oldestStateHeight, writeOpeningBalances } from './openingBalances.ts'
import { type BlockRows, readBlock } from './readBlock.ts'
import { addStatistics } from './statistics.ts'

/** The index is of another chain than the node's, or the node cannot give what comes next. The message is for the operator. */
class ChainMismatch extends Error {
  override readonly name = 'ChainMismatch'
}

/** What an ingest tells after each batch that is stored. */
export interface IndexedBlocks {
  /** the newest block in the index */
  readonly height: number
  /** the newest block of the node, as far as it is known */
  readonly nodeHeight: number
  readonly blocks: number
  readonly transactions: number
}

interface IngestOptions {
  readonly database: IndexDatabase
  readonly node: NodeClient
  readonly logger: Pick<Logger, 'info' | 'warn'>
  readonly stop: AbortSignal
  /** Resolves when the node may have a new block, at the latest after a second or so. */
  readonly nextHead: () => Promise<void>
  readonly onIndexed: (indexed: IndexedBlocks) => void
}

/** Blocks asked for at once: few at first, then as many as hold about {@link BATCH_TRANSACTIONS}. */
const MAX_BATCH_BLOCKS = 50
const BATCH_TRANSACTIONS = 1_500
/** Batches that are fetched while one is written. */
const AHEAD = 2
const RETRY_MS = 1_000

/**
 * Follows the node: writes each of its blocks into the index, once, in the order of heights. Blocks of a BFT chain are final, so nothing
 * is ever taken back. Each batch is one transaction of the database, with the height that the index has then: whatever is killed, the
 * next start goes on behind the last batch that was stored.
 * @throws ChainMismatch; whatever the database throws
 */
export async function ingest(options: IngestOptions): Promise<void> {
  const { node, stop, nextHead } = options
  let at = await retry(options, () => begin(options))
  const book = new BalanceBook()
  let isWaiting = false
  while (!stop.aborted) {
    const head = await retry(options, () => latestHeight(node))
    if (head <= at.height) {
      if (!isWaiting && head < at.height)
        options.logger.warn({ height: at.height, nodeHeight: head }, 'the node is behind the index')
      isWaiting = true
      await nextHead()
      continue
    }
    isWaiting = false
    at = { ...at, height: await catchUp(options, book, at, head) }
  }
}

interface Begun {
  readonly height: number
  readonly openingHeight: number
}

/**
 * Finds where to go on. An empty index begins with the oldest block that the node has.
 * @throws ChainMismatch when the index is of another chain
 */
async function begin({ database, node, logger }: IngestOptions): Promise<Begun> {
  const [[status], [chainId]] = await Promise.all([
    node.comet([{ method: 'status', params: {} }]) as Promise<readonly [Status]>,
    node.ethereum([{ method: 'eth_chainId', params: [] }]) as Promise<readonly [Hex]>,
  ])
  const { network } = status.node_info
  const earliest = Math.max(Number(status.sync_info.earliest_block_height), 1)
  const latest = Number(status.sync_info.latest_block_height)
  const own = await database.queries.selectFrom('ingest').selectAll().executeTakeFirst()
  if (own === undefined) {
    if (latest < earliest) throw new NodeError('the node has no block yet')
    const openingHeight = await database.write(async (writer) => {
      // State that a pruning node drops while it is read would stop this: it begins anew then, with the state that is the oldest.
      const oldest = earliest === 1 ? 0 : await oldestStateHeight(node, earliest - 1, latest)
      const opening = await writeOpeningBalances(writer, node, earliest, oldest)
      await writer.insert('ingest', [[1, network, Number(chainId), earliest, earliest - 1, opening]])
      return opening
    })
    logger.info({ chainId: network, first: earliest, openingHeight }, 'a new index')
    return { height: earliest - 1, openingHeight }
  }
  if (own.chain_id !== network || own.evm_chain_id !== Number(chainId)) {
    throw new ChainMismatch(
      `the index is of the chain ${own.chain_id} and the node of ${network}: name another database with EXPLORER_DATABASE, or another node with EXPLORER_NODE_URL`,
    )
  }
  if (earliest > own.height + 1) {
    throw new ChainMismatch(
      `the node has no blocks from ${own.height + 1} to ${earliest - 1} any more, which the index lacks: take a node that keeps them (BLOCK_HISTORY=0), or begin a new index in another database (EXPLORER_DATABASE)`,
    )
  }
  if (own.height >= own.first_height && own.height <= latest) await checkSameChain(database, node, own.height)
  return { height: own.height, openingHeight: own.opening_height }
}

/** A network that was reset has the same chain IDs. */
async function checkSameChain({ queries }: IndexDatabase, node: NodeClient, height: number): Promise<void> {
  const { hash } = await queries
    .selectFrom('block')
    .select('hash')
    .where('height', '=', height)
    .executeTakeFirstOrThrow()
  const [block] = (await node.ethereum([
    { method: 'eth_getBlockByNumber', params: [toQuantity(height), false] },
  ])) as readonly [EthereumBlock | null]
  if (block === null || equalBytes(hexToBytes(block.hash), hash)) return
  throw new ChainMismatch(
    `block ${height} of the node is not the one in the index: the network was reset, or the node is of another one. Begin a new index in another database (EXPLORER_DATABASE), or delete this one`,
  )
}

async function latestHeight(node: NodeClient): Promise<number> {
  const [height] = (await node.ethereum([{ method: 'eth_blockNumber', params: [] }])) as readonly [Hex]
  return Number(height)
}

/**
 * Indexes the blocks up to `head`, a few batches fetched ahead.
 * @returns the height of the index then; lower than `head` when it was stopped
 */
async function catchUp(options: IngestOptions, book: BalanceBook, from: Begun, head: number): Promise<number> {
  const { node, stop, onIndexed } = options
  let height = from.height
  let next = height + 1
  let size = Math.min(8, MAX_BATCH_BLOCKS)
  const fetched: Promise<readonly BlockRows[]>[] = []
  while (height < head && !stop.aborted) {
    while (fetched.length <= AHEAD && next <= head) {
      const [first, last] = [next, Math.min(next + size - 1, head)]
      const batch = retry(options, async () => (await fetchBlocks(node, first, last)).map(readBlock))
      // It is awaited in its turn; until then a failure is nobody's.
      batch.catch(() => undefined)
      fetched.push(batch)
      next = last + 1
    }
    const blocks = await fetched.shift()!
    if (stop.aborted) return height
    await store(options.database, book, blocks, from.openingHeight)
    height = blocks.at(-1)!.height
    const transactions = blocks.reduce((sum, { transactionCount }) => sum + transactionCount, 0)
    onIndexed({ height, nodeHeight: head, blocks: blocks.length, transactions })
    size = nextSize(blocks.length, transactions)
  }
  return height
}

/** As many blocks as {@link BATCH_TRANSACTIONS} are in, if the next ones are as full; at most twice as many as before. */
function nextSize(blocks: number, transactions: number): number {
  const fitting = transactions === 0 ? MAX_BATCH_BLOCKS : Math.floor((BATCH_TRANSACTIONS * blocks) / transactions)
  return Math.max(1, Math.min(fitting, blocks * 2, MAX_BATCH_BLOCKS))
}

async function store(
  database: IndexDatabase,
  book: BalanceBook,
  blocks: readonly BlockRows[],
  openingHeight: number,
): Promise<void> {
  try {
    await database.write(async (writer) => {
      for (const [table, rows] of joined(blocks)) await writer.insert(table, rows)
      const counted = blocks.filter(({ height }) => height > openingHeight)
      const firstPositions = await book.apply(
        writer,
        counted.flatMap(({ movements }) => movements),
      )
      await addStatistics(writer, blocks, firstPositions)
      await applyGovernance(
        writer,
        blocks.flatMap(({ governance }) => governance),
      )
      await setHeight(writer, blocks.at(-1)!.height)
    })
  } catch (error) {
    book.forget()
    throw error
  }
}

function joined(blocks: readonly BlockRows[]): ReadonlyMap<TableName, readonly Row[]> {
  const all = new Map<TableName, Row[]>()
  for (const { rows } of blocks) {
    for (const [table, own] of rows) {
      const list = all.get(table)
      if (list === undefined) all.set(table, [...own])
      else for (const row of own) list.push(row)
    }
  }
  return all
}

async function setHeight({ queries }: IndexWriter, height: number): Promise<void> {
  await queries.updateTable('ingest').set({ height }).execute()
}

/** Does it again while the node cannot be reached, and says so once. */
async function retry<T>({ stop, logger }: IngestOptions, work: () => Promise<T>): Promise<T> {
  let hasTold = false
  for (;;) {
    try {
      const result = await work()
      if (hasTold) logger.info('the node answers again')
      return result
    } catch (error) {
      if (stop.aborted || !(error instanceof NodeError)) throw error
      if (!hasTold) logger.warn({ reason: error.message }, 'waiting for the node')
      hasTold = true
      await pause(RETRY_MS, stop)
    }
  }
}

function pause(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      stop.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    stop.addEventListener('abort', end)
  })
}
