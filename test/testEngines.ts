import { LOOP_AUTOMATIC, LOOP_BLOCKS, LOOP_PLAIN } from '../assembly/evm/constants.ts'
import type { Engine } from '../src/evm/engine.ts'
import { createReferenceEngine } from '../src/evm/engines/reference/referenceEngine.ts'
import { loadEvmModule } from '../src/evm/engines/wasm/evmModule.ts'
import { createWasmEngine } from '../src/evm/engines/wasm/wasmEngine.ts'

/** Loops of the wasm engine, by the name of the engine that is forced to one; `wasm` chooses by itself. */
const LOOPS: Readonly<Record<string, number>> = {
  wasm: LOOP_AUTOMATIC,
  'wasm-plain': LOOP_PLAIN,
  'wasm-blocks': LOOP_BLOCKS,
}

/** So little that a run with a deadline is cut at nearly every jump. */
const SLICE_GAS = 30n

export const ENGINE_NAMES: readonly string[] = ['reference', ...Object.keys(LOOPS)]

/**
 * An engine by its name, without the fallbacks of the node.
 * @throws Error for a name that none has
 */
export async function createTestEngine(name: string): Promise<Engine> {
  if (name === 'reference') return createReferenceEngine()
  const loop = LOOPS[name]
  if (loop === undefined) throw new Error(`no engine is called ${name}: there are ${ENGINE_NAMES.join(', ')}`)
  return createWasmEngine(await loadEvmModule(), { hashSeed: 0x0123_4567_89ab_cdefn, loop, sliceGas: SLICE_GAS })
}
