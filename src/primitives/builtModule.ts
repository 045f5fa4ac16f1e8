import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { PACKAGE_ROOT } from './location.ts'
import { type WasmImports, WebAssembly } from './webAssembly.ts'

/**
 * Returns the exports of a new instance of one of the modules that `npm run build` compiles:
 * dist/`name`.wasm.
 * @param host what the module imports, by name
 * @throws Error when it is not built
 */
export function loadBuiltModule<Exports>(name: string, host: WasmImports[string] = {}): Exports {
  const binary = new URL(`dist/${name}.wasm`, PACKAGE_ROOT)
  let bytes: Uint8Array
  try {
    bytes = readFileSync(binary)
  } catch (cause) {
    throw new Error(`${fileURLToPath(binary)} cannot be read: run \`npm run build\``, { cause })
  }
  return new WebAssembly.Instance(new WebAssembly.Module(bytes), { host }).exports as Exports
}
