import { chooseEngine, createEngine } from '../../../src/evm/engines/createEngine.ts'

/** The engine that a node runs, for all tests that are not about engines. */
export const productionEngine = await createEngine(await chooseEngine('wasm'), { hashSeed: 1n })
