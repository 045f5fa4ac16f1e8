import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Engine } from '../evm/engine.ts'
import { chooseEngine, createEngine, type EngineChoice } from '../evm/engines/createEngine.ts'

const SEED_BYTES = 8

/** The engine of this thread. Nobody can know beforehand how its hash tables fall out. */
export function openThreadEngine(choice: EngineChoice): Promise<Engine> {
  return createEngine(choice, { hashSeed: randomBytes(SEED_BYTES).readBigUInt64LE() })
}

/** The engine that executes blocks beside the chosen one, when that is wanted: the other one. */
export async function chooseShadow({
  evmEngine,
  evmShadow,
}: Pick<Config, 'evmEngine' | 'evmShadow'>): Promise<EngineChoice | undefined> {
  return evmShadow ? chooseEngine(evmEngine === 'wasm' ? 'reference' : 'wasm') : undefined
}
