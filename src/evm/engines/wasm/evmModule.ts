import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { PACKAGE_ROOT } from '../../../primitives/location.ts'
import { type WasmModule, WebAssembly } from '../../../primitives/webAssembly.ts'

const BINARY = new URL('dist/evm.wasm', PACKAGE_ROOT)

/** The engine's binary is missing or damaged. */
export class EvmModuleError extends Error {
  override readonly name = 'EvmModuleError'
}

/**
 * Compiles the engine. Call it once in a process: threads get the module with their data and share
 * the compiled code.
 * @param location of the binary; by default where the build puts it
 * @throws EvmModuleError that tells the operator what to do
 */
export async function loadEvmModule(location: URL = BINARY): Promise<WasmModule> {
  let bytes: Uint8Array
  try {
    bytes = await readFile(location)
  } catch (cause) {
    throw new EvmModuleError(`${fileURLToPath(location)} cannot be read: run \`npm run build\``, { cause })
  }
  try {
    return await WebAssembly.compile(bytes)
  } catch (cause) {
    throw new EvmModuleError(`${fileURLToPath(location)} is damaged: remove it and run \`npm run build\``, { cause })
  }
}
