// Compiles assembly/ to dist/, unless the binaries there were made from the same sources by the same compiler.
// Plain JavaScript, as scripts/prepare.js, which calls it.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** Modules, each of sources in one directory, and in those of `shared`; `constants` are those of the build. */
const TARGETS = [
  {
    name: 'the EVM',
    directory: 'assembly/evm',
    entry: 'index.ts',
    binary: 'dist/evm.wasm',
    initialPages: 64,
    shared: ['assembly/keccak'],
  },
  {
    name: 'keccak',
    directory: 'assembly/keccak',
    entry: 'hashing.ts',
    binary: 'dist/keccak.wasm',
    initialPages: 2,
    shared: ['assembly/evm'],
  },
  {
    name: 'tries',
    directory: 'assembly/trie',
    entry: 'index.ts',
    binary: 'dist/trie.wasm',
    initialPages: 16,
    shared: ['assembly/keccak', 'assembly/evm'],
  },
  {
    name: 'MODEXP',
    directory: 'assembly/precompiles',
    entry: 'modexp.ts',
    binary: 'dist/modexp.wasm',
    initialPages: 1,
  },
  {
    name: 'BLS12-381',
    directory: 'assembly/curves/bls12381',
    entry: 'index.ts',
    binary: 'dist/bls12381.wasm',
    initialPages: 16,
    shared: ['assembly/curves'],
    constants: ['IS_BN254=0'],
  },
  {
    name: 'bn254',
    directory: 'assembly/curves/bn254',
    entry: 'index.ts',
    binary: 'dist/bn254.wasm',
    initialPages: 8,
    shared: ['assembly/curves'],
    constants: ['IS_BN254=1'],
  },
]

const CONFIGURATION = 'assembly/asconfig.json'

const options = ({ directory, entry, binary, initialPages, constants = [] }) => [
  `${directory}/${entry}`,
  '--config',
  CONFIGURATION,
  '--baseDir',
  ROOT,
  '--outFile',
  `${binary}.new`,
  '--initialMemory',
  String(initialPages),
  ...constants.flatMap((constant) => ['--use', constant]),
]

/**
 * Builds the engine if it is missing or was made from other sources. Throws with the compiler's output when that fails, and when the
 * compiler is not installed although the engine is missing.
 */
export async function buildEngine() {
  for (const target of TARGETS) await build(target)
}

async function build(target) {
  const { name, binary: path } = target
  const binary = join(ROOT, path)
  const stampFile = `${binary}.sources`
  const version = compilerVersion()
  if (version === undefined) {
    if (existsSync(binary)) return
    throw new Error(`${name} is not built (${path}): run npm ci with the development packages, and npm run build`)
  }
  const stamp = stampOf(target, version)
  if (existsSync(binary) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return
  const { default: asc } = await import('assemblyscript/asc')
  mkdirSync(dirname(binary), { recursive: true })
  console.log(`Building ${name} (${path}) …`)
  const { error, stderr } = await asc.main(options(target))
  if (error !== null) throw new Error(`${name} in ${target.directory}/ could not be compiled\n${stderr.toString()}`)
  renameSync(`${binary}.new`, binary)
  writeFileSync(stampFile, stamp)
}

/** Whether the compiler is installed. */
export function canBuildEngine() {
  return compilerVersion() !== undefined
}

function compilerVersion() {
  try {
    return createRequire(import.meta.url)('assemblyscript/package.json').version
  } catch {
    return undefined
  }
}

/** Returns a hash of everything that the binary depends on. */
function stampOf(target, version) {
  const hash = createHash('sha256')
  hash.update(version)
  hash.update(options(target).join(' ').replace(ROOT, ''))
  hash.update(readFileSync(join(ROOT, CONFIGURATION)))
  for (const directory of [target.directory, ...(target.shared ?? [])]) {
    const sources = join(ROOT, directory)
    for (const name of readdirSync(sources).sort()) {
      if (!name.endsWith('.ts')) continue
      hash.update(`${name}\0`)
      hash.update(readFileSync(join(sources, name)))
    }
  }
  return hash.digest('hex')
}
