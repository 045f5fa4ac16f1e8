import { workerData } from 'node:worker_threads'
import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import type { HeaderRules } from '../../../chain/retention/headerRetention.ts'
import type { Config } from '../../../config/config.ts'
import type { Application } from '../../../consensus/application.ts'
import type { EngineChoice } from '../../../evm/engines/createEngine.ts'
import { type Executor, openExecutor } from '../../../execution/executor.ts'
import type { GenesisState } from '../../../execution/genesisBlock.ts'
import { upgradeRules } from '../../../modules/upgrade/beginUpgrade.ts'
import { precompileTable } from '../../../precompiles/registry.ts'
import type { ThreadData } from '../../start/spawn.ts'
import { checkPrecompiles, openThreadEngine } from '../../start/threadEngine.ts'
import { serve } from '../../wire/port.ts'
import { applicationService } from '../executor/executorRequests.ts'

/** The thread that executes decided blocks while no node runs; see `offlineExecutors`. */
export interface OfflineExecutorData {
  readonly config: Pick<Config, 'pruning' | 'blockHistory' | 'index' | 'indexTraces' | 'skipUpgrades'>
  readonly location: string
  readonly chain: ChainConfig
  readonly genesis: GenesisState
  readonly headers: HeaderRules
  readonly engine: EngineChoice
  /** executes each block too */
  readonly shadow: EngineChoice | undefined
}

export type OfflineExecutorService = typeof service

const { control, data } = workerData as ThreadData<OfflineExecutorData>

let executor: Executor | undefined

const opened = (): Executor => {
  if (executor === undefined) throw new Error('the executor is not open')
  return executor
}

/** The application of the executor that `open` opens. */
const application: Application = {
  info: () => opened().application.info(),
  prepareProposal: (request, budgetMs) => opened().application.prepareProposal(request, budgetMs),
  checkEvidence: (evidence) => opened().application.checkEvidence(evidence),
  processProposal: (block) => opened().application.processProposal(block),
  finalizeBlock: (decided) => opened().application.finalizeBlock(decided),
}

const service = {
  ...applicationService(application),
  /** @throws what `openExecutor` throws */
  open: async (): Promise<void> => {
    const { config, location, chain, genesis, headers, engine, shadow } = data
    await checkPrecompiles(engine)
    executor = await openExecutor({
      location,
      chain,
      genesis: () => genesis,
      engine: await openThreadEngine(engine),
      shadow: shadow === undefined ? undefined : await openThreadEngine(shadow),
      precompiles: precompileTable(chain.registeredPrecompiles),
      candidates: { candidates: async () => [] },
      pruning: config.pruning,
      blockHistory: config.blockHistory,
      headers,
      index: config.index,
      indexTraces: config.indexTraces,
      upgrades: upgradeRules(config.skipUpgrades),
      defer: (work) => work(),
      now: () => performance.now(),
      later: () => undefined,
      onPublished: () => undefined,
    })
  },
  close: async (): Promise<void> => {
    await executor?.close()
  },
}

serve(control, service)
