// What the bundle in dist/node reads while it runs, for images and archives. Plain JavaScript, as scripts/build.js; runtimeFiles.d.ts has its types.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtEntry, hashOf, MANIFEST } from '../bin/builtNode.js'
import { EXTERNAL } from './buildNode.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PACKAGES = join(ROOT, 'node_modules')
/** Packages that are needed besides those that no bundle can have: src/primitives/secp256k1.ts loads this one by name when needed. */
const LOADED = ['@noble/curves']
/** Files that the bundle reads by their names: the compiler of the explorer, the sandbox of tracers in JavaScript, and a library for them. */
const READ = ['@jitl/quickjs-wasmfile-release-sync', 'big-integer', 'solc/package.json', 'solc/soljson.js']
/** Sources of native modules, whose binaries are in the same packages. */
const NATIVE_SOURCES = ['classic-level/binding.cc', 'classic-level/deps', 'secp256k1/src', 'node-addon-api']
const UNREAD = /\.(?:map|d\.[cm]?ts)$/

export { MANIFEST }

/** Whether dist/node has the bundle of these sources. */
export function isBundled() {
  return builtEntry() !== undefined
}

/** The manifest of a bundle without its sources, which it then cannot be older than. */
export const SEALED_MANIFEST = JSON.stringify({ sha256: hashOf([]), files: [] })

/** Returns the files of packages that are not in the bundle, sorted, relative to node_modules. */
export function runtimePackageFiles() {
  const names = [...EXTERNAL.filter((name) => typeof name === 'string'), ...LOADED]
  for (const name of names) names.push(...dependenciesOf(name).filter((other) => !names.includes(other)))
  const files = [...names, ...READ].flatMap((path) => filesBelow(PACKAGES, path))
  return [...new Set(files)].filter((file) => !isNativeSource(file) && !isForeign(file)).sort()
}

/** Returns the files below a directory that code reads, relative to `root`, with `/`. */
export function filesBelow(root, path) {
  if (UNREAD.test(path)) return []
  if (!statSync(join(root, path)).isDirectory()) return [path]
  return readdirSync(join(root, path)).flatMap((name) => filesBelow(root, `${path}/${name}`))
}

/** Returns those next to it in node_modules: others are inside of it. */
function dependenciesOf(name) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(PACKAGES, name, 'package.json'), 'utf8'))
  return Object.keys(dependencies).filter((other) => existsSync(join(PACKAGES, other)))
}

function isNativeSource(file) {
  return NATIVE_SOURCES.some((path) => file === path || file.startsWith(`${path}/`))
}

/**
 * Whether a path belongs to a native module for another system: `linux-x64` is a directory's name,
 * `darwin-x64+arm64` another's.
 */
function isForeign(file) {
  const system = /\/prebuilds\/([^/]+)\//.exec(file)?.[1]
  return system !== undefined && !(system.startsWith(`${process.platform}-`) && system.includes(process.arch))
}
