import { type MessagePort, workerData } from 'node:worker_threads'
import type { ChainConfig } from '../../../chain/genesis/chainConfig.ts'
import type { EngineChoice } from '../../../evm/engines/createEngine.ts'
import type { Offer } from '../../../execution/parallel/parallelExecution.ts'
import { createSpeculationWorker, type OpenParent } from '../../../execution/parallel/speculationWorker.ts'
import type { TableMemory } from '../../../execution/parallel/versionTable.ts'
import { precompileTable } from '../../../precompiles/registry.ts'
import { createViewCaches, openView } from '../../../state/view.ts'
import { Database, DatabaseError } from '../../../storage/database.ts'
import { createThreadMetrics } from '../../../telemetry/threadMetrics.ts'
import { collectWhenIdle } from '../../start/idleCollection.ts'
import type { ThreadData } from '../../start/spawn.ts'
import { openThreadEngine } from '../../start/threadEngine.ts'
import { serve } from '../../wire/port.ts'
import { type Gate, waitAtGate } from '../../wire/sharedMemory.ts'

/**
 * A speculator executes entries of a block before the executor reaches them (EXECUTION_THREADS). Its results count only when
 * the executor finds them true, and the executor does what it cannot do: it may end at any time, and the executor continues
 * alone.
 */
export interface SpeculatorData {
  /** directory of the database */
  readonly location: string
  /** opens when the executor has opened the database */
  readonly databaseGate: Gate
  readonly chain: Pick<ChainConfig, 'registeredPrecompiles'>
  readonly engine: EngineChoice
  readonly memory: TableMemory
  /** which of the speculators this is, from 0 on */
  readonly index: number
  /** from the executor */
  readonly offers: MessagePort
}

export type SpeculatorService = typeof service

const { control, data } = workerData as ThreadData<SpeculatorData>
const threadMetrics = createThreadMetrics('speculator')
const engine = await openThreadEngine(data.engine)
await waitAtGate(data.databaseGate)
// Damage ends nothing here: the executor hits it when it executes the entry.
const database = await Database.open(data.location, { readOnly: true })
const caches = createViewCaches()

function openParent(height: number): OpenParent | undefined {
  const snapshot = database.snapshot()
  const close = (): void => void snapshot.close()
  try {
    const { chain, stateAt } = openView(snapshot, caches)
    if (chain.headHeight === height) return { state: stateAt(height), chain, close }
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error
  }
  close()
  return undefined
}

const take = createSpeculationWorker({
  memory: data.memory,
  index: data.index,
  openParent,
  engine,
  precompiles: precompileTable(data.chain.registeredPrecompiles),
  now: () => performance.now(),
})
data.offers.on('message', (offer: Offer) => void take(offer))

const service = {
  metrics: () => threadMetrics.snapshot(),
  close: async () => {
    data.offers.close()
    await database.close()
  },
}

serve(control, service)

collectWhenIdle()
