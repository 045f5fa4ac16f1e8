import type { ChainConfig } from '../chain/chainConfig.ts'
import { openChainReader } from '../chain/store.ts'
import type { Application } from '../consensus/application.ts'
import type { Engine } from '../evm/engine.ts'
import type { PrecompileTable } from '../evm/precompile.ts'
import type { PoolHeadUpdate } from '../mempool/types.ts'
import { StateStore } from '../state/store.ts'
import { Database } from '../storage/database.ts'
import { createApplication } from './application.ts'
import type { CandidateSource } from './candidateSource.ts'
import type { ChainHead } from './chainHead.ts'
import type { ExecutedBlock } from './executedBlock.ts'
import type { GenesisState } from './genesisState.ts'
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
  /** a block is in the database */
  readonly onPublished: (head: ChainHead, update: PoolHeadUpdate, executed: ExecutedBlock) => void
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
  /** Syncs and closes the database: imported blocks are in no write-ahead log. */
  close(): Promise<void>
}

/**
 * Opens the database as its one writer, with block 0 when it is empty, and the application on it.
 * @throws GenesisMismatch, DatabaseError
 */
export async function openExecutor(options: ExecutorOptions): Promise<Executor> {
  const { chain, engine, shadow, precompiles, candidates, buildBudgetMs, now, observer = NO_OBSERVER } = options
  const database = await Database.open(options.location)
  try {
    const state = new StateStore(database)
    const head = await openChain(database, state, chain, options.genesis)
    const publisher = createPublisher({
      database,
      reader: { getCode: (hash) => state.reader().getCode(hash) },
      chain,
      head,
      onPublished: options.onPublished,
      onWritten: observer.written,
      now,
    })
    const pruner = createPruner({ database, state, pruning: options.pruning, blockHistory: options.blockHistory })
    const application = createApplication({
      chain,
      state,
      chainReader: () => openChainReader(database),
      engine,
      ...(shadow === undefined ? {} : { shadow }),
      precompiles,
      candidates,
      head: publisher.head,
      publish: async (decided, executed) => {
        await publisher.publish(decided, executed)
        await pruner.afterBlock(executed.header.number)
      },
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
        await state.close()
        await database.close()
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}
