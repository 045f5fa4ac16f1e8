import type { WasmModule } from '../../primitives/webAssembly.ts'
import type { Engine } from '../engine.ts'
import { isKnownFork } from './wasm/environment.ts'
import { loadEvmModule } from './wasm/evmModule.ts'

/** The engine that runs, with the data it needs. It can be sent to other threads. */
export type EngineChoice = { readonly kind: 'reference' } | { readonly kind: 'wasm'; readonly module: WasmModule }

export interface EngineOptions {
  /** of the wasm engine's hash tables, 64 random bits: it changes how long a run takes, never its result */
  readonly hashSeed: bigint
}

/**
 * Loads the engine of a kind. Call it once in a process: its threads then share the compiled code.
 * @throws EvmModuleError when the wasm engine has not been built
 */
export async function chooseEngine(kind: EngineChoice['kind']): Promise<EngineChoice> {
  return kind === 'wasm' ? { kind, module: await loadEvmModule() } : { kind }
}

/**
 * Creates the engine of a thread. An engine that is not chosen is not even loaded. The wasm engine
 * leaves the rules before Cancun to the reference engine, which is loaded when it is first needed.
 */
export async function createEngine(choice: EngineChoice, { hashSeed }: EngineOptions): Promise<Engine> {
  if (choice.kind === 'reference') return loadReference()
  const { createWasmEngine } = await import('./wasm/wasmEngine.ts')
  const wasm = createWasmEngine(choice.module, { hashSeed })
  let reference: Promise<Engine> | undefined
  return {
    name: 'wasm',
    run: (message, environment) => {
      if (isKnownFork(environment.rules)) return wasm.run(message, environment)
      reference ??= loadReference()
      return reference.then((engine) => engine.run(message, environment))
    },
  }
}

async function loadReference(): Promise<Engine> {
  const { createReferenceEngine } = await import('./reference/referenceEngine.ts')
  return createReferenceEngine()
}
