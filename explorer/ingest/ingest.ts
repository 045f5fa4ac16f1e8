import { bytesToHex, equalBytes, hexToBytes, toQuantity } from '../../src/primitives/bytes.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { BalanceBook } from '../accounts/balances.ts'
import { applyContracts } from '../contracts/contractBook.ts'
import { IndexInUse, type IndexLock, type IndexWriter } from '../database/indexDatabase.ts'
import type { IndexedBlocks } from '../database/indexedBlocks.ts'
import { RowSet } from '../database/rowSet.ts'
import { applyGovernance } from '../governance/ingest.ts'
import type { EthereumBlock, Hex, Status } from '../node/answers.ts'
import { type NodeClient, NodeDown, NodeError } from '../node/nodeClient.ts'
import { fetchStaking, type StakingChanges } from '../stake/fetchStake.ts'
import { applyStaking, writeOpeningStake } from '../stake/stakingBook.ts'
import { addStatistics } from '../statistics/ingest.ts'
import { TokenBook } from '../tokens/tokenBook.ts'
import { describeTokens } from '../tokens/tokenNames.ts'
import { fetchBlocks } from './fetchBlocks.ts'
import { oldestStateHeight, writeOpeningBalances } from './openingBalances.ts'
import { type BlockRows, readBlock } from './readBlock.ts'

/** The index belongs to another chain than the node, or the node lacks the next blocks. The message is for the operator. */
class ChainMismatch extends Error {
  override readonly name = 'ChainMismatch'
}

