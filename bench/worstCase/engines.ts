import type { Engine } from '../../src/evm/engine.ts'
import { chooseEngine, createEngine } from '../../src/evm/engines/createEngine.ts'

/** Opens an engine by its name; its hash tables are the same in every run. @throws Error for another name */
export async function engineNamed(name: string): Promise<Engine> {
  if (name !== 'reference' && name !== 'wasm') throw new Error(`no engine ${name}: reference, wasm`)
  return createEngine(await chooseEngine(name), { hashSeed: 0x5eedn })
}
