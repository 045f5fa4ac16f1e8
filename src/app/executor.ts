import type { ChainConfig } from '../chain/chainConfig.ts'
import { openChainReader } from '../chain/store.ts'
import type { Application } from '../consensus/application.ts'
import type { Engine } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import { dueUpgrade } from '../modules/upgrade/beginUpgrade.ts'
import { UpgradeNeeded } from '../modules/upgrade/upgradeNeeded.ts'
import { upgradeRules } from '../modules/upgrade/upgradeRules.ts'
import { Journal } from '../state/journal.ts'
import { StateStore } from '../state/store.ts'
import { BufferedDatabase } from '../storage/bufferedDatabase.ts'
import { Database } from '../storage/database.ts'
import { createApplication } from './application.ts'
import { type BlockHooks, moduleHooks } from './blockHooks.ts'
import type { CandidateSource } from './candidateSource.ts'
import type { ChainHead } from './chainHead.ts'
import type { GenesisState } from './genesisState.ts'
import type { HeadEvent } from './headEvent.ts'
import { lazyChainReader } from './lazyChainReader.ts'
import { openChain } from './openChain.ts'
import { createPruner } from './pruner.ts'
import { createPublisher } from './publisher.ts'

export interface ExecutorOptions {
  /** directory of the database */
  readonly location: string
  readonly chain: ChainConfig
  readonly genesis: GenesisState
  readonly engine: Engine
  /** executes each block too and must agree */
  readonly shadow?: Engine | undefined
  readonly precompiles: PrecompileTable
  readonly candidates: CandidateSource
  /** blocks whose state is kept, or all */
  readonly pruning: 'archive' | number
  /** blocks that are kept; 0 = all */
  readonly blockHistory: number
  readonly buildBudgetMs: number
  /** milliseconds, monotonic */
  readonly now: () => number
  /** see `ApplicationOptions` */
  readonly defer: (work: () => void) => void
  /** see `PublisherOptions` */
  readonly later: (milliseconds: number, work: () => void) => void
  /** blocks are in the database */
  readonly onPublished: (headEvent: HeadEvent) => void
  /** The block after those that were published takes another version: this node will not execute it. */
  readonly onUpgradeNeeded?: (error: UpgradeNeeded) => void
  /** heights at which no upgrade is made */
  readonly skipUpgrades?: readonly number[]
  /** what native modules do in each block; by default what they do in production */
  readonly hooks?: BlockHooks
  readonly observer?: ExecutorObserver
}

/** Takes measurements of the executor's work, for metrics. Durations in milliseconds. */
export interface ExecutorObserver {
  /** building or executing a block, with its state root */
  readonly executed: (milliseconds: number) => void
  /** writing a block to the database */
  readonly written: (milliseconds: number, bytes: number) => void
}

const NO_OBSERVER: ExecutorObserver = { executed: () => undefined, written: () => undefined }

export interface Executor {
  readonly application: Application
  readonly head: () => ChainHead
  readonly oldestState: () => number
  /** Writes what was put off and closes the database. */
  close(): Promise<void>
}

/**
 * Opens the database as its one writer, with block 0 when it is empty, and the application on it.
 * @throws GenesisMismatch, DatabaseError; UpgradeNeeded when this version cannot execute the next block
 */
export async function openExecutor(options: ExecutorOptions): Promise<Executor> {
  const { chain, engine, shadow, precompiles, candidates, buildBudgetMs, now, later } = options
  const upgrades = upgradeRules(options.skipUpgrades ?? [])
  const { hooks = moduleHooks(upgrades), observer = NO_OBSERVER } = options
  const stored = await Database.open(options.location)
  try {
    const database = new BufferedDatabase(stored)
    const state = new StateStore(database)
    const head = await openChain(database, state, chain, options.genesis)
    const checkUpgrade = ({ header }: ChainHead): void => {
      dueUpgrade(new Journal(state.reader()).native, header.number + 1, upgrades)
    }
    checkUpgrade(head)
    const publisher = createPublisher({
      database,
      reader: { getCode: (hash) => state.reader().getCode(hash) },
      head,
      onPublished: (headEvent) => {
        options.onPublished(headEvent)
        try {
          checkUpgrade(publisher.head())
        } catch (error) {
          if (!(error instanceof UpgradeNeeded)) throw error
          options.onUpgradeNeeded?.(error)
        }
      },
      onWritten: observer.written,
      now,
      later,
    })
    const pruner = createPruner({ database, state, pruning: options.pruning, blockHistory: options.blockHistory })
    const application = createApplication({
      chain,
      state,
      chainReader: () => lazyChainReader(() => openChainReader(database)),
      engine,
      ...(shadow === undefined ? {} : { shadow }),
      precompiles,
      hooks,
      candidates,
      head: publisher.head,
      publish: async (decided, executed) => {
        await publisher.publish(decided, executed)
        await pruner.afterBlock(executed.header.number)
      },
      settle: publisher.settle,
      durableHeight: publisher.durableHeight,
      onExecuted: observer.executed,
      buildBudgetMs,
      now,
      defer: options.defer,
    })
    return {
      application,
      head: publisher.head,
      oldestState: () => state.oldestHeight,
      close: async () => {
        await publisher.settle()
        await state.close()
        await stored.close()
      },
    }
  } catch (error) {
    await stored.close()
    throw error
  }
}
