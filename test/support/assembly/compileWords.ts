import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type WasmMemory, WebAssembly } from '../../../src/primitives/webAssembly.ts'
import { assemblyCompiler } from './assemblyCompiler.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const ENTRY = 'assembly/evm/entry.ts'

/** As the engine is compiled. */
const OPTIONS = ['--config', 'assembly/asconfig.json']

/** An instance's exports: the memory and functions of numbers. */
interface WordExports {
  readonly memory: WasmMemory
  readonly call: (name: string, ...operands: number[]) => number
}

/**
 * Compiles AssemblyScript that imports from the engine's files ('./word') and runs it.
 *
 * @param constants of the build, `NAME=value`
 * @throws when it does not compile
 */
export async function compileWords(entry: string, constants: readonly string[] = []): Promise<WordExports> {
  let binary: Uint8Array | undefined
  const { error, stderr } = await assemblyCompiler.main(
    [
      ENTRY,
      '--baseDir',
      ROOT,
      '--outFile',
      'words.wasm',
      ...OPTIONS,
      ...constants.flatMap((value) => ['--use', value]),
    ],
    {
      readFile: async (name, directory) => {
        if (name === ENTRY) return entry
        try {
          return await readFile(resolve(directory, name), 'utf8')
        } catch {
          return null // the compiler asks for every place where a module could be
        }
      },
      writeFile: (name, contents) => {
        if (name === 'words.wasm' && typeof contents !== 'string') binary = Uint8Array.from(contents)
      },
      listFiles: () => [],
    },
  )
  if (error !== null || binary === undefined) throw new Error(`does not compile\n${stderr.toString()}`)
  const { exports } = new WebAssembly.Instance(await WebAssembly.compile(binary), {})
  const { memory } = exports as { readonly memory: WasmMemory }
  const functions = new Map<string, (...operands: number[]) => number>()
  for (const [name, value] of Object.entries(exports)) {
    if (typeof value === 'function') functions.set(name, value as (...operands: number[]) => number)
  }
  const call = (name: string, ...operands: number[]): number => {
    const f = functions.get(name)
    if (f === undefined) throw new Error(`no function ${name}`)
    return f(...operands)
  }
  return { memory, call }
}
