import { ExecutionTimeout } from '../../../src/evm/engine.ts'
import { MODULE_HOOKS } from '../../../src/execution/blockHooks.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { OWN_SCOPE } from '../../../src/rpc/jsonrpc/callScope.ts'
import type { RpcContext } from '../../../src/rpc/jsonrpc/method.ts'
import type { NodeView } from '../../../src/state/view.ts'
import { productionEngine } from '../evm/productionEngine.ts'
import type { TestChain } from '../execution/testChain.ts'
import { TEST_LIMITS } from './memoryNode.ts'
import { createMemoryPool } from './memoryPool.ts'
import { withSubmissions } from './withSubmissions.ts'

/**
 * What requests on a test chain run in, in a thread that executes.
 * @param onPause hears of each turn that a long request lets others have
 */
export function chainContext(
  { chain }: Pick<TestChain, 'chain'>,
  view: NodeView,
  overrides: Partial<RpcContext> = {},
  onPause: () => void = () => undefined,
): RpcContext {
  return withSubmissions({
    view,
    txs: createMemoryPool(),
    chain,
    limits: TEST_LIMITS,
    scope: OWN_SCOPE,
    clientVersion: 'coind/v0.0.0-test',
    retention: { states: undefined, bodies: undefined },
    peerCount: () => 0,
    syncing: () => undefined,
    nextView: async () => undefined,
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    execution: {
      engine: productionEngine,
      precompiles: precompileTable(chain.registeredPrecompiles),
      hooks: MODULE_HOOKS,
      yieldUntil: (deadlineMs) => async () => {
        onPause()
        if (performance.now() > deadlineMs) throw new ExecutionTimeout('deadline')
      },
    },
    ...overrides,
  })
}
