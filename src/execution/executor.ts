import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import { switchCallIndex } from '../chain/indexes/callIndex.ts'
import { switchIndexes } from '../chain/indexes/indexCoverage.ts'
import type { HeaderRules } from '../chain/retention/headerRetention.ts'
import { tidySegments } from '../chain/segments/tidySegments.ts'
import { createBlockCache } from '../chain/store/blockCache.ts'
import { type ChainReader, openChainReader } from '../chain/store/chainReader.ts'
import type { Application } from '../consensus/application.ts'
import type { Engine } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import {
  checkVersion,
  dueUpgrade,
  isVersionError,
  UPGRADE_RULES,
  type UpgradeNeeded,
  type UpgradeRules,
  type WrongVersion,
} from '../modules/upgrade/beginUpgrade.ts'
import { Journal } from '../state/journal.ts'
import { StateStore } from '../state/stateStore.ts'
import { BufferedDatabase } from '../storage/bufferedDatabase.ts'
import { Database, type DatabaseOptions, type DatabaseReader } from '../storage/database.ts'
import { createApplication } from './application.ts'
import { type Backfill, createBackfill } from './backfillBlocks.ts'
import { type BlockHooks, moduleHooks } from './blockHooks.ts'
import type { ChainHead } from './chainHead.ts'
import type { StoppedReport } from './executionDeadline.ts'
import type { GenesisState } from './genesisBlock.ts'
import type { HeadEvent } from './headEvent.ts'
import { openChain } from './openChain.ts'
import type { ParallelExecution } from './parallel/parallelExecution.ts'
import type { CandidateSource } from './proposal.ts'
import { createPruner } from './pruner.ts'
import { createPublisher } from './publisher.ts'
import type { UnforeseenReport } from './unforeseenError.ts'

export interface ExecutorOptions {
  /** directory of the database */
  readonly location: string
  /** see `DatabaseOptions` */
  readonly onDamage?: DatabaseOptions['onDamage']
  readonly chain: ChainConfig
  /**
   * called when an empty database is opened; the result is not retained, since a genesis may have a
   * million accounts
   */
  readonly genesis: () => GenesisState
  readonly engine: Engine
  /** see `StateStoreOptions` */
  readonly hashSeed?: bigint
  /** executes each block too and must agree */
  readonly shadow?: Engine | undefined
  readonly precompiles: PrecompileTable
  /** executes entries of a block in other threads too */
  readonly parallel?: ParallelExecution | undefined
  readonly candidates: CandidateSource
  /** number of newest blocks whose state is retained, or all */
  readonly pruning: 'archive' | number
  /** number of newest blocks that are retained; 0 = all */
  readonly blockHistory: number
  /**
   * how long headers are needed; undefined: they are retained permanently, and older ones are not
   * fetched
   */
  readonly headers?: HeaderRules | undefined
  /** whether blocks are found by their logs and events; `all` by default */
  readonly index?: 'all' | 'off'
  /** whether blocks are found by who called whom in them; false by default */
  readonly indexTraces?: boolean
  /** milliseconds, monotonic */
  readonly now: () => number
  /** see `ApplicationOptions` */
  readonly defer: (work: () => void) => void
  /** see `PublisherOptions` */
  readonly later: (milliseconds: number, work: () => void) => void
  /** see `PublisherOptions` */
  readonly writesBehind?: boolean
  /** see `PublisherOptions` */
  readonly onHead?: (headEvent: HeadEvent) => void
  /** called when blocks are in the database */
  readonly onPublished: (headEvent: HeadEvent) => void
  /** see `PublisherOptions` */
  readonly onWriteFailed?: (error: unknown) => void
  /** Called when the next block needs another version of the node: this one will not execute it. */
  readonly onUpgradeNeeded?: (error: UpgradeNeeded | WrongVersion) => void
  /** which upgrades this version makes; by default those that it has, and none is passed over */
  readonly upgrades?: UpgradeRules
  /** work of native modules in each block; by default that of production */
  readonly hooks?: BlockHooks
  readonly observer?: ExecutorObserver
}

/** Receives measurements of the executor's work, for metrics. Durations are in milliseconds. */
interface ExecutorObserver {
  /** building or executing a block, with its state root */
  readonly executed: (milliseconds: number) => void
  /** writing a block to the database */
  readonly written: (milliseconds: number, bytes: number) => void
  /** called with an unforeseen error */
  readonly unforeseen: (report: UnforeseenReport) => void
  /** an execution that took too long */
  readonly stopped: (report: StoppedReport) => void
}

export interface Executor {
  readonly application: Application
  readonly backfill: Pick<Backfill, 'missing' | 'add'>
  readonly head: () => ChainHead
  readonly oldestState: () => number
  /** Writes buffered batches and closes the database. */
  close(): Promise<void>
}

/**
 * Opens the database as its only writer, and the application on it:
 * 1. Open the database; an empty one gets block 0. A later step that fails closes it again.
 * 2. Check that this version can execute the next block, before anything is built on it. Then record from which block on there are
 *    indexes, before a block is written without them.
 * 3. Create the pruner, which adds deletes of old data to the batches of blocks, and the backfill, which adds older blocks to them.
 * 4. Create the publisher, which stores blocks and moves the head.
 * 5. Create the application, which executes blocks and hands decided ones to the publisher.
 * @throws GenesisMismatch, DatabaseError; UpgradeNeeded, WrongVersion when this version cannot execute the next block
 */
