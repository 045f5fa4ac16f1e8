import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Engine } from '../evm/engine.ts'
import { chooseEngine, createEngine, type EngineChoice } from '../evm/engines/createEngine.ts'
import { precompileAnswers } from '../evm/standard/knownAnswers.ts'
import { checkKnownAnswers } from '../primitives/selfTest.ts'

const SEED_BYTES = 8

/**
 * The engine of this thread, with a random seed: nobody can prepare keys that collide in its hash tables. The precompiles of the wasm
 * engine are tried first; the reference engine has its own.
 * @throws SelfTestError when one of them gives another answer than it must
 */
export async function openThreadEngine(choice: EngineChoice): Promise<Engine> {
  if (choice.kind === 'wasm') {
    // Not loaded with this file, which threads without an engine use too.
    const { runStandardPrecompile } = await import('../evm/standard/runStandardPrecompile.ts')
    checkKnownAnswers(precompileAnswers(runStandardPrecompile))
  }
  return createEngine(choice, { hashSeed: randomBytes(SEED_BYTES).readBigUInt64LE() })
}

/** The engine that executes each block a second time, when EVM_SHADOW asks for it: the one that EVM_ENGINE did not choose. */
export async function chooseShadow({
  evmEngine,
  evmShadow,
}: Pick<Config, 'evmEngine' | 'evmShadow'>): Promise<EngineChoice | undefined> {
  return evmShadow ? chooseEngine(evmEngine === 'wasm' ? 'reference' : 'wasm') : undefined
}
