import type { Executor } from '../app/executor.ts'
import type { Config } from '../config/config.ts'
import type { Home } from './openHome.ts'

/** Opens databases, while no other thread has them, to execute blocks that are decided. */
export async function offlineExecutors(
  config: Config,
  { chain, genesis, headers }: Home,
): Promise<(location: string) => Promise<Executor>> {
  const { openExecutor } = await import('../app/executor.ts')
  const { chooseEngine } = await import('../evm/engines/createEngine.ts')
  const { checkPrecompiles, chooseShadow, openThreadEngine } = await import('./threadEngine.ts')
  const { upgradeRules } = await import('../modules/upgrade/beginUpgrade.ts')
  const { precompileTable } = await import('../precompiles/registry.ts')
  const kind = await chooseEngine(config.evmEngine)
  await checkPrecompiles(kind)
  const shadowKind = await chooseShadow(config)
  const engine = await openThreadEngine(kind)
  const shadow = shadowKind === undefined ? undefined : await openThreadEngine(shadowKind)
  return (location) =>
    openExecutor({
      location,
      chain,
      genesis: genesis.state,
      engine,
      shadow,
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
}