export async function openExecutor(options: ExecutorOptions): Promise<Executor> {
  const { chain, engine, shadow, precompiles, candidates, now, later } = options
  const {
    upgrades = UPGRADE_RULES,
    hooks = moduleHooks(upgrades),
    observer,
    index = 'all',
    indexTraces = false,
  } = options
  const stored = await Database.open(options.location, { onDamage: options.onDamage })
  try {
    // 1.
    const database = new BufferedDatabase(stored)
    const state = new StateStore(database, { hashSeed: options.hashSeed })
    const head = await openChain(database, state, chain, options.genesis)
    await tidySegments(database)
    // 2.
    checkVersion(new Journal(state.reader()).native, head.header.number + 1, upgrades)
    await switchIndexes(database, index, head.header.number)
    await switchCallIndex(database, indexTraces, head.header.number)
    // 3.
    const { pruning, blockHistory, headers } = options
    const durableHeight = (): number => publisher.durableHeight()
    const pruner = createPruner({ database, state, pruning, blockHistory, headers, durableHeight })
    const backfill = createBackfill(database, headers)
    // 4.
    const publisher = createPublisher({
      database,
      maintain: (batch, height) => {
        pruner.drop(batch, height)
        backfill.write(batch)
      },
      isIndexed: index === 'all',
      reader: { getCode: (hash) => state.reader().getCode(hash) },
      head,
      writesBehind: options.writesBehind ?? false,
      onHead: (headEvent) => options.onHead?.(headEvent),
      onWriteFailed: (error) => options.onWriteFailed?.(error),
      onPublished: (headEvent) => {
        options.onPublished(headEvent)
        try {
          dueUpgrade(new Journal(state.reader()).native, publisher.head().header.number + 1, upgrades)
        } catch (error) {
          if (!isVersionError(error)) throw error
          options.onUpgradeNeeded?.(error)
        }
      },
      onWritten: (milliseconds, bytes) => observer?.written(milliseconds, bytes),
      now,
      later,
    })
    let isClosed = false
    // 5.
    const application = createApplication({
      chain,
      state,
      chainReader: createExecutionReaders(database),
      engine,
      ...(shadow === undefined ? {} : { shadow }),
      precompiles,
      parallel: options.parallel,
      hooks,
      isCallIndexed: indexTraces,
      candidates,
      head: publisher.head,
      publish: async (decided, executed) => {
        await publisher.publish(decided, executed)
        options.defer(() => {
          const { number } = publisher.head().header
          if (isClosed || number !== executed.header.number) return
          pruner.prepare(number + 1)
          backfill.prepare()
        })
      },
      flush: publisher.flush,
      written: publisher.written,
      durableHeight: publisher.durableHeight,
      onExecuted: (milliseconds) => observer?.executed(milliseconds),
      onUnforeseen: (report) => observer?.unforeseen(report),
      onStopped: (report) => observer?.stopped(report),
      now,
      defer: options.defer,
    })
    return {
      application,
      backfill,
      head: publisher.head,
      oldestState: () => state.oldestHeight,
      close: async () => {
        isClosed = true
        try {
          await publisher.written()
        } finally {
          await state.close().finally(() => stored.close())
        }
      },
    }
  } catch (error) {
    await stored.close()
    throw error
  }
}

/** The chain data that the execution of a block reads. */
type ExecutionReader = Pick<ChainReader, 'base' | 'oldestBlock' | 'hash' | 'blockTimeMs' | 'validatorSetAt'>

/**
 * Makes a reader for each block. The readers share decoded frames of segments, for evidence of old blocks, and block hashes, which BLOCKHASH
 * reads for 20 gas. Both are of decided blocks, which never change.
 */
export function createExecutionReaders(database: DatabaseReader): () => ExecutionReader {
  const { segments, hashes } = createBlockCache()
  return () => new LazyChainReader(() => openChainReader(database, { ...createBlockCache(), segments, hashes }))
}

/**
 * Opens the reader, which decodes the head record, at the first read: most blocks read no block hash and have no evidence. A class,
 * because V8 takes microseconds to make an object that has a getter of its own, and each block has one.
 */
class LazyChainReader implements ExecutionReader {
  readonly #open: () => ExecutionReader
  #opened: ExecutionReader | undefined

  constructor(open: () => ExecutionReader) {
    this.#open = open
  }

  get base(): number {
    return this.#reader().base
  }

  get oldestBlock(): number {
    return this.#reader().oldestBlock
  }

  hash(height: number): ReturnType<ExecutionReader['hash']> {
    return this.#reader().hash(height)
  }

  blockTimeMs(height: number): ReturnType<ExecutionReader['blockTimeMs']> {
    return this.#reader().blockTimeMs(height)
  }

  validatorSetAt(height: number): ReturnType<ExecutionReader['validatorSetAt']> {
    return this.#reader().validatorSetAt(height)
  }

  #reader(): ExecutionReader {
    this.#opened ??= this.#open()
    return this.#opened
  }
}
