import type { Config } from '../../config/config.ts'
import type { Engine } from '../../evm/engine.ts'
import { chooseEngine, createEngine, type EngineChoice } from '../../evm/engines/createEngine.ts'
import { checkKnownAnswers } from '../../primitives/selfTest.ts'
import { randomSeed } from './randomSeed.ts'

/**
 * Opens the engine of this thread, with a random seed: no client can prepare keys that collide in its hash tables.
 */
export function openThreadEngine(choice: EngineChoice): Promise<Engine> {
  return createEngine(choice, { hashSeed: randomSeed() })
}

/** One run at a time. About 34 MB are an instance's stacks, which take no memory while they are not used. */
const SHORT_RETAINED = { count: 1, memoryBytes: 64 * 1024 * 1024 }

/**
 * Opens an engine for short calls, in a thread that has no {@link openThreadEngine}. Loads the
 * engine, and the native token, which clients call most.
 */
export async function openShortEngine({ module }: Extract<EngineChoice, { readonly kind: 'wasm' }>) {
  const { createWasmEngine } = await import('../../evm/engines/wasm/wasmEngine.ts')
  const { nativeToken } = await import('../../modules/bank/precompile/nativeToken.ts')
  const engine = createWasmEngine(module, { hashSeed: randomSeed(), retained: SHORT_RETAINED })
  return { engine, lightPrecompiles: [nativeToken] }
}

/**
 * Tests the precompiles of the wasm engine; the reference engine has its own. The thread that executes blocks calls it before
 * the first block: all threads of the process have the same libraries.
 * @throws SelfTestError when one of them returns a wrong answer
 */
export async function checkPrecompiles({ kind }: EngineChoice): Promise<void> {
  if (kind !== 'wasm') return
  // Not loaded with this file, which threads that execute no block use too.
  const { runStandardPrecompile } = await import('../../evm/standard/runStandardPrecompile.ts')
  const { precompileAnswers } = await import('../../evm/standard/knownAnswers.ts')
  checkKnownAnswers(precompileAnswers(runStandardPrecompile))
}

/**
 * Returns the engine that executes each block a second time, if EVM_SHADOW asks for it: the one
 * that EVM_ENGINE did not choose.
 */
export async function chooseShadow({
  evmEngine,
  evmShadow,
}: Pick<Config, 'evmEngine' | 'evmShadow'>): Promise<EngineChoice | undefined> {
  return evmShadow ? chooseEngine(evmEngine === 'wasm' ? 'reference' : 'wasm') : undefined
}