export interface IngestOptions {
  /** in the hands of this process */
  readonly database: IndexLock
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
/** The first and the longest pause while the node does not answer, or answers wrongly. */
const FIRST_PAUSE_MS = 250
const LAST_PAUSE_MS = 30_000
/** The longest pause while no server listens at the node's address: a request costs nothing, and the first block should appear soon. */
const LAST_PAUSE_DOWN_MS = 500

/**
 * Follows the node: writes each of its blocks into the index, once, in the order of heights. Blocks of a BFT chain are final, so the
 * index never removes one. Each batch is one transaction of the database, with the height that the index has then: whenever the process
 * is killed, the next start continues after the last stored batch. After each failure of the node, it checks whether the node is still on
 * the index's chain and has the next blocks.
 * @throws ChainMismatch; whatever the database throws
 */
export async function ingest(options: IngestOptions): Promise<void> {
  const { logger, stop } = options
  let pauseMs = FIRST_PAUSE_MS
  let told = ''
  const onProgress = (): void => {
    if (told !== '') logger.info('the node responds again')
    told = ''
    pauseMs = FIRST_PAUSE_MS
  }
  while (!stop.aborted) {
    try {
      await follow(options, onProgress)
    } catch (error) {
      if (stop.aborted || !(error instanceof NodeError)) throw error
      if (told !== error.message) logger.warn({ reason: error.message }, 'waiting for the node')
      told = error.message
      await pause(pauseMs, stop)
      pauseMs = Math.min(pauseMs * 2, error instanceof NodeDown ? LAST_PAUSE_DOWN_MS : LAST_PAUSE_MS)
    }
  }
}

/** @throws NodeError as soon as the node fails */
async function follow(options: IngestOptions, onProgress: () => void): Promise<void> {
  const { database, node, logger, stop, nextHead } = options
  let progress = await readProgress(options)
  const books = { coins: new BalanceBook(), tokens: new TokenBook(progress.firstHeight === 1) }
  /** the height of the node, once it is known to be behind the index */
  let behind: number | undefined
  while (!stop.aborted) {
    const head = await latestHeight(node)
    if (head > progress.height) {
      behind = undefined
      progress = await catchUp(options, books, progress, head)
    } else if (head < progress.height && head !== behind) {
      // The node restarts, or is one of several at different heights, or its network was reset.
      if (head >= progress.firstHeight) await checkSameChain(database, node, head)
      if (behind === undefined)
        logger.warn({ height: progress.height, nodeHeight: head }, 'the node is behind the index')
      behind = head
    }
    onProgress()
    if (head > progress.height) continue
    await describeTokens(options)
    await nextHead()
  }
}

/** Sums over all blocks. */
interface Books {
  readonly coins: BalanceBook
  readonly tokens: TokenBook
}

/** How far the index has come. */
interface IndexProgress {
  readonly firstHeight: number
  /** of the newest block in the index */
  readonly height: number
  /** its hash; undefined while the index has no block */
  readonly hash: string | undefined
  /** the height after which balances are added up */
  readonly openingHeight: number
}

/** This part of the blocks of a pruning node is left out: the node would delete it while it is read. */
const DROPPED_SOON = 1 / 4

/** Returns a height above `oldest` that the node retains for some time; it deletes `oldest` with its next block. */
function lastingHeight(oldest: number, latest: number): number {
  return oldest + Math.ceil((latest - oldest) * DROPPED_SOON)
}

/**
 * Finds where to continue. An empty index starts with the first block; where the node has deleted that, with a block that the node will
 * retain for some time.
 * @throws ChainMismatch when the index is of another chain
 */
async function readProgress({ database, node, logger }: IngestOptions): Promise<IndexProgress> {
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
    const first = earliest === 1 ? 1 : lastingHeight(earliest, latest)
    const openingHeight = await database.write(async (writer) => {
      const state = first === 1 ? 0 : lastingHeight(await oldestStateHeight(node, earliest - 1, latest), latest)
      const opening = await writeOpeningBalances(writer, node, first, state)
      await writeOpeningStake(writer, node, first, opening)
      await writer.insert('ingest', [
        {
          id: 1,
          chain_id: network,
          evm_chain_id: Number(chainId),
          first_height: first,
          height: first - 1,
          opening_height: opening,
        },
      ])
      return opening
    })
    logger.info({ chainId: network, first, openingHeight }, 'starting a new index')
    return { firstHeight: first, height: first - 1, hash: undefined, openingHeight }
  }
  if (own.chain_id !== network || own.evm_chain_id !== Number(chainId)) {
    throw new ChainMismatch(
      `the index belongs to the chain ${own.chain_id}, the node to ${network}: set EXPLORER_DATABASE to another database, or EXPLORER_NODE_URL to another node`,
    )
  }
  if (earliest > own.height + 1) {
    throw new ChainMismatch(
      `the index needs blocks ${own.height + 1} to ${earliest - 1}, which the node has deleted: use a node that retains them (BLOCK_HISTORY=0), or start a new index in another database (EXPLORER_DATABASE)`,
    )
  }
  if (own.height >= own.first_height && own.height <= latest) await checkSameChain(database, node, own.height)
  const newest = await database.queries
    .selectFrom('block')
    .select('hash')
    .where('height', '=', own.height)
    .executeTakeFirst()
  return {
    firstHeight: own.first_height,
    height: own.height,
    hash: newest === undefined ? undefined : bytesToHex(newest.hash),
    openingHeight: own.opening_height,
  }
}

/** A network that was reset has the same chain IDs. */
async function checkSameChain({ queries }: IndexLock, node: NodeClient, height: number): Promise<void> {
  const { hash } = await queries
    .selectFrom('block')
    .select('hash')
    .where('height', '=', height)
    .executeTakeFirstOrThrow()
  const [block] = (await node.ethereum([
    { method: 'eth_getBlockByNumber', params: [toQuantity(height), false] },
  ])) as readonly [EthereumBlock | null]
  if (block === null || equalBytes(hexToBytes(block.hash), hash)) return
  throw otherChain(height)
}

function otherChain(height: number): ChainMismatch {
  return new ChainMismatch(
    `block ${height} of the node differs from the one in the index: the network was reset, or the node belongs to another network. Start a new index in another database (EXPLORER_DATABASE), or delete this one`,
  )
}

/** @throws NodeError */
export async function latestHeight(node: Pick<NodeClient, 'ethereum'>): Promise<number> {
  const [height] = (await node.ethereum([{ method: 'eth_blockNumber', params: [] }])) as readonly [Hex]
  return Number(height)
}

/**
 * Indexes the blocks up to `head`, a few batches fetched ahead.
 * @returns how far the index is then; not to `head` when it was stopped
 */
