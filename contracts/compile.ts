import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** A compiled contract; bytecode is 0x-prefixed hex. */
interface CompiledContract {
  readonly abi: readonly Record<string, unknown>[]
  /** runs the constructor and returns the deployed code */
  readonly bytecode: `0x${string}`
  readonly deployedBytecode: `0x${string}`
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: Readonly<
    Record<
      string,
      Record<
        string,
        {
          readonly abi: CompiledContract['abi']
          readonly evm: {
            readonly bytecode: { readonly object: string }
            readonly deployedBytecode: { readonly object: string }
          }
        }
      >
    >
  >
}

const CONTRACTS_DIR = import.meta.dirname
const MODULES_DIR = join(CONTRACTS_DIR, '..', 'node_modules')
const CACHE_DIR = join(MODULES_DIR, '.cache', 'coind-contracts')

/** Without a metadata hash the byte code does not change with comments or paths. */
export const SETTINGS = {
  evmVersion: 'osaka',
  optimizer: { enabled: true, runs: 200 },
  metadata: { appendCBOR: false, bytecodeHash: 'none' },
  outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
} as const

/**
 * Compiles a Solidity file and returns its contracts by name. The result is cached under `node_modules/.cache` by the
 * hash of all sources here, so only the first call pays for starting the compiler; packages are taken as fixed.
 * @param file path relative to `contracts/`, or to `node_modules/` when it starts with `@`
 * @throws Error with the compiler's message
 */
function compile(file: string): ReadonlyMap<string, CompiledContract> {
  const path = file.startsWith('@') ? join(MODULES_DIR, file) : join(CONTRACTS_DIR, file)
  const content = readFileSync(path, 'utf8')
  const key = createHash('sha256')
    .update(JSON.stringify([file, content, ownSources(), SETTINGS]))
    .digest('hex')
  const cached = join(CACHE_DIR, `${key}.json`)
  return new Map(Object.entries(readCache(cached) ?? writeCache(cached, runCompiler(file, content))))
}

/**
 * @throws Error when the file has no contract with this name
 */
export function compileContract(file: string, name: string): CompiledContract {
  const contract = compile(file).get(name)
  if (contract === undefined) throw new Error(`${file} has no contract ${name}`)
  return contract
}

/** Returns paths and texts of the Solidity files below `contracts/`, since a file may import any of them. */
function ownSources(): readonly string[] {
  const names = readdirSync(CONTRACTS_DIR, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.sol'),
  )
  return names.sort().flatMap((name) => [name, readFileSync(join(CONTRACTS_DIR, name), 'utf8')])
}

function runCompiler(file: string, content: string): Record<string, CompiledContract> {
  // Loaded on demand: it takes a second and 100 MB, and a cached result does without it.
  const solc = createRequire(import.meta.url)('solc') as {
    compile(input: string, callbacks: { import(path: string): { contents: string } | { error: string } }): string
  }
  const input = { language: 'Solidity', sources: { [file]: { content } }, settings: SETTINGS }
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: readImport })) as CompilerOutput
  const errors = output.errors?.filter((error) => error.severity === 'error') ?? []
  if (errors.length > 0) throw new Error(errors.map((error) => error.formattedMessage).join('\n'))
  const contracts: Record<string, CompiledContract> = {}
  for (const [name, { abi, evm }] of Object.entries(output.contracts[file] ?? {})) {
    contracts[name] = {
      abi,
      bytecode: `0x${evm.bytecode.object}`,
      deployedBytecode: `0x${evm.deployedBytecode.object}`,
    }
  }
  return contracts
}

function readImport(path: string): { contents: string } | { error: string } {
  for (const directory of [CONTRACTS_DIR, MODULES_DIR]) {
    try {
      return { contents: readFileSync(join(directory, path), 'utf8') }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }
  return { error: `${path} not found` }
}

function readCache(path: string): Record<string, CompiledContract> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Record<string, CompiledContract>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Renames a finished file into place: several test processes may compile at once. */
function writeCache(path: string, contracts: Record<string, CompiledContract>): Record<string, CompiledContract> {
  mkdirSync(CACHE_DIR, { recursive: true })
  const temporary = `${path}.${process.pid}`
  writeFileSync(temporary, JSON.stringify(contracts))
  renameSync(temporary, path)
  return contracts
}
