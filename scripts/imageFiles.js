// In the build of the image, after `npm run build`: leaves in node_modules and dist/ what the bundle in dist/node reads while it runs.
// Everything else of the packages is in the bundle. Plain JavaScript, as scripts/build.js.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BUILT, builtEntry, hashOf, MANIFEST } from '../bin/builtNode.js'
import { EXTERNAL } from './buildNode.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const PACKAGES = join(ROOT, 'node_modules')
/** Beside those that no bundle can have: what src/primitives/secp256k1.ts loads by a name when it needs it. */
const LOADED = ['@noble/curves']
/** Files that the bundle reads by their names: the compiler of the explorer, what runs tracers in JavaScript, and a library of theirs. */
const READ = ['@jitl/quickjs-wasmfile-release-sync', 'big-integer', 'solc/package.json', 'solc/soljson.js']
/** Sources of native modules, whose binaries are beside them. */
const NATIVE_SOURCES = ['classic-level/binding.cc', 'classic-level/deps', 'secp256k1/src', 'node-addon-api']
const UNREAD = /\.(?:map|d\.[cm]?ts)$/

if (builtEntry() === undefined) throw new Error('there is no bundle in dist/node')
keepPackages()
for (const directory of [PACKAGES, join(ROOT, 'dist')]) removeUnread(directory)
seal()

/** Leaves the packages that are not in the bundle, with what they need. */
function keepPackages() {
  const kept = `${PACKAGES}-kept`
  const names = [...EXTERNAL.filter((name) => typeof name === 'string'), ...LOADED]
  for (const name of names) names.push(...dependenciesOf(name).filter((other) => !names.includes(other)))
  for (const path of [...names, ...READ]) {
    mkdirSync(dirname(join(kept, path)), { recursive: true })
    cpSync(join(PACKAGES, path), join(kept, path), { recursive: true })
  }
  rmSync(PACKAGES, { recursive: true })
  renameSync(kept, PACKAGES)
  for (const path of NATIVE_SOURCES) rmSync(join(PACKAGES, path), { recursive: true, force: true })
  for (const name of names) keepOwnPrebuilds(join(PACKAGES, name, 'prebuilds'))
}

/** Those beside it in node_modules: others are inside of it. */
function dependenciesOf(name) {
  const { dependencies = {} } = JSON.parse(readFileSync(join(PACKAGES, name, 'package.json'), 'utf8'))
  return Object.keys(dependencies).filter((other) => existsSync(join(PACKAGES, other)))
}

/** Native modules for this system: `linux-x64` is a directory's name, `darwin-x64+arm64` another's. */
function keepOwnPrebuilds(directory) {
  if (!existsSync(directory)) return
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(`${process.platform}-`) || !name.includes(process.arch)) {
      rmSync(join(directory, name), { recursive: true })
    }
  }
}

function removeUnread(directory) {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) removeUnread(path)
    else if (UNREAD.test(entry.name)) rmSync(path)
  }
}

/** There are no sources in the image that the bundle could be older than. */
function seal() {
  writeFileSync(new URL(MANIFEST, BUILT), JSON.stringify({ sha256: hashOf([]), files: [] }))
}