async function catchUp(
  options: IngestOptions,
  books: Books,
  from: IndexProgress,
  head: number,
): Promise<IndexProgress> {
  const { node, stop, onIndexed } = options
  let { height, hash } = from
  let next = height + 1
  let size = Math.min(8, MAX_BATCH_BLOCKS)
  const fetched: Promise<Batch>[] = []
  while (height < head && !stop.aborted) {
    while (fetched.length <= AHEAD && next <= head) {
      const [first, last] = [next, Math.min(next + size - 1, head)]
      const batch = fetchBatch(node, first, last)
      // It is awaited in its turn; until then a failure has no handler.
      batch.catch(() => undefined)
      fetched.push(batch)
      next = last + 1
    }
    const batch = await fetched.shift()!
    const { blocks } = batch
    if (stop.aborted) break
    checkLinks(blocks, hash)
    await store(options.database, books, batch, from.openingHeight)
    ;({ height, hash } = blocks.at(-1)!)
    const transactions = blocks.reduce((sum, { transactionCount }) => sum + transactionCount, 0)
    onIndexed({ height, nodeHeight: head })
    await describeTokens(options)
    size = nextSize(blocks.length, transactions)
  }
  return { ...from, height, hash }
}

/** Blocks that are stored at once. */
interface Batch {
  readonly blocks: readonly BlockRows[]
  readonly staking: StakingChanges
}

async function fetchBatch(node: NodeClient, first: number, last: number): Promise<Batch> {
  const blocks = await fetchBlocks(node, first, last)
  return { staking: await fetchStaking(node, blocks), blocks: blocks.map(readBlock) }
}

/**
 * Each block names the one before: one of another chain never gets into the index.
 * @throws ChainMismatch
 */
function checkLinks(blocks: readonly BlockRows[], before: string | undefined): void {
  let expected = before
  for (const { height, hash, parentHash } of blocks) {
    if (expected !== undefined && parentHash !== expected) throw otherChain(height - 1)
    expected = hash
  }
}

/** As many blocks as {@link BATCH_TRANSACTIONS} are in, if the next ones are as full; at most twice as many as before. */
function nextSize(blocks: number, transactions: number): number {
  const fitting = transactions === 0 ? MAX_BATCH_BLOCKS : Math.floor((BATCH_TRANSACTIONS * blocks) / transactions)
  return Math.max(1, Math.min(fitting, blocks * 2, MAX_BATCH_BLOCKS))
}

async function store(
  database: IndexLock,
  { coins, tokens }: Books,
  { blocks, staking }: Batch,
  openingHeight: number,
): Promise<void> {
  try {
    await database.write(async (writer) => {
      const rows = new RowSet()
      for (const block of blocks) rows.addAll(block.rows)
      await rows.insertInto(writer)
      const counted = blocks.filter(({ height }) => height > openingHeight)
      const firstPositions = await coins.apply(
        writer,
        counted.flatMap(({ movements }) => movements),
      )
      await addStatistics(writer, blocks, firstPositions)
      await applyGovernance(
        writer,
        blocks.flatMap(({ governance }) => governance),
      )
      await tokens.apply(
        writer,
        blocks.flatMap(({ transfers }) => transfers),
      )
      await applyContracts(
        writer,
        blocks.flatMap(({ contracts }) => contracts),
      )
      await applyStaking(writer, staking)
      await setHeight(writer, blocks[0]!.height - 1, blocks.at(-1)!.height)
    })
  } catch (error) {
    coins.forget()
    tokens.forget()
    throw error
  }
}

async function setHeight({ queries }: IndexWriter, before: number, height: number): Promise<void> {
  const { numUpdatedRows } = await queries
    .updateTable('ingest')
    .set({ height })
    .where('height', '=', before)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 1n) return
  // The lock does not allow that; a pool of connections between the explorer and PostgreSQL does.
  throw new IndexInUse(
    'another process has written to the index: connect explorers to PostgreSQL directly, or through a pooler in session mode',
  )
}

/** Ends early, without an error, when it is stopped. */
export function pause(ms: number, stop: AbortSignal): Promise<void> {
  if (stop.aborted) return Promise.resolve()
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
