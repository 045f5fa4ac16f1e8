import type { Config } from '../../config/config.ts'
import { START_MS, startedInTime } from '../../config/startDeadline.ts'
import type { Application } from '../../consensus/application.ts'
import { threadEntry } from '../../primitives/location.ts'
import { executorApplication } from '../roles/main/executorApplication.ts'
import type { OfflineExecutorData, OfflineExecutorService } from '../roles/offlineExecutor/offlineExecutorThread.ts'
import { connect, type Remote } from '../wire/port.ts'
import type { Home } from './openHome.ts'
import { answered, spawnThread, type Thread } from './spawn.ts'

/** Executes blocks that are decided. */
interface OfflineExecutor {
  readonly application: Application
  /** Writes what is buffered, closes the database and ends the thread. */
  close(): Promise<void>
}

/**
 * Opens databases that no other thread has open, to execute decided blocks. Each is opened in its own thread, with the same stack as
 * the executor thread of a node: a block must not succeed in one and overflow in the other.
 */
export async function offlineExecutors(
  config: Config,
  { chain, genesis, headers }: Home,
): Promise<(location: string) => Promise<OfflineExecutor>> {
  const { chooseEngine } = await import('../../evm/engines/createEngine.ts')
  const { chooseShadow } = await import('./threadEngine.ts')
  const engine = await chooseEngine(config.evmEngine)
  const shadow = await chooseShadow(config)
  const { pruning, blockHistory, index, indexTraces, skipUpgrades } = config
  return async (location) => {
    const data: OfflineExecutorData = {
      config: { pruning, blockHistory, index, indexTraces, skipUpgrades },
      location,
      chain,
      genesis: genesis.state(),
      headers,
      engine,
      shadow,
    }
    const thread = spawnThread('executor', threadEntry('offlineExecutor'), data, [])
    const remote = whileLiving(thread, connect<OfflineExecutorService>(thread.control))
    try {
      await startedInTime(thread.name, remote.open(), START_MS.executor)
    } catch (error) {
      await thread.stop()
      throw error
    }
    return {
      application: executorApplication(remote),
      close: async () => {
        try {
          await remote.close()
        } finally {
          await thread.stop()
        }
      },
    }
  }
}

/** Returns the same functions; when the thread dies, they reject with the thread's own error. */
function whileLiving(thread: Thread, remote: Remote<OfflineExecutorService>): Remote<OfflineExecutorService> {
  const call =
    <K extends keyof OfflineExecutorService>(name: K) =>
    (...args: Parameters<OfflineExecutorService[K]>) =>
      answered(thread, (remote[name] as (...all: unknown[]) => Promise<unknown>)(...args))
  return new Proxy(remote, { get: (_, name) => call(name as keyof OfflineExecutorService) })
}
