import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { explorerEntry } from '../../src/primitives/location.ts'
import type { StandardJson } from './standardJson.ts'

/** Limits of a compilation. */
export interface CompileLimits {
  readonly timeMs: number
  /** of WebAssembly, where the compiler works; JavaScript has as much again at most */
  readonly memoryMib: number
  /** of the compiler's answer */
  readonly outputBytes: number
}

/** Where solc puts bytes that it does not know when it compiles. */
export interface CodePlace {
  readonly start: number
  readonly length: number
}

/** Bytecode as solc returns it: hexadecimal digits, with placeholders where libraries are not linked. */
export interface CompiledCode {
  readonly object: string
  readonly sourceMap?: string
  /** by file and name of a library */
  readonly linkReferences?: Readonly<Record<string, Readonly<Record<string, readonly CodePlace[]>>>>
  /** by the number of the variable in solc's syntax tree */
  readonly immutableReferences?: Readonly<Record<string, readonly CodePlace[]>>
}

/** Outputs that we request from solc for a contract. */
export interface CompiledContract {
  readonly abi: readonly AbiItem[]
  /** JSON; empty when the settings leave it out */
  readonly metadata: string
  readonly userdoc: unknown
  readonly devdoc: unknown
  readonly storageLayout?: unknown
  readonly evm: { readonly bytecode: CompiledCode; readonly deployedBytecode: CompiledCode }
}

export interface AbiItem {
  readonly type: string
  readonly name?: string
  readonly inputs?: readonly unknown[]
}

const FIELDS = [
  'abi',
  'metadata',
  'userdoc',
  'devdoc',
  'storageLayout',
  'evm.bytecode.object',
  'evm.bytecode.sourceMap',
  'evm.bytecode.linkReferences',
  'evm.deployedBytecode.object',
  'evm.deployedBytecode.sourceMap',
  'evm.deployedBytecode.linkReferences',
  'evm.deployedBytecode.immutableReferences',
]

/** A contract in sources: `contracts/Vault.sol`, `Vault`. */
export interface ContractName {
  readonly path: string
  readonly name: string
}

/** A contract that was compiled, by its place in the sources. */
export interface NamedContract extends ContractName {
  readonly contract: CompiledContract
}

/** It does not compile, or not within the limits. The message is for the client that sent the sources. */
export class CompileError extends Error {
  override readonly name = 'CompileError'
}

const CHILD = fileURLToPath(explorerEntry('compilerProcess'))
const WASM_PAGE_KIB = 64
/** Longest error message for clients, in characters. */
const MAX_MESSAGE = 4_000
const NO_MEMORY = 'the compiler ran out of memory: verify smaller sources, or ask the operator to raise its limit'
/** Lower than that of the explorer and of a node on the same machine. */
const NICENESS = 10

interface Output {
  readonly errors?: readonly {
    readonly severity: string
    readonly formattedMessage?: string
    readonly message: string
  }[]
  readonly contracts?: Readonly<Record<string, Readonly<Record<string, CompiledContract>>>>
}

/**
 * Compiles sources in a process of their own.
 * @param compiler the text of a soljson.js that may run
 * @param wanted the only contract that is needed; undefined: all
 * @throws CompileError
 */
export async function compile(
  compiler: Uint8Array,
  { language, sources, settings }: StandardJson,
  wanted: ContractName | undefined,
  limits: CompileLimits,
  stop?: AbortSignal,
): Promise<readonly NamedContract[]> {
  const outputSelection =
    wanted === undefined ? { '*': { '*': FIELDS } } : Object.fromEntries([[wanted.path, { [wanted.name]: FIELDS }]])
  // They say nothing about the code, and let solc prove things for as long as it likes, or leave out what we need.
  const { modelChecker: _, stopAfter: __, ...rest } = settings
  const input = JSON.stringify({ language, sources, settings: { ...rest, outputSelection } })
  const output = readOutput(await run(compiler, input, limits, stop))
  const errors = output.errors?.filter(({ severity }) => severity === 'error') ?? []
  if (errors.length > 0) {
    const text = errors.map(({ formattedMessage, message }) => (formattedMessage ?? message).trim()).join('\n')
    throw new CompileError(text.includes('std::bad_alloc') ? NO_MEMORY : text.slice(0, MAX_MESSAGE))
  }
  const all = Object.entries(output.contracts ?? {}).flatMap(([path, contracts]) =>
    Object.entries(contracts).map(([name, contract]) => ({ path, name, contract })),
  )
  return wanted === undefined ? all : all.filter(({ path, name }) => path === wanted.path && name === wanted.name)
}

function readOutput(text: string): Output {
  try {
    return JSON.parse(text) as Output
  } catch {
    throw new CompileError('the output of the compiler is not JSON')
  }
}

/** @returns what the child wrote, when it ended by itself */
function run(
  compiler: Uint8Array,
  input: string,
  { timeMs, memoryMib, outputBytes }: CompileLimits,
  stop: AbortSignal | undefined,
): Promise<string> {
  const flags = [
    '--permission',
    `--allow-fs-read=${CHILD}`,
    `--max-old-space-size=${memoryMib}`,
    `--wasm-max-mem-pages=${Math.floor((memoryMib * 1024) / WASM_PAGE_KIB)}`,
    CHILD,
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, flags, { env: {}, cwd: '/', stdio: ['pipe', 'pipe', 'pipe'] })
    const parts: Buffer[] = []
    let length = 0
    let problem = ''
    let failure: Error | undefined
    const end = (error: Error): void => {
      failure ??= error
      child.kill('SIGKILL')
    }
    const tooSlow = `compiling takes longer than ${timeMs / 1000} s: verify smaller sources, or ask the operator to raise the limit`
    const timer = setTimeout(() => end(new CompileError(tooSlow)), timeMs)
    const onStop = (): void => end(new CompileError('the explorer was stopped'))
    stop?.addEventListener('abort', onStop)
    if (stop?.aborted === true) onStop()
    child.stdout.on('data', (part: Buffer) => {
      length += part.length
      if (length <= outputBytes) parts.push(part)
      else
        end(new CompileError(`the compiler's output is larger than ${outputBytes} bytes: name the contract to verify`))
    })
    child.stderr.on('data', (part: Buffer) => {
      if (problem.length < MAX_MESSAGE) problem += part.toString('latin1')
    })
    child.on('error', end)
    // A child that ends early does not read all of its input: `close` says why.
    child.stdin.on('error', () => undefined)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      stop?.removeEventListener('abort', onStop)
      if (failure !== undefined) reject(failure)
      else if (code === 0) resolve(Buffer.concat(parts).toString('utf8'))
      else reject(new CompileError(stoppedBy(code, signal, problem)))
    })
    if (child.pid !== undefined) lowerPriority(child.pid)
    const head = Buffer.alloc(4)
    head.writeUInt32BE(compiler.length)
    child.stdin.write(head)
    child.stdin.write(compiler)
    child.stdin.end(input)
  })
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, NICENESS)
  } catch (error) {
    // It has ended already.
    if ((error as { readonly code?: string }).code !== 'ERR_SYSTEM_ERROR') throw error
  }
}

/** Clients do not get the child's stack; but the message says when the memory was too small. */
function stoppedBy(code: number | null, signal: string | null, problem: string): string {
  if (/memory|OOM/i.test(problem) || signal === 'SIGABRT') return NO_MEMORY
  if (/call stack/i.test(problem)) return 'the sources are nested too deeply for the compiler: verify simpler sources'
  return `the compiler stopped without output (${signal ?? `exit code ${code}`})`
}
